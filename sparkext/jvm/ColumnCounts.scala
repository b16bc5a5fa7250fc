package org.apache.spark.sql.cqels

/** How often each value of some columns occurs among a window's rows, kept up by what arrives and what expires.
 *
 *  Counters by hash serve every size: products of two tell the size of a join, and their number in use tells how many
 *  different values there are (linear counting, Whang et al. 1990, which can forget), until nearly all are in use: then a
 *  sample of the values does. While there are at most `exactValues` different values, a table beside them counts each
 *  exactly; it is given up beyond that.
 */
final class ColumnCounts(val columns: Array[Int], exactValues: Int) {
  import ColumnCounts._

  private val buckets = new Array[Int](Buckets)
  private val candidates = new Array[Long](Candidates) // values last seen where a counter was high
  private var occupied = 0
  private var rows = 0L
  private var values: ExactCounts = if (exactValues > 0) new ExactCounts(exactValues) else null
  private var sample: SampledValues = null // while the counters are crowded

  def rowCount: Long = rows
  def isExact: Boolean = values != null

  /** Counts a row that has come to the table. */
  def add(table: WindowTable, row: Int): Unit = {
    val value = keyOf(table, row)
    count(value)
    if (sample != null) sample.add(value)
    else if (occupied > Crowded) sample = sampleOf(table)
  }

  /** Counts all rows of a table, when none has been counted. */
  def addAll(table: WindowTable): Unit = {
    var row = 0
    while (row < table.capacityUsed) { if (table.isPresent(row)) count(keyOf(table, row)); row += 1 }
    if (occupied > Crowded) sample = sampleOf(table)
  }

  private def count(value: Long): Unit = {
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
    if (sample != null) { if (occupied > Crowded / 2) sample.remove(value) else sample = null }
    // Nothing left: from here the exact count can start again.
    if (rows == 0 && values == null && exactValues > 0) values = new ExactCounts(exactValues)
  }

  /** Counts no rows any more. */
  def clear(): Unit = {
    java.util.Arrays.fill(buckets, 0)
    occupied = 0
    rows = 0
    sample = null
    values = if (exactValues > 0) new ExactCounts(exactValues) else null
  }

  /** Different values, exact or estimated; never more than rows. */
  def distinct: Double =
    if (values != null) values.size
    else if (sample != null) math.min(rows.toDouble, sample.distinct)
    else math.min(rows.toDouble, -Buckets * math.log(math.max(1, Buckets - occupied).toDouble / Buckets))

  /** Rows with this value (for one column); an upper bound beyond `exactValues` different ones. */
  def card(value: Long): Long = if (values != null) values(value) else buckets(bucket(value))

  /** The most frequent values of one column with their rows, highest first. */
  def top(most: Int): Seq[(Long, Long)] = {
    val known = if (values != null) values.all else candidates.filter(_ != 0).distinct.toSeq.map(v => (v, card(v)))
    known.sortBy { case (value, count) => (-count, value) }.take(most)
  }

  /** Whether `joinSize` needs no rows, for there are few values to be looked up. */
  def isJoinCounted(other: ColumnCounts, sampleRows: Int): Boolean =
    values != null && other.values != null && math.min(values.size, other.values.size) <= sampleRows

  /** Rows of the join of `table`, of which these are counts, with another window on these columns.
   *
   *  Exact where both count few values; else from `sampleRows` rows of the table, each with what the other counts of its
   *  value. Where it counts by hash, that is less what other values in the bucket are expected to add, below 0 too: where
   *  buckets are crowded, most of what one row has is chance, which only the sum of many evens out.
   */
  def joinSize(table: WindowTable, other: ColumnCounts, sampleRows: Int, offset: Int): Estimate =
    if (isJoinCounted(other, sampleRows)) {
      val (few, many) = if (values.size <= other.values.size) (values, other.values) else (other.values, values)
      Estimate(few.product(many), 0.0)
    } else {
      val collisions = if (other.values != null) 0.0 else other.rows.toDouble / Buckets
      RowSample.total(table, sampleRows, offset, other.values == null)(row => other.card(keyOf(table, row)) - collisions)
    }

