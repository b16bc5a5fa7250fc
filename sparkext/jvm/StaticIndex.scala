package org.apache.spark.sql.execution.joins

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.{IdRow, LongArrayIO, LongTable}

/** A hash relation that Spark's own hash join probes, over ids only.
 *
 *  `HashedRelation` is sealed, so this extends the long-keyed one and replaces everything in it. Generated code
 *  names the concrete class, calls `asReadOnlyCopy()` once a task and consumes each `get` before the next one:
 *  that is why a copy may reuse its row and its iterator.
 */
abstract class IdRelation extends LongHashedRelation(0, null) {
  /** Positions of the key among the row's columns. */
  def keyColumns: Array[Int]
  /** The rows with this key, or null when there are none. */
  protected def matches(key: InternalRow): Iterator[InternalRow]

  override def getValue(key: Long): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  override def get(key: InternalRow): Iterator[InternalRow] = {
    var i = 0
    while (i < keyColumns.length) { if (key.isNullAt(i)) return null; i += 1 }
    matches(key)
  }
  override def getValue(key: InternalRow): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  // Uniqueness is baked into generated code, and content changes under it.
  override def keyIsUnique: Boolean = false
  override def close(): Unit = ()
}

/** An immutable index: rows grouped by key in one array, found through an open-addressing table of group starts.
 *
 *  A row may stand for several equal solution mappings (`counts`); the iterator repeats it, so multiplicities never
 *  show in plans. Memory: 8 bytes a cell, 4 a row with counts, about 8 a distinct key.
 */
