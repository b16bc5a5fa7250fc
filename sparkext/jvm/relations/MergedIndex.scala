package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.joins.IdRelation

/** One task's view of a static index and of a window's index, read as one relation. */
final class MergedIndex(static: IdRelation, live: WindowIndex) extends IdRelation {
  private val both = new Both

  override def keyColumns: Array[Int] = live.keyColumns
  override def estimatedSize: Long = static.estimatedSize + live.estimatedSize
  override def asReadOnlyCopy(): MergedIndex = new MergedIndex(static.asReadOnlyCopy(), live.asReadOnlyCopy())

  override def get(key: Long): Iterator[InternalRow] = both.of(static.get(key), live.get(key))
  override protected def matches(key: InternalRow): Iterator[InternalRow] = both.of(static.get(key), live.get(key))

  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("a merged index stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("a merged index stays on the driver")

  private final class Both extends Iterator[InternalRow] {
    private var first: Iterator[InternalRow] = _
    private var second: Iterator[InternalRow] = _

    def of(one: Iterator[InternalRow], other: Iterator[InternalRow]): Iterator[InternalRow] =
      if (one == null) other
      else if (other == null) one
      else { first = one; second = other; this }

    override def hasNext: Boolean = first.hasNext || second.hasNext
    override def next(): InternalRow = if (first.hasNext) first.next() else second.next()
  }
}
