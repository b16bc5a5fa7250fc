package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, KeyHash}
import org.apache.spark.sql.execution.joins.IdRelation

/** Chains of row numbers per key hash over a window's table, linked and unlinked as rows come and go.
 *
 *  A link holds the row's number and half of its key's hash, so that a look-up reads cells of rows that match only. Chains
 *  that are followed again and again are copied ([[WindowRuns]]). What no plan asks for rests after a few changes for
 *  each row (`UpkeepARow`), and is made anew if it is asked for again.
 */
final class WindowChains(val table: WindowTable, val columns: Array[Int], val keys: Array[Int]) {
  import WindowChains._

  val keyCells: Array[Int] = keys.map(columns(_))
  private[relations] var heads: Array[Long] = unlinked(LeastCapacity)
  private[relations] var next = new Array[Long](LeastCapacity)
  private var previous = new Array[Int](LeastCapacity)
  private var linked = 0
  private var upkeep = 0L // links made and taken away since it was asked for
  private var rowsThen = 0 // rows when it was
  private var askedSinceCleared = true
  @volatile private var resting = false
  @volatile private var copies: WindowRuns = _
  private[relations] var lastAsked = 0L

  /** Whether it follows the table's rows. */
  def keptUp: Boolean = !resting

  def memoryBytes: Long = {
    val runs = copies
    8L * (heads.length + next.length) + 4L * previous.length + (if (runs == null) 0L else runs.memoryBytes)
  }

  /** Rows that are copied now. */
  def copiedRows: Long = { val runs = copies; if (runs == null) 0L else runs.copiedRows }

  /** Copies for the content of now, or null if nobody has asked for them. */
  private[relations] def runs: WindowRuns = {
    val known = copies
    if (known == null || known.changes != table.changes) null else known
  }

  /** Copies for the content of now, for all readers. */
  private[relations] def copied(): WindowRuns = synchronized {
    if (runs == null) copies = new WindowRuns(this)
    copies
  }

  /** Called by the table when a plan is about to read this; `rows` is one past the highest row number in use. */
  private[relations] def asked(rows: Int): Unit = {
    upkeep = 0L
    askedSinceCleared = true
    rowsThen = table.rowCount
    if (resting) { resting = false; relink(rows) }
  }

  private def rest(): Unit = {
    resting = true
    relink(0)
  }

  /** Called by the table after a row became present. */
  def link(row: Int): Unit = if (!resting) {
    upkeep += 1
    if (upkeep > UpkeepARow * math.max(LeastCapacity, math.max(rowsThen, table.rowCount))) rest() else linkNew(row)
  }

  private def linkNew(row: Int): Unit = {
    if (row >= next.length) {
      val size = math.max(row + 1, next.length * 2)
      next = java.util.Arrays.copyOf(next, size)
      previous = java.util.Arrays.copyOf(previous, size)
    }
    if (linked >= heads.length / 2) rehash(heads.length * 2)
    chain(row)
    linked += 1
    copies = null
  }

  /** Called by the table before a row leaves. */
  def unlink(row: Int): Unit = if (!resting) {
    upkeep += 1
    val before = previous(row)
    val after = next(row)
    if (before >= 0) next(before) = after else heads(slot(hashOf(row), heads.length)) = after
    if (after != NoLink) previous(rowOf(after)) = before
    linked -= 1
    copies = null
  }

  /** Called by the table when all its rows are gone: what nobody has asked for since it was filled need not follow. */
  def clear(): Unit = if (!resting) {
    if (!askedSinceCleared) rest()
    else {
      askedSinceCleared = false
      java.util.Arrays.fill(heads, NoLink)
      linked = 0
      copies = null
    }
  }

  /** Called by the table after it has given its rows other numbers: links those that are present of rows 0 until `rows`. */
  def relink(rows: Int): Unit = {
    val present = if (resting) 0 else table.rowCount
    // As many as linking one by one would end with.
    heads = unlinked(math.max(LeastCapacity, Integer.highestOneBit(math.max(1, 2 * present - 1)) * 2))
    next = new Array[Long](math.max(LeastCapacity, if (resting) 0 else rows))
    previous = new Array[Int](next.length)
    linked = 0
    copies = null
    var row = 0
    while (row < rows && !resting) { if (table.isPresent(row)) linkNew(row); row += 1 }
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
    while (i < keyCells.length) { hash = KeyHash.mix(hash, table.cell(row, keyCells(i))); i += 1 }
    hash
  }
}