final class StaticIndex(
    private var arity: Int,
    private var keyAt: Array[Int],
    private var cells: Array[Long],
    private var counts: Array[Int],
    private var starts: Array[Int]) extends IdRelation {

  def this() = this(0, null, null, null, null)

  private var cursor: IdRow = _
  private var iterator: MatchIterator = _

  override def keyColumns: Array[Int] = keyAt
  def rowCount: Int = if (arity == 0) 0 else cells.length / arity

  override def asReadOnlyCopy(): StaticIndex = {
    val copy = new StaticIndex(arity, keyAt, cells, counts, starts)
    copy.cursor = new IdRow(arity)
    copy.iterator = new copy.MatchIterator
    copy
  }

  override def get(key: Long): Iterator[InternalRow] = {
    val mask = starts.length - 1
    var slot = (LongTable.mix(0L, key) >>> 32).toInt & mask
    val column = keyAt(0)
    while (true) {
      val start = starts(slot)
      if (start < 0) return null
      if (cells(start * arity + column) == key) return iterator.from(start)
      slot = (slot + 1) & mask
    }
    null
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    val mask = starts.length - 1
    var hash = 0L
    var i = 0
    while (i < keyAt.length) { hash = LongTable.mix(hash, key.getLong(i)); i += 1 }
    var slot = (hash >>> 32).toInt & mask
    while (true) {
      val start = starts(slot)
      if (start < 0) return null
      var same = true
      i = 0
      while (same && i < keyAt.length) { same = cells(start * arity + keyAt(i)) == key.getLong(i); i += 1 }
      if (same) return iterator.from(start)
      slot = (slot + 1) & mask
    }
    null
  }

  /** Whether no two rows have the same key. */
  lazy val hasUniqueKeys: Boolean = counts == null && starts.count(_ >= 0) == rowCount

  /** Rows with this key, multiplicities counted, as far as `most` of them; for any thread. */
  def matchCount(key: Array[Long], most: Int): Long = {
    val mask = starts.length - 1
    var hash = 0L
    var i = 0
    while (i < key.length) { hash = LongTable.mix(hash, key(i)); i += 1 }
    var slot = (hash >>> 32).toInt & mask
    while (starts(slot) >= 0) {
      val first = starts(slot)
      if (hasKey(first, key)) {
        if (counts == null) return runLength(first, key, most)
        var row = first
        var found = 0L
        while (found < most && row * arity < cells.length && hasKey(row, key)) { found += counts(row); row += 1 }
        return found
      }
      slot = (slot + 1) & mask
    }
    0L
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

  private def hasKey(row: Int, key: Array[Long]): Boolean = {
    var i = 0
    while (i < key.length) { if (cells(row * arity + keyAt(i)) != key(i)) return false; i += 1 }
    true
  }

  override def estimatedSize: Long = 8L * cells.length + 4L * starts.length + (if (counts == null) 0L else 4L * counts.length)

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(arity)
    out.writeObject(keyAt)
    LongArrayIO.write(out, cells, cells.length)
    out.writeObject(counts)
    out.writeObject(starts)
  }

  override def readExternal(in: ObjectInput): Unit = {
    arity = in.readInt()
    keyAt = in.readObject().asInstanceOf[Array[Int]]
    cells = LongArrayIO.read(in)
    counts = in.readObject().asInstanceOf[Array[Int]]
    starts = in.readObject().asInstanceOf[Array[Int]]
  }

  private final class MatchIterator extends Iterator[InternalRow] {
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

object StaticIndex {
  // Two thirds of the largest table of group starts, so that probing always meets a free slot.
  private final val MostRows = (1 << 30) / 3 * 2

  /** Builds an index over `columns` of a table, keyed by positions `keys` among those columns.
   *
   *  Two passes over a table of distinct keys and a counting sort: no comparison sort of the rows, no boxing.
   */
  def build(table: LongTable, tableCounts: Array[Int], columns: Array[Int], keys: Array[Int]): StaticIndex = {
    val n = table.rowCount
    val width = table.arity
    val data = table.data
    val arity = columns.length
    val keyCells = keys.map(columns(_))
    if (n > MostRows || n.toLong * arity > Int.MaxValue - 8)
      throw new IllegalArgumentException(s"$n rows of $arity columns are too many for one in-memory index")
    var capacity = 16
    while (capacity < n * 3L / 2) capacity <<= 1
    val mask = capacity - 1
    val group = new Array[Int](n) // row -> group number
    val slots = java.util.Arrays.copyOf(Array.emptyIntArray, capacity)
    java.util.Arrays.fill(slots, -1)
    val firstRow = new GrowingInts(math.max(16, n / 2))
    val sizes = new GrowingInts(math.max(16, n / 2))
    var row = 0
    while (row < n) {
      val base = row * width
      var hash = 0L
      var i = 0
      while (i < keyCells.length) { hash = LongTable.mix(hash, data(base + keyCells(i))); i += 1 }
      var slot = (hash >>> 32).toInt & mask
      var found = -1
      while (found < 0) {
        val g = slots(slot)
        if (g < 0) {
          found = firstRow.size
          slots(slot) = found
          firstRow.add(row)
          sizes.add(0)
        } else {
          val other = firstRow(g) * width
          var same = true
          i = 0
          while (same && i < keyCells.length) { same = data(other + keyCells(i)) == data(base + keyCells(i)); i += 1 }
          if (same) found = g else slot = (slot + 1) & mask
        }
      }
      group(row) = found
      sizes(found) = sizes(found) + 1
      row += 1
    }
    val next = new Array[Int](firstRow.size)
    var total = 0
    var g = 0
    while (g < next.length) { next(g) = total; total += sizes(g); g += 1 }
    var slot = 0
    while (slot < capacity) { if (slots(slot) >= 0) slots(slot) = next(slots(slot)); slot += 1 }
    val cells = new Array[Long](n * arity)
    val counts = if (tableCounts == null) null else new Array[Int](n)
    row = 0
    while (row < n) {
      val to = next(group(row))
      next(group(row)) = to + 1
      var c = 0
      while (c < arity) { cells(to * arity + c) = data(row * width + columns(c)); c += 1 }
      if (counts != null) counts(to) = tableCounts(row)
      row += 1
    }
    new StaticIndex(arity, keys, cells, counts, slots)
  }

  def empty(arity: Int, keys: Array[Int]): StaticIndex = build(new LongTable(arity), null, Array.range(0, arity), keys)
}

private[joins] final class GrowingInts(initial: Int) {
  private var values = new Array[Int](initial)
  private var used = 0
  def size: Int = used
  def apply(i: Int): Int = values(i)
  def update(i: Int, v: Int): Unit = values(i) = v
  def add(v: Int): Unit = { if (used == values.length) values = java.util.Arrays.copyOf(values, used * 2); values(used) = v; used += 1 }
}
