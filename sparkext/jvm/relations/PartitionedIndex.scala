package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{GrowingInts, KeyHash, LongTable}

/** An immutable index by two columns, with a small table of its own for each value of one of them.
 *
 *  Joins that close a cycle often look up rows that follow from one another: whom one person knows, of all that are in the
 *  room. One of the two columns stays the same for a while, and the other one takes the same values again and again. In one
 *  large table each look-up may wait for memory; here those for a value lie together, and can stay in the processor's caches.
 *
 *  `values` is an open-addressing table of the values of column `by` of the key, `tables` has where each one's table begins
 *  in `starts`, and its number of slots less one. Entries of `starts` are as those of [[GroupedIndex]].
 */
final class PartitionedIndex(
    columns: Int, keys: Array[Int], rows: Array[Long], times: Array[Int], private var by: Int, private var values: Array[Long],
    private var tables: Array[Int], private var starts: Array[Int], private var mask: Int)
    extends GroupedRows(columns, keys, rows, times) {

  def this() = this(0, null, null, null, 0, null, null, null, 0)

  // The table that was found last, of this value; a mask of -1: the value has none.
  private var last = 0L
  private var lastTable = 0
  private var lastMask = -1

  override def asReadOnlyCopy(): PartitionedIndex = {
    val copy = new PartitionedIndex(arity, keyAt, cells, counts, by, values, tables, starts, mask)
    copy.giveRows()
    copy
  }

  /** The column of the rows whose values have tables. */
  def partitionedBy: Int = keyAt(by)

  override def get(key: Long): Iterator[InternalRow] = throw new UnsupportedOperationException("the key has two columns")

  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    val value = key.getLong(by)
    val other = key.getLong(1 - by)
    if (value != last) turnTo(value)
    if (lastMask < 0) return null
    val start = find(value, other, lastTable, lastMask)
    if (start < 0) null else iterator.from(start)
  }

  /** Has a value's table looked in from now on, if there is one: most values that joins lead to may have none. */
  private def turnTo(value: Long): Unit = {
    val at = PartitionedIndex.place(values, value)
    last = value
    if (value != 0L && values(at) == value) {
      lastTable = tables(2 * at)
      lastMask = tables(2 * at + 1)
    } else lastMask = -1
  }

  /** Where the rows begin that have both; -1 when there are none. */
  private def find(value: Long, other: Long, table: Int, slots: Int): Int = {
    val hash = KeyHash.mix(0L, other)
    val tag = GroupedIndex.tag(hash, mask)
    val byCell = keyAt(by)
    val otherCell = keyAt(1 - by)
    var slot = KeyHash.slot(hash, slots)
    while (true) {
      val entry = starts(table + slot)
      if (entry < 0) return -1
      if ((entry & ~mask) == tag) {
        val start = entry & mask
        if (cells(start * arity + otherCell) == other && cells(start * arity + byCell) == value) return start
      }
      slot = (slot + 1) & slots
    }
    -1
  }

  override lazy val hasUniqueKeys: Boolean = counts == null && starts.count(_ >= 0) == rowCount

  override def matchCount(key: Array[Long], most: Int): Long = {
    val at = PartitionedIndex.place(values, key(by))
    if (key(by) == 0L || values(at) != key(by)) 0L
    else {
      val start = find(key(by), key(1 - by), tables(2 * at), tables(2 * at + 1))
      if (start < 0) 0L else groupCount(start, key, most)
    }
  }

  override def estimatedSize: Long = super.estimatedSize + 4L * starts.length + 8L * values.length + 4L * tables.length

  override def writeExternal(out: ObjectOutput): Unit = {
    super.writeExternal(out)
    out.writeInt(by)
    out.writeObject(values)
    out.writeObject(tables)
    out.writeObject(starts)
    out.writeInt(mask)
  }

  override def readExternal(in: ObjectInput): Unit = {
    super.readExternal(in)
    by = in.readInt()
    values = in.readObject().asInstanceOf[Array[Long]]
    tables = in.readObject().asInstanceOf[Array[Int]]
    starts = in.readObject().asInstanceOf[Array[Int]]
    mask = in.readInt()
  }
}

