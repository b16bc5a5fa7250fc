package org.apache.spark.sql.cqels
package rows

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.LongType

/** A build side of any columns, nulls included, filled anew for each evaluation from the rows of a sub-plan. */
final class RowIndex(key: Seq[Expression]) extends IdRelation {
  private val longKey = key.length == 1 && key.head.dataType == LongType
  private val project = UnsafeProjection.create(key)
  private val rows = new java.util.HashMap[Any, RowBucket]()

  override val keyColumns: Array[Int] = key.indices.toArray
  override def estimatedSize: Long = 64L * rows.size
  override def asReadOnlyCopy(): RowIndex = this

  def clear(): Unit = rows.clear()
  /** Distinct keys, those with a null left out. */
  def keyCount: Int = rows.size

  /** Keeps a copy of the row; a row whose key has a null joins nothing and is dropped. */
  def add(row: UnsafeRow): Unit = put(row, shared = false)

  /** Keeps the row object itself, which nobody changes from now on. */
  def addKept(row: UnsafeRow): Unit = put(row, shared = true)

  private def put(row: UnsafeRow, shared: Boolean): Unit = {
    val k = project(row)
    if (!k.anyNull()) {
      val at: Any = if (longKey) k.getLong(0) else k.copy()
      rows.computeIfAbsent(at, _ => new RowBucket).add(if (shared) row else row.copy())
    }
  }

  /** Drops the very row object that `addKept` was given. */
  def remove(row: UnsafeRow): Unit = {
    val k = project(row)
    if (!k.anyNull()) {
      val at: Any = if (longKey) k.getLong(0) else k
      val same = rows.get(at)
      same.remove(row)
      if (same.isEmpty) rows.remove(at)
    }
  }

  private def iterate(found: RowBucket): Iterator[InternalRow] = if (found == null) null else found.iterator

  override def get(k: Long): Iterator[InternalRow] = iterate(rows.get(k))
  override protected def matches(k: InternalRow): Iterator[InternalRow] =
    iterate(rows.get(if (longKey) k.getLong(0) else k))
  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("a stage's build side stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("a stage's build side stays on the driver")
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
