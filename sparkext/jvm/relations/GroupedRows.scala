package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, LongArrayIO}

/** Static rows grouped by key in one array, as indexes that find where a group begins hold them.
 *
 *  A row may stand for several equal solution mappings (`counts`); the iterator repeats it, so multiplicities never
 *  show in plans.
 */
abstract class GroupedRows(
    private[relations] var arity: Int,
    private[relations] var keyAt: Array[Int],
    private[relations] var cells: Array[Long],
    private[relations] var counts: Array[Int]) extends StaticIndex {

  private[relations] var cursor: IdRow = _
  private[relations] var iterator: MatchIterator = _

  override def keyColumns: Array[Int] = keyAt
  override def rowCount: Int = if (arity == 0) 0 else cells.length / arity

  /** Makes a copy able to give rows. */
  protected def giveRows(): Unit = {
    cursor = new IdRow(arity)
    iterator = new MatchIterator
  }

  /** Rows of the group that begins there, multiplicities counted, as far as `most` of them. */
  protected def groupCount(first: Int, key: Array[Long], most: Int): Long =
    if (counts == null) runLength(first, key, most)
    else {
      var row = first
      var found = 0L
      while (found < most && row * arity < cells.length && hasKey(row, key)) { found += counts(row); row += 1 }
      found
    }

  // Rows of one key stand together: doubling steps and a binary search find their end.
  private def runLength(first: Int, key: Array[Long], most: Int): Long = {
    val rows = rowCount
    var inside = 0
    var step = 1
    while (step <= most && step < rows - first && hasKey(first + step, key)) { inside = step; step *= 2 }
    var outside = math.min(math.min(step.toLong, most.toLong), rows.toLong - first).toInt
    while (outside - inside > 1) {
      val middle = (inside + outside) >>> 1
      if (hasKey(first + middle, key)) inside = middle else outside = middle
    }
    inside + 1L
  }

  protected def hasKey(row: Int, key: Array[Long]): Boolean = {
    var i = 0
    while (i < key.length) { if (cells(row * arity + keyAt(i)) != key(i)) return false; i += 1 }
    true
  }

  override def estimatedSize: Long = 8L * cells.length + (if (counts == null) 0L else 4L * counts.length)

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(arity)
    out.writeObject(keyAt)
    LongArrayIO.write(out, cells, cells.length)
    out.writeObject(counts)
  }

  override def readExternal(in: ObjectInput): Unit = {
    arity = in.readInt()
    keyAt = in.readObject().asInstanceOf[Array[Int]]
    cells = LongArrayIO.read(in)
    counts = in.readObject().asInstanceOf[Array[Int]]
  }

  private[relations] final class MatchIterator extends Iterator[InternalRow] {
    private var first = 0
    private var at = 0
    private var left = 0 // repetitions of the current row still to give
    private var more = false

    def from(start: Int): MatchIterator = {
      first = start
      at = start
      left = if (counts == null) 1 else counts(start)
      more = true
      this
    }

    override def hasNext: Boolean = more

    override def next(): InternalRow = {
      var c = 0
      val base = at * arity
      while (c < arity) { cursor.set(c, cells(base + c)); c += 1 }
      left -= 1
      if (left == 0) {
        at += 1
        more = at * arity < cells.length && sameKey(at)
        if (more && counts != null) left = counts(at) else left = 1
      }
      cursor.row
    }

    private def sameKey(row: Int): Boolean = {
      var i = 0
      while (i < keyAt.length) {
        if (cells(row * arity + keyAt(i)) != cells(first * arity + keyAt(i))) return false
        i += 1
      }
      true
    }
  }
}
