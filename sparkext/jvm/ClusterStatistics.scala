package org.apache.spark.sql.cqels

import scala.collection.mutable

import org.apache.spark.sql.execution.joins.StaticIndex

/** What is known of the relations of one join cluster at this instant: rows and different values of its windows, and how
 *  many rows each window has in common with a neighbour.
 *
 *  A window beside a static relation is sampled: some of its rows are looked up in an index, once there is one, and
 *  beside another window in that one's counts, unless both count few values: then the rows of their join are counted.
 *  Samples add up while they agree: one is weighed against those before it, by what is chance in each. Nothing is told
 *  before something has moved by more than a factor of `drift`, and by more than chance would have it where it is sampled.
 */
final class ClusterStatistics(sampleRows: Int, exactValues: Int, drift: Double) {
  /** `size` is that of the content sampled, which grows and shrinks with it. */
  private final class Measure(
      val sampled: () => Boolean, val size: () => Double, val read: () => Estimate, val drift: Double = drift,
      val glimpse: () => Option[Estimate] = () => None) {
    private var known = Estimate(-1.0, 0.0)
    private var knownSize = 1.0

    /** What is known with one more look. */
    def refresh(): Estimate = {
      val now = read()
      val here = math.max(1.0, size())
      val before = known.scaled(here / knownSize)
      val agrees = before.rows >= 0 && !before.isCounted && !now.isCounted && !moved(before, now, drift)
      known = if (agrees) before.refined(now) else now
      knownSize = here
      known
    }
  }

  private val turnovers = mutable.LinkedHashMap[WindowContent, Turnover]()
  private val measures = mutable.ArrayBuffer[Measure]()
  private val counted = mutable.ArrayBuffer[(WindowContent, Seq[ColumnCounts])]()
  private var told = Array.empty[Estimate]
  private var offset = 0
  private var looks = 0

  /** Adds the measures of a window: its rows, how many arrive and expire from one evaluation to the next, and the different
   *  values in each group of columns ("0;1;0,1").
   */
  def addWindow(content: WindowContent, groups: String): Unit = synchronized {
    val turnover = turnoverOf(content)
    measures += new Measure(() => false, () => 1.0, () => Estimate(content.rowCount.toDouble, 0.0))
    measures += new Measure(() => false, () => 1.0, () => Estimate(turnover.changed, 0.0), ClusterStatistics.TurnoverDrift)
    val all = groups.split(';').toSeq.filter(_.nonEmpty).map(g => content.table.counts(Numbers.list(g).map(_.toInt), exactValues))
    all.foreach(counts => measures += new Measure(() => false, () => 1.0, () => Estimate(counts.distinct, 0.0)))
    counted += ((content, all))
  }

  /** What the windows count now, as JSON: `[[rows, [[different values, exact, [[id, rows], ..most frequent]], ..]], ..]`. */
  def describe(most: Int): String = synchronized {
    counted.map { case (content, all) =>
      val columns = all.map { counts =>
        val top = counts.top(most).map { case (value, rows) => s"[$value,$rows]" }.mkString("[", ",", "]")
        s"[${math.round(counts.distinct)},${counts.isExact},$top]"
      }
      s"[${content.rowCount},${columns.mkString("[", ",", "]")}]"
    }.mkString("[", ",", "]")
  }

  /** Adds a measure: the rows of the join of two windows on these columns of each. */
  def addWindows(left: WindowContent, leftColumns: String, right: WindowContent, rightColumns: String): Unit = synchronized {
    val one = left.table.counts(Numbers.list(leftColumns).map(_.toInt), exactValues)
    val other = right.table.counts(Numbers.list(rightColumns).map(_.toInt), exactValues)
    // Rows of the smaller window: what chance adds to each of them counts less often.
    def common: Estimate =
      if (left.rowCount <= right.rowCount) one.joinSize(left.table, other, sampleRows, offset)
      else other.joinSize(right.table, one, sampleRows, offset)
    measures += new Measure(
      () => !one.isJoinCounted(other, sampleRows), () => math.min(left.rowCount, right.rowCount).toDouble, () => common)
  }

