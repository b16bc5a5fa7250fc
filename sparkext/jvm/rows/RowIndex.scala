package org.apache.spark.sql.cqels
package rows

import java.io.{ObjectInput, ObjectOutput}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.LongType

/** Rows of any columns by a key, nulls included, as they come and go: those of a live view, or of a sub-plan in each evaluation. */
final class RowIndex(key: Seq[Expression]) extends IdRelation {
  private val longKey = key.length == 1 && key.head.dataType == LongType
  private val project = UnsafeProjection.create(key)
  private var byLong = new mutable.LongMap[RowBucket]() // a single long as it is, without an object
  private val byRow = new java.util.HashMap[UnsafeRow, RowBucket]()

  override val keyColumns: Array[Int] = key.indices.toArray
  override def estimatedSize: Long = 64L * keyCount
  override def asReadOnlyCopy(): RowIndex = this

  /** Forgets the rows; room for so many keys is made at once. */
  def clear(keys: Int): Unit = {
    byLong = new mutable.LongMap[RowBucket](if (longKey) keys else 0)
    byRow.clear()
  }

  /** Distinct keys, those with a null left out. */
  def keyCount: Int = byLong.size + byRow.size

  /** Keeps the row object itself, which nobody changes from now on; a row whose key has a null joins nothing and is dropped. */
  def add(row: UnsafeRow): Unit = {
    val k = project(row)
    if (!k.anyNull()) {
      var same = bucket(k)
      if (same == null) {
        same = new RowBucket
        if (longKey) byLong.update(k.getLong(0), same) else byRow.put(k.copy(), same)
      }
      same.add(row)
    }
  }

  /** Drops the very row object that `add` was given. */
  def remove(row: UnsafeRow): Unit = {
    val k = project(row)
    if (!k.anyNull()) {
      val same = bucket(k)
      same.remove(row)
      if (same.isEmpty) { if (longKey) byLong.subtractOne(k.getLong(0)) else byRow.remove(k) }
    }
  }

  private def bucket(k: InternalRow): RowBucket = if (longKey) byLong.getOrNull(k.getLong(0)) else byRow.get(k)

  private def iterate(found: RowBucket): Iterator[InternalRow] = if (found == null) null else found.iterator

  override def get(k: Long): Iterator[InternalRow] = iterate(byLong.getOrNull(k))
  override protected def matches(k: InternalRow): Iterator[InternalRow] = iterate(bucket(k))
  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
}

/** Rows of one key; they leave in about the order in which they came, which costs no shifting. */
private final class RowBucket {
  private var rows = new Array[InternalRow](1)
  private var from = 0
  private var until = 0

  def isEmpty: Boolean = from == until

  def add(row: InternalRow): Unit = {
    if (until == rows.length) {
      val held = until - from
      // Half of the room being free in front, moving is enough.
      val to = if (from > held) rows else new Array[InternalRow](math.max(2, held * 2))
      System.arraycopy(rows, from, to, 0, held)
      if (to eq rows) java.util.Arrays.fill(rows.asInstanceOf[Array[AnyRef]], held, until, null)
      rows = to
      from = 0
      until = held
    }
    rows(until) = row
    until += 1
  }

  def remove(row: InternalRow): Unit = {
    var i = from
    while (rows(i) ne row) i += 1
    System.arraycopy(rows, from, rows, from + 1, i - from)
    rows(from) = null
    from += 1
  }

  def iterator: Iterator[InternalRow] = new Iterator[InternalRow] {
    private var at = from
    override def hasNext: Boolean = at < until
    override def next(): InternalRow = { at += 1; rows(at - 1) }
  }
}