private[relations] object PartitionedIndex {
  /** Below, one table is in the caches anyway. */
  private final val LeastRows = 1 << 16
  /** Rows of a value, on the average, that are worth a table; and the most values: these are to stay in the caches, too. */
  private final val LeastShare = 32
  /** As many make tables of some 256 KiB, which the second-level cache of a core holds. */
  private final val MostShare = 1 << 15
  private final val MostValues = 1 << 15

  /** Where a value is or may be put, 0 (no term) being free: the table is never full. */
  private[relations] def place(values: Array[Long], value: Long): Int = {
    val slots = values.length - 1
    var at = KeyHash.slot(KeyHash.mix(0L, value), slots)
    while (values(at) != 0L && values(at) != value) at = (at + 1) & slots
    at
  }

  /** The index by two columns, or null where one table does as well: few rows, or too many values of either. */
  def build(table: LongTable, tableCounts: Array[Int], columns: Array[Int], keys: Array[Int]): PartitionedIndex = {
    val n = table.rowCount
    if (keys.length != 2 || n < LeastRows || n > (1 << 28) || n.toLong * columns.length > Int.MaxValue - 8) return null
    val counted = keys.indices.flatMap(k => Values.count(table, columns(keys(k))).map(k -> _)).filter(n / _._2.size >= LeastShare)
    // What a plan binds first comes first in its key, and stays the same for longer. Where its tables are too large for the
    // caches, those of the other column may be small.
    val fits = counted.find { case (_, values) => n / values.size <= MostShare }
    if (counted.isEmpty) null
    else { val (by, values) = fits.getOrElse(counted.maxBy(_._2.size)); new Build(table, tableCounts, columns, keys, by, values).made }
  }

  /** The different values of a column, and how many rows each has, in the places of an open-addressing table. */
  private final class Values(val values: Array[Long], val rows: Array[Int], val size: Int)

  private object Values {
    /** None beyond `MostValues`, and where one is no term. */
    def count(table: LongTable, column: Int): Option[Values] = {
      val values = new Array[Long](2 * MostValues)
      val rows = new Array[Int](2 * MostValues)
      var size = 0
      var row = 0
      while (row < table.rowCount) {
        val value = table.data(row * table.arity + column)
        if (value == 0L) return None
        val at = place(values, value)
        if (values(at) == 0L) {
          if (size == MostValues) return None
          values(at) = value
          size += 1
        }
        rows(at) += 1
        row += 1
      }
      Some(new Values(values, rows, size))
    }
  }

  private final class Build(table: LongTable, tableCounts: Array[Int], columns: Array[Int], keys: Array[Int], by: Int, known: Values) {
    private val n = table.rowCount
    private val arity = columns.length
    private val (byCell, otherCell) = (columns(keys(by)), columns(keys(1 - by)))
    private val mask = math.max(1, Integer.highestOneBit(n) * 2) - 1
    private val cells = new Array[Long](n * arity)
    private val counts = if (tableCounts == null) null else new Array[Int](n)
    private var written = 0

    private val (values, sizes) = compact()
    private val tables = new Array[Int](2 * values.length)
    private val ordered = byValue()
    private val starts = {
      var slots = 0L
      for (at <- values.indices if sizes(at) > 0) {
        val capacity = Integer.highestOneBit(sizes(at) * 3 / 2) * 2 // free slots are left, also for two rows
        tables(2 * at) = slots.toInt
        tables(2 * at + 1) = capacity - 1
        slots += capacity
      }
      if (slots > Int.MaxValue - 8) null else { val made = new Array[Int](slots.toInt); java.util.Arrays.fill(made, -1); made }
    }

    /** The table of values as small as it may be. */
    private def compact(): (Array[Long], Array[Int]) = {
      val slots = Integer.highestOneBit(math.max(1, known.size)) * 4
      val (kept, rows) = (new Array[Long](slots), new Array[Int](slots))
      for (at <- known.values.indices if known.values(at) != 0L) {
        val to = place(kept, known.values(at))
        kept(to) = known.values(at)
        rows(to) = known.rows(at)
      }
      (kept, rows)
    }

    /** The rows' numbers, those of a value side by side. */
    private def byValue(): Array[Int] = {
      val next = sizes.scanLeft(0)(_ + _)
      val order = new Array[Int](n)
      var row = 0
      while (row < n) {
        val at = place(values, cell(row, byCell))
        order(next(at)) = row
        next(at) += 1
        row += 1
      }
      order
    }

    private def cell(row: Int, column: Int): Long = table.data(row * table.arity + column)

    /** One value's table: first with a row of each group, then with where the groups begin. */
    private def fill(rows: Array[Int], from: Int, until: Int, at: Int): Unit = {
      val (offset, slots) = (tables(2 * at), tables(2 * at + 1))
      val group = new Array[Int](until - from)
      val firsts, groupSizes = new GrowingInts(16)
      var i = from
      while (i < until) {
        val other = cell(rows(i), otherCell)
        var slot = KeyHash.slot(KeyHash.mix(0L, other), slots)
        while (starts(offset + slot) >= 0 && cell(firsts(starts(offset + slot)), otherCell) != other) slot = (slot + 1) & slots
        if (starts(offset + slot) < 0) {
          starts(offset + slot) = firsts.size
          firsts.add(rows(i))
          groupSizes.add(0)
        }
        val found = starts(offset + slot)
        group(i - from) = found
        groupSizes(found) = groupSizes(found) + 1
        i += 1
      }
      val next = new Array[Int](firsts.size)
      var g = 0
      while (g < next.length) { next(g) = written; written += groupSizes(g); g += 1 }
      var slot = 0
      while (slot <= slots) {
        val found = starts(offset + slot)
        if (found >= 0) starts(offset + slot) = next(found) | GroupedIndex.tag(KeyHash.mix(0L, cell(firsts(found), otherCell)), mask)
        slot += 1
      }
      i = from
      while (i < until) {
        val to = next(group(i - from))
        next(group(i - from)) = to + 1
        var c = 0
        while (c < arity) { cells(to * arity + c) = cell(rows(i), columns(c)); c += 1 }
        if (counts != null) counts(to) = tableCounts(rows(i))
        i += 1
      }
    }

    def made: PartitionedIndex =
      if (starts == null) null
      else {
        var from = 0
        for (at <- values.indices if sizes(at) > 0) {
          fill(ordered, from, from + sizes(at), at)
          from += sizes(at)
        }
        new PartitionedIndex(arity, keys, cells, counts, by, values, tables, starts, mask)
      }
  }
}