  def memoryBytes: Long =
    4L * Buckets + 8L * Candidates + (if (values == null) 0L else values.memoryBytes) + (if (sample == null) 0L else sample.memoryBytes)

  /** A sample of all rows of the table, which are those that have been counted. */
  private def sampleOf(table: WindowTable): SampledValues = {
    val made = new SampledValues(Sampled)
    var row = 0
    while (row < table.capacityUsed) { if (table.isPresent(row)) made.add(keyOf(table, row)); row += 1 }
    made
  }

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
  /** With more counters in use, at three values a counter, linear counting errs by more than a hundredth, and soon by any factor. */
  final val Crowded = Buckets / 20 * 19
  final val Sampled = 1 << 12
}

/** A number of rows, and its standard error: 0 where it was counted. */
private[cqels] final case class Estimate(rows: Double, error: Double) {
  def isCounted: Boolean = error == 0.0

  /** Both, as the content they are of has become so many times as large. */
  def scaled(factor: Double): Estimate = if (factor == 1.0) this else Estimate(rows * factor, error * factor)

  /** This estimate, made better by a newer one of the same: weighted by their errors, the newer one by a tenth at least. */
  def refined(newer: Estimate): Estimate = {
    val weight = math.max(Estimate.NewestWeight, error * error / (error * error + newer.error * newer.error))
    val left = (1.0 - weight) * error
    Estimate(rows + weight * (newer.rows - rows), math.hypot(left, weight * newer.error))
  }
}

private[cqels] object Estimate {
  private final val NewestWeight = 0.1
}

/** Some rows of a window, one from each of as many equal parts of it: what arrived together lies together. */
private[cqels] object RowSample {
  /** The sum of `measure` over all rows, from at most `most` of them, other ones for each `offset`.
   *
   *  Which row of a part it is looks random: what arrives in turn (each tenth row matches, say) must not meet the same
   *  step here. With `noisy`, each measure is off by chance, in either direction.
   */
  def total(table: WindowTable, most: Int, offset: Int, noisy: Boolean = false)(measure: Int => Double): Estimate = {
    val used = table.capacityUsed
    val all = used <= most
    val steps = if (all) used else most
    var seen = 0
    var sum = 0.0
    var squares = 0.0
    var matching = 0
    var i = 0
    while (i < steps) {
      val row = if (all) i else within(i.toLong * used / steps, (i + 1L) * used / steps, LongTable.mix(offset, i))
      if (table.isPresent(row)) {
        val value = measure(row)
        seen += 1
        sum += value
        squares += value * value
        if (value > 0.0) matching += 1
      }
      i += 1
    }
    if (noisy) ofNoisy(seen, sum, squares).scaled(table.rowCount)
    else if (all) Estimate(sum, 0.0)
    else estimate(seen, matching, sum, squares).scaled(table.rowCount)
  }

  private def within(from: Long, until: Long, random: Long): Int = (from + ((random >>> 33) * (until - from) >>> 31)).toInt

  /** As `estimate`, where chance hides which rows match: where they seem to have nothing, half a match is left. */
  private def ofNoisy(seen: Int, sum: Double, squares: Double): Estimate =
    if (seen == 0) Estimate(0.0, 0.0)
    else {
      val mean = sum / seen
      val variance = math.max(0.0, squares / seen - mean * mean)
      Estimate(math.max(mean, 0.5 / seen), math.sqrt(math.max(variance, 1.0 / seen) / seen))
    }

  /** The mean of what a row has, and its error.
   *
   *  Where few rows match anything, the sample knows little of them: the error is that of one match more, and no match at
   *  all is taken for half a match.
   */
  private[cqels] def estimate(seen: Int, matching: Int, sum: Double, squares: Double): Estimate =
    if (seen == 0) Estimate(0.0, 0.0)
    else {
      val one = if (matching == 0) 1.0 else sum / matching
      val mean = (sum + one) / (seen + 1)
      val variance = math.max(0.0, (squares + one * one) / (seen + 1) - mean * mean)
      Estimate(if (matching == 0) 0.5 / seen else sum / seen, math.sqrt(variance / seen))
    }
}

