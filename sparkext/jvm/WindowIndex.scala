package org.apache.spark.sql.execution.joins

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.{IdRow, LongTable, WindowTable}

/** Chains of row numbers per key hash over a window's table, linked and unlinked as rows come and go. */
final class WindowChains(val table: WindowTable, val columns: Array[Int], val keys: Array[Int]) {
  val keyCells: Array[Int] = keys.map(columns(_))
  private[joins] var heads: Array[Int] = WindowChains.unlinked(WindowChains.LeastCapacity)
  private[joins] var next = new Array[Int](WindowChains.LeastCapacity)
  private var previous = new Array[Int](WindowChains.LeastCapacity)
  private var linked = 0

  def memoryBytes: Long = 4L * (heads.length + next.length + previous.length)

  /** Called by the table after a row became present. */
  def link(row: Int): Unit = {
    if (row >= next.length) {
      val size = math.max(row + 1, next.length * 2)
      next = java.util.Arrays.copyOf(next, size)
      previous = java.util.Arrays.copyOf(previous, size)
    }
    if (linked >= heads.length) rehash(heads.length * 2)
    chain(row)
    linked += 1
  }

  /** Called by the table before a row leaves. */
  def unlink(row: Int): Unit = {
    val before = previous(row)
    val after = next(row)
    if (before >= 0) next(before) = after else heads(slotOf(row)) = after
    if (after >= 0) previous(after) = before
    linked -= 1
  }

  /** Called by the table after it has given its rows other numbers: links rows 0 until `rows`. */
  def relink(rows: Int): Unit = {
    val capacity = math.max(WindowChains.LeastCapacity, Integer.highestOneBit(math.max(1, rows)) * 2)
    heads = WindowChains.unlinked(capacity)
    next = new Array[Int](capacity)
    previous = new Array[Int](capacity)
    linked = 0
    var row = 0
    while (row < rows) { link(row); row += 1 }
  }

  private def chain(row: Int): Unit = {
    val slot = slotOf(row)
    val head = heads(slot)
    next(row) = head
    previous(row) = -1
    if (head >= 0) previous(head) = row
    heads(slot) = row
  }

  private def rehash(capacity: Int): Unit = {
    val old = heads
    heads = WindowChains.unlinked(capacity)
    var slot = 0
    while (slot < old.length) {
      var row = old(slot)
      while (row >= 0) { val after = next(row); chain(row); row = after }
      slot += 1
    }
  }

  private def slotOf(row: Int): Int = {
    var hash = 0L
    var i = 0
    while (i < keyCells.length) { hash = LongTable.mix(hash, table.cell(row, keyCells(i))); i += 1 }
    (hash >>> 32).toInt & (heads.length - 1)
  }
}

object WindowChains {
  private final val LeastCapacity = 64

  private def unlinked(capacity: Int): Array[Int] = {
    val heads = new Array[Int](capacity)
    java.util.Arrays.fill(heads, -1)
    heads
  }
}

/** One task's view of a window index: its own row and iterator over the shared, current chains.
 *
 *  Not shipped: a cluster job gets a [[StaticIndex]] of the content at that instant.
 */
final class WindowIndex(chains: WindowChains) extends IdRelation {
  private val table = chains.table
  private val columns = chains.columns
  private val keyCells = chains.keyCells
  private val cursor = new IdRow(columns.length)
  private val wanted = new Array[Long](keyCells.length)
  private val iterator = new ChainIterator

  override def keyColumns: Array[Int] = chains.keys
  override def estimatedSize: Long = chains.memoryBytes
  // Generated code assigns the copy to a variable of this very class.
  override def asReadOnlyCopy(): WindowIndex = new WindowIndex(chains)

  override def get(key: Long): Iterator[InternalRow] = {
    wanted(0) = key
    iterator.from(LongTable.mix(0L, key))
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    var hash = 0L
    var i = 0
    while (i < wanted.length) {
      val v = key.getLong(i)
      wanted(i) = v
      hash = LongTable.mix(hash, v)
      i += 1
    }
    iterator.from(hash)
  }

  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("a window index stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("a window index stays on the driver")

  private final class ChainIterator extends Iterator[InternalRow] {
    private var row = -1

    def from(hash: Long): Iterator[InternalRow] = {
      row = chains.heads((hash >>> 32).toInt & (chains.heads.length - 1))
      skip()
      if (row < 0) null else this
    }

    private def skip(): Unit = while (row >= 0 && !isWanted(row)) row = chains.next(row)

    private def isWanted(r: Int): Boolean = {
      var i = 0
      while (i < wanted.length) {
        if (table.cell(r, keyCells(i)) != wanted(i)) return false
        i += 1
      }
      true
    }

    override def hasNext: Boolean = row >= 0

    override def next(): InternalRow = {
      var c = 0
      while (c < columns.length) { cursor.set(c, table.cell(row, columns(c))); c += 1 }
      row = chains.next(row)
      skip()
      cursor.row
    }
  }
}