  /** Adds a measure: the rows of the join of a window with a static relation; below 0 while there is no index to look in. */
  def addStatic(window: WindowContent, columns: String, static: StaticContent, staticColumns: String): Unit = synchronized {
    val from = Numbers.list(columns).map(_.toInt)
    val to = Numbers.list(staticColumns).map(_.toInt)
    def rows(most: Int, offset: Int): Estimate = sampled(window.table, from, static.indexOn(to), most, offset)
    val turnover = turnoverOf(window)
    def glimpse: Option[Estimate] =
      if (turnover.changed < ClusterStatistics.MuchNew * window.rowCount) None
      else Some(rows(ClusterStatistics.Glimpsed, looks))
    measures += new Measure(() => true, () => window.rowCount, () => rows(sampleRows, offset), glimpse = () => glimpse)
  }

  /** All measures as JSON if one has drifted since they were last told, else "": `{"rows": [..], "errors": [..]}`.
   *
   *  Errors are standard errors: 0 of what was counted, and of what was not measured yet, whose rows are below 0.
   *  To be called once before each evaluation. Without `sample`, rows are looked up only if what is counted anyway has
   *  drifted, or a glimpse of what is new says that the rest may have.
   */
  def news(sample: Boolean): String = synchronized {
    turnovers.values.foreach(_.look())
    looks += 1
    val first = told.length != measures.length
    if (!sample && !first && !measures.indices.exists(seemsMoved)) return ""
    offset += 1
    val now = measures.map(_.refresh()).toArray
    if (!first && !now.indices.exists(i => moved(told(i), now(i), measures(i).drift))) return ""
    told = now
    s"""{"rows":${ClusterStatistics.all(now.map(_.rows))},"errors":${ClusterStatistics.all(now.map(_.error))}}"""
  }

  private def turnoverOf(window: WindowContent): Turnover = turnovers.getOrElseUpdate(window, new Turnover(window.table))

  private def seemsMoved(i: Int): Boolean = {
    val measure = measures(i)
    if (measure.sampled()) measure.glimpse().exists(moved(told(i), _, measure.drift))
    else moved(told(i), measure.read(), measure.drift)
  }

  // A few rows more or less are no news, however few there were.
  private def moved(before: Estimate, now: Estimate, drift: Double): Boolean = {
    val ratio = (before.rows + ClusterStatistics.Slack) / (now.rows + ClusterStatistics.Slack)
    val chance = ClusterStatistics.Errors * math.hypot(before.error, now.error)
    (before.rows < 0) != (now.rows < 0) || (ratio > drift || ratio * drift < 1.0) && math.abs(before.rows - now.rows) > chance
  }

  private def sampled(table: WindowTable, columns: Array[Int], index: StaticIndex, rows: Int, offset: Int): Estimate =
    if (index == null) Estimate(-1.0, 0.0)
    else {
      val key = new Array[Long](columns.length)
      // A key with one row at most has little to tell.
      val most = if (index.hasUniqueKeys) math.max(1, rows / 4) else rows
      RowSample.total(table, most, offset) { row =>
        var c = 0
        while (c < key.length) { key(c) = table.cell(row, columns(c)); c += 1 }
        index.matchCount(key, ClusterStatistics.MostCounted).toDouble
      }
    }
}

/** How many rows of a window arrive and expire between two looks: a running mean of the last ones. */
private final class Turnover(table: WindowTable) {
  private var before = -1L
  private var mean = 0.0
  private var looks = 0

  def look(): Unit = {
    val now = table.arrivals + table.expiries
    if (before >= 0) {
      looks = math.min(looks + 1, ClusterStatistics.RememberedLooks)
      mean += (now - before - mean) / looks
    }
    before = now
  }

  /** All rows come and go until it was counted. */
  def changed: Double = if (looks == 0) 2.0 * table.rowCount else mean
}

private object ClusterStatistics {
  final val RememberedLooks = 16
  /** What arrives varies more than what is there, and matters less. */
  final val TurnoverDrift = 2.0
  final val Slack = 8.0
  /** Differences of sampled numbers within so many standard errors are chance. */
  final val Errors = 3.0
  def all(numbers: Array[Double]): String = numbers.map(shown).mkString("[", ",", "]")
  /** With two digits where they matter: this is told before evaluations. */
  def shown(rows: Double): String =
    if (rows >= 1000) math.round(rows).toString else (math.round(rows * 100) / 100.0).toString
  /** Of windows with at least this share of their rows arriving and expiring, so many rows are looked up each time. */
  final val MuchNew = 0.5
  final val Glimpsed = 8
  // One sampled row is not followed further: beyond this, the join is dear whatever it is.
  final val MostCounted = 100000
}