/** The rows of those values whose hashes begin with so many zeros that there are at most `most`: as if each value had been
 *  drawn or not, once and for all (adaptive sampling, Wegman, described by Flajolet 1990). Errs by about 1.2 / sqrt(most).
 */
private final class SampledValues(most: Int) {
  private var counts = new ExactCounts(most)
  private var zeros = 0

  def distinct: Double = counts.size.toDouble * (1L << zeros)
  def memoryBytes: Long = counts.memoryBytes

  def add(value: Long): Unit = while (isDrawn(value) && !counts.add(value)) drawFewer()
  def remove(value: Long): Unit = if (isDrawn(value)) counts.remove(value)

  private def isDrawn(value: Long): Boolean = java.lang.Long.numberOfLeadingZeros(LongTable.mix(0L, value)) >= zeros

  private def drawFewer(): Unit = {
    zeros += 1
    val left = new ExactCounts(most)
    counts.all.foreach { case (value, count) => if (isDrawn(value)) left.set(value, count.toInt) }
    counts = left
  }
}

/** Values and their counts: side by side in arrays, found through an open-addressing table; a value leaves with its last
 *  row.
 */
private final class ExactCounts(most: Int) {
  private val capacity = Integer.highestOneBit(math.max(8, most)) * 4
  private val slots = new Array[Int](capacity) // number of the value plus one; 0: free
  private val keys = new Array[Long](most)
  private val counts = new Array[Int](most)
  private var used = 0

  def size: Int = used
  def memoryBytes: Long = 4L * capacity + 12L * most
  def apply(value: Long): Long = { val n = slots(slotOf(value)); if (n == 0) 0L else counts(n - 1).toLong }

  /** Counts one more row of a value; whether there was room for it. */
  def add(value: Long): Boolean = {
    val slot = slotOf(value)
    if (slots(slot) == 0) {
      if (used == most) return false
      open(slot, value)
    }
    counts(slots(slot) - 1) += 1
    true
  }

  /** Gives a value that is not here its count; there must be room. */
  def set(value: Long, count: Int): Unit = {
    val slot = slotOf(value)
    open(slot, value)
    counts(slots(slot) - 1) = count
  }

  private def open(slot: Int, value: Long): Unit = {
    keys(used) = value
    counts(used) = 0
    used += 1
    slots(slot) = used
  }

  def remove(value: Long): Unit = {
    val slot = slotOf(value)
    val number = slots(slot) - 1
    counts(number) -= 1
    if (counts(number) == 0) {
      close(slot)
      used -= 1
      if (number < used) { // the last value takes its place
        keys(number) = keys(used)
        counts(number) = counts(used)
        slots(slotOf(keys(number))) = number + 1
      }
    }
  }

  def all: Seq[(Long, Long)] = (0 until used).map(i => (keys(i), counts(i).toLong))

  def product(other: ExactCounts): Double = {
    var sum = 0.0
    var i = 0
    while (i < used) { sum += counts(i).toDouble * other(keys(i)); i += 1 }
    sum
  }

  private def home(value: Long): Int = (LongTable.mix(0L, value) >>> 32).toInt & (capacity - 1)

  private def slotOf(value: Long): Int = {
    var slot = home(value)
    while (slots(slot) != 0 && keys(slots(slot) - 1) != value) slot = (slot + 1) & (capacity - 1)
    slot
  }

  // Later values of the same run move up, so that no look-up meets the gap first.
  private def close(freed: Int): Unit = {
    var gap = freed
    slots(gap) = 0
    var slot = (freed + 1) & (capacity - 1)
    while (slots(slot) != 0) {
      val away = (slot - home(keys(slots(slot) - 1))) & (capacity - 1)
      if (away >= ((slot - gap) & (capacity - 1))) {
        slots(gap) = slots(slot)
        slots(slot) = 0
        gap = slot
      }
      slot = (slot + 1) & (capacity - 1)
    }
  }
}
