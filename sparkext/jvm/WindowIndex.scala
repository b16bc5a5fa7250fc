package org.apache.spark.sql.execution.joins

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.{IdRow, LongTable, WindowTable}

/** Chains of row numbers per key hash over a window's table, linked and unlinked as rows come and go.
 *
 *  A link holds the row's number and half of its key's hash, so that a look-up reads cells of rows that match only.
 */
final class WindowChains(val table: WindowTable, val columns: Array[Int], val keys: Array[Int]) {
  import WindowChains._

  val keyCells: Array[Int] = keys.map(columns(_))
  private[joins] var heads: Array[Long] = unlinked(LeastCapacity)
  private[joins] var next = new Array[Long](LeastCapacity)
  private var previous = new Array[Int](LeastCapacity)
  private var linked = 0
  private[sql] var lastAsked = 0L

  def memoryBytes: Long = 8L * (heads.length + next.length) + 4L * previous.length

  /** Called by the table after a row became present. */
  def link(row: Int): Unit = {
    if (row >= next.length) {
      val size = math.max(row + 1, next.length * 2)
      next = java.util.Arrays.copyOf(next, size)
      previous = java.util.Arrays.copyOf(previous, size)
    }
    if (linked >= heads.length / 2) rehash(heads.length * 2)
    chain(row)
    linked += 1
  }

  /** Called by the table before a row leaves. */
  def unlink(row: Int): Unit = {
    val before = previous(row)
    val after = next(row)
    if (before >= 0) next(before) = after else heads(slot(hashOf(row), heads.length)) = after
    if (after != NoLink) previous(rowOf(after)) = before
    linked -= 1
  }

  /** Called by the table after it has given its rows other numbers: links rows 0 until `rows`. */
  def relink(rows: Int): Unit = {
    val capacity = math.max(LeastCapacity, Integer.highestOneBit(math.max(1, rows)) * 2)
    heads = unlinked(capacity)
    next = new Array[Long](capacity)
    previous = new Array[Int](capacity)
    linked = 0
    var row = 0
    while (row < rows) { link(row); row += 1 }
  }

  private def chain(row: Int): Unit = {
    val hash = hashOf(row)
    val at = slot(hash, heads.length)
    val head = heads(at)
    next(row) = head
    previous(row) = -1
    if (head != NoLink) previous(rowOf(head)) = row
    heads(at) = linkTo(hash, row)
  }

  private def rehash(capacity: Int): Unit = {
    val old = heads
    heads = unlinked(capacity)
    var at = 0
    while (at < old.length) {
      var link = old(at)
      while (link != NoLink) { val after = next(rowOf(link)); chain(rowOf(link)); link = after }
      at += 1
    }
  }

  private def hashOf(row: Int): Long = {
    var hash = 0L
    var i = 0
    while (i < keyCells.length) { hash = LongTable.mix(hash, table.cell(row, keyCells(i))); i += 1 }
    hash
  }
}

private[joins] object WindowChains {
  final val LeastCapacity = 64
  final val NoLink = -1L

  // The upper half of the hash chooses the slot, the lower half goes into the link.
  @inline def slot(hash: Long, capacity: Int): Int = (hash >>> 32).toInt & (capacity - 1)
  @inline def linkTo(hash: Long, row: Int): Long = (hash << 32) | row
  @inline def rowOf(link: Long): Int = link.toInt
  @inline def mayMatch(link: Long, hash: Long): Boolean = (link >>> 32).toInt == hash.toInt

  private def unlinked(capacity: Int): Array[Long] = {
    val heads = new Array[Long](capacity)
    java.util.Arrays.fill(heads, NoLink)
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
    private var hash = 0L
    private var link = WindowChains.NoLink
    private var left = 0 // times that the row of this link is still to come

    def from(wantedHash: Long): Iterator[InternalRow] = {
      hash = wantedHash
      link = chains.heads(WindowChains.slot(hash, chains.heads.length))
      skip()
      if (link == WindowChains.NoLink) null else this
    }

    private def skip(): Unit = {
      while (link != WindowChains.NoLink && !(WindowChains.mayMatch(link, hash) && isWanted(WindowChains.rowOf(link))))
        link = chains.next(WindowChains.rowOf(link))
      if (link != WindowChains.NoLink) left = table.times(WindowChains.rowOf(link))
    }

    private def isWanted(row: Int): Boolean = {
      var i = 0
      while (i < wanted.length) {
        if (table.cell(row, keyCells(i)) != wanted(i)) return false
        i += 1
      }
      true
    }

    override def hasNext: Boolean = link != WindowChains.NoLink

    override def next(): InternalRow = {
      val row = WindowChains.rowOf(link)
      var c = 0
      while (c < columns.length) { cursor.set(c, table.value(row, columns(c))); c += 1 }
      left -= 1
      if (left == 0) {
        link = chains.next(row)
        skip()
      }
      cursor.row
    }
  }
}