private[relations] object WindowChains {
  final val LeastCapacity = 64
  final val NoLink = -1L

  /** Links made and taken away for each row that is there, before an index rests that nobody has asked for meanwhile. To
   *  make it anew is one for each row, and a window that is all new changes twice as much between two evaluations.
   */
  final val UpkeepARow = 3L

  // The upper half of the hash chooses the slot, the lower half goes into the link.
  @inline def slot(hash: Long, capacity: Int): Int = KeyHash.slot(hash, capacity - 1)
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
  private val keyAt = chains.keys
  private val keyCells = chains.keyCells
  private val cursor = new IdRow(columns.length)
  private val wanted = new Array[Long](keyCells.length)
  private val iterator = new ChainIterator

  override def keyColumns: Array[Int] = keyAt
  override def estimatedSize: Long = chains.memoryBytes
  // Generated code assigns the copy to a variable of this very class.
  override def asReadOnlyCopy(): WindowIndex = {
    if (!chains.keptUp) throw new IllegalStateException("an index of a window is read that was not asked for in this evaluation")
    new WindowIndex(chains)
  }

  override def get(key: Long): Iterator[InternalRow] = {
    wanted(0) = key
    iterator.from(KeyHash.mix(0L, key))
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    var hash = 0L
    var i = 0
    while (i < wanted.length) {
      val v = key.getLong(i)
      wanted(i) = v
      hash = KeyHash.mix(hash, v)
      i += 1
    }
    iterator.from(hash)
  }

  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("a window index stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("a window index stays on the driver")

  private final class ChainIterator extends Iterator[InternalRow] {
    private val width = columns.length
    private var more = false
    private var left = 0 // times that the row of now is still to come
    // Along a chain:
    private var hash = 0L
    private var link = WindowChains.NoLink
    // Or along the copy of one:
    private var run: ChainRun = _
    private var at = 0
    // Where there are copies of, if they are worth looking for; what this reader has met without them, and with them.
    private var runs: WindowRuns = _
    private var steps = 0L
    private var spared = 0L
    private var patience = 0L // steps before that is weighed anew
    private var rest = WindowRuns.Rest / 2 // the last time without copies

    def from(wantedHash: Long): Iterator[InternalRow] = {
      steps += 1
      if (steps > patience || (runs != null && runs.changes != table.changes)) weigh()
      val slot = WindowChains.slot(wantedHash, chains.heads.length)
      run = if (runs == null) null else runs.of(slot)
      if (run != null) {
        spared += run.rows
        at = 0
        skipCopied()
      } else {
        hash = wantedHash
        link = chains.heads(slot)
        skip()
      }
      if (more) this else null
    }

    private def weigh(): Unit = {
      val known = chains.runs
      if (runs != null && (runs eq known)) {
        val pays = spared >= WindowRuns.Share * steps
        if (!pays) {
          runs = null
          rest *= 2
        }
        patience = if (pays) WindowRuns.Trial else rest
      } else {
        runs = if (runs == null && patience > 0) chains.copied() else known
        patience =
          if (runs != null) WindowRuns.Trial
          else if (table.copiesChains) math.max(WindowRuns.LeastSteps, table.rowCount / WindowRuns.RowsAStep)
          else Long.MaxValue
      }
      steps = 0
      spared = 0
    }

    private def skip(): Unit = {
      while (link != WindowChains.NoLink && !(WindowChains.mayMatch(link, hash) && isWanted(WindowChains.rowOf(link))))
        link = chains.next(WindowChains.rowOf(link))
      more = link != WindowChains.NoLink
      if (more) left = table.times(WindowChains.rowOf(link))
    }

    private def isWanted(row: Int): Boolean = {
      var i = 0
      while (i < wanted.length) {
        if (table.cell(row, keyCells(i)) != wanted(i)) return false
        i += 1
      }
      true
    }

    private def skipCopied(): Unit = {
      while (at < run.rows && !isWantedCopy(at)) at += 1
      more = at < run.rows
      if (more) left = if (run.times == null) 1 else run.times(at)
    }

    private def isWantedCopy(row: Int): Boolean = {
      var i = 0
      while (i < wanted.length) {
        if (run.cells(row * width + keyAt(i)) != wanted(i)) return false
        i += 1
      }
      true
    }

    override def hasNext: Boolean = more

    override def next(): InternalRow = {
      left -= 1
      if (run != null) nextCopied() else nextLinked()
      cursor.row
    }

    private def nextCopied(): Unit = {
      val cells = run.cells
      val base = at * width
      var c = 0
      while (c < width) { cursor.set(c, cells(base + c)); c += 1 }
      if (left == 0) {
        at += 1
        skipCopied()
      }
    }

    private def nextLinked(): Unit = {
      val row = WindowChains.rowOf(link)
      var c = 0
      while (c < width) { cursor.set(c, table.value(row, columns(c))); c += 1 }
      if (left == 0) {
        link = chains.next(row)
        steps += 1
        skip()
      }
    }
  }
}
