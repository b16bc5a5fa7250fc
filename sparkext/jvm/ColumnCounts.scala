package org.apache.spark.sql.cqels

/** How often each value of some columns occurs among a window's rows, kept up by what arrives and what expires.
 *
 *  Counters by hash serve every size: their number in use tells how many different values there are (linear counting,
 *  Whang et al. 1990, which can forget), products of two tell the size of a join. While there are at most `exactValues`
 *  different values, a table beside them counts each exactly; it is given up beyond that.
 */
final class ColumnCounts(val columns: Array[Int], exactValues: Int) {
  import ColumnCounts._

  private val buckets = new Array[Int](Buckets)
  private val candidates = new Array[Long](Candidates) // values last seen where a counter was high
  private var occupied = 0
  private var rows = 0L
  private var values: ExactCounts = if (exactValues > 0) new ExactCounts(exactValues) else null

  def rowCount: Long = rows
  def isExact: Boolean = values != null

  def add(table: WindowTable, row: Int): Unit = {
    val value = keyOf(table, row)
    val at = bucket(value)
    val count = buckets(at) + 1
    buckets(at) = count
    if (count == 1) occupied += 1
    rows += 1
    if (values != null && !values.add(value)) values = null
    if (values == null && count.toLong * Candidates > rows) candidates(at & (Candidates - 1)) = value
  }

  def remove(table: WindowTable, row: Int): Unit = {
    val value = keyOf(table, row)
    val at = bucket(value)
    buckets(at) -= 1
    if (buckets(at) == 0) occupied -= 1
    rows -= 1
    if (values != null) values.remove(value)
    // Nothing left: from here the exact count can start again.
    if (rows == 0 && values == null && exactValues > 0) values = new ExactCounts(exactValues)
  }

  /** Different values, exact or estimated; never more than rows. */
  def distinct: Double =
    if (values != null) values.size
    else math.min(rows.toDouble, -Buckets * math.log(math.max(1, Buckets - occupied).toDouble / Buckets))

  /** Rows with this value (for one column); an upper bound beyond `exactValues` different ones. */
  def card(value: Long): Long = if (values != null) values(value) else buckets(bucket(value))

  /** The most frequent values of one column with their rows, highest first. */
  def top(most: Int): Seq[(Long, Long)] = {
    val known = if (values != null) values.all else candidates.filter(_ != 0).distinct.toSeq.map(v => (v, card(v)))
    known.sortBy { case (value, count) => (-count, value) }.take(most)
  }

  /** Rows of the join with another window on these columns: exact where both are, else from the counters, less what
   *  different values in one bucket add to it.
   */
  def joinSize(other: ColumnCounts): Double =
    if (values != null && other.values != null) {
      val (few, many) = if (values.size <= other.values.size) (values, other.values) else (other.values, values)
      few.product(many)
    } else {
      var sum = 0.0
      var i = 0
      while (i < Buckets) { sum += buckets(i).toDouble * other.buckets(i); i += 1 }
      math.max(0.0, (sum - rows.toDouble * other.rows / Buckets) / (1.0 - 1.0 / Buckets))
    }

  def memoryBytes: Long = 4L * Buckets + 8L * Candidates + (if (values == null) 0L else values.memoryBytes)

  private def keyOf(table: WindowTable, row: Int): Long =
    if (columns.length == 1) table.cell(row, columns(0))
    else {
      var hash = 0L
      var i = 0
      while (i < columns.length) { hash = LongTable.mix(hash, table.cell(row, columns(i))); i += 1 }
      hash
    }

  private def bucket(value: Long): Int = (LongTable.mix(0L, value) >>> 32).toInt & (Buckets - 1)
}

private object ColumnCounts {
  final val Buckets = 1 << 14
  final val Candidates = 1 << 8
}

/** Values and their counts in an open-addressing table; a value leaves with its last row. */
private final class ExactCounts(most: Int) {
  private val capacity = Integer.highestOneBit(math.max(8, most)) * 4
  private val keys = new Array[Long](capacity)
  private val counts = new Array[Int](capacity)
  private var used = 0

  def size: Int = used
  def memoryBytes: Long = 12L * capacity
  def apply(value: Long): Long = counts(slotOf(value))

  /** Whether there was room for it. */
  def add(value: Long): Boolean = {
    val slot = slotOf(value)
    if (counts(slot) == 0) {
      if (used == most) return false
      keys(slot) = value
      used += 1
    }
    counts(slot) += 1
    true
  }

  def remove(value: Long): Unit = {
    val slot = slotOf(value)
    counts(slot) -= 1
    if (counts(slot) == 0) {
      used -= 1
      close(slot)
    }
  }

  def all: Seq[(Long, Long)] = keys.indices.filter(counts(_) > 0).map(i => (keys(i), counts(i).toLong))

  def product(other: ExactCounts): Double = {
    var sum = 0.0
    var i = 0
    while (i < capacity) {
      if (counts(i) > 0) sum += counts(i).toDouble * other(keys(i))
      i += 1
    }
    sum
  }

  private def home(value: Long): Int = (LongTable.mix(0L, value) >>> 32).toInt & (capacity - 1)

  private def slotOf(value: Long): Int = {
    var slot = home(value)
    while (counts(slot) > 0 && keys(slot) != value) slot = (slot + 1) & (capacity - 1)
    slot
  }

  // Later values of the same run move up, so that no look-up meets the gap first.
  private def close(freed: Int): Unit = {
    var gap = freed
    var slot = (freed + 1) & (capacity - 1)
    while (counts(slot) > 0) {
      val away = (slot - home(keys(slot))) & (capacity - 1)
      if (away >= ((slot - gap) & (capacity - 1))) {
        keys(gap) = keys(slot)
        counts(gap) = counts(slot)
        counts(slot) = 0
        gap = slot
      }
      slot = (slot + 1) & (capacity - 1)
    }
  }
}
