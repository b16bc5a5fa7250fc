package org.apache.spark.sql.cqels

import scala.collection.mutable

import org.apache.spark.sql.execution.joins.StaticIndex

/** What is known of the relations of one join cluster at this instant: rows and different values of its windows, and how
 *  many rows each window has in common with a neighbour.
 *
 *  A window beside a static relation is sampled: some of its rows are looked up in an index that is there anyway, and
 *  beside another window in that one's counts. Nothing is told before something has moved by more than a factor of `drift`.
 */
final class ClusterStatistics(sampleRows: Int, exactValues: Int, drift: Double) {
  private val measures = mutable.ArrayBuffer[() => Double]()
  private val counted = mutable.ArrayBuffer[(WindowContent, Seq[ColumnCounts])]()
  private var told = Array.emptyDoubleArray
  private var offset = 0

  /** Adds the measures of a window: its rows, then the different values in each group of columns ("0;1;0,1"). */
  def addWindow(content: WindowContent, groups: String): Unit = synchronized {
    measures += (() => content.rowCount.toDouble)
    val all = groups.split(';').toSeq.filter(_.nonEmpty).map(g => content.table.counts(Numbers.list(g).map(_.toInt), exactValues))
    all.foreach(counts => measures += (() => counts.distinct))
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
    measures += (() => one.joinSize(left.table, other, sampleRows, offset))
  }

  /** Adds a measure: the rows of the join of a window with a static relation; below 0 while there is no index to look in. */
  def addStatic(window: WindowContent, columns: String, static: StaticContent, staticColumns: String): Unit = synchronized {
    val from = Numbers.list(columns).map(_.toInt)
    val to = Numbers.list(staticColumns).map(_.toInt)
    measures += (() => sampled(window.table, from, static.indexOn(to)))
  }

  /** All measures as a JSON array if one has drifted since they were last told, else "". */
  def news(): String = synchronized {
    offset += 1
    val now = measures.iterator.map(_()).toArray
    if (told.length == now.length && !now.indices.exists(i => moved(told(i), now(i)))) return ""
    told = now
    now.map(v => math.round(v * 100) / 100.0).mkString("[", ",", "]")
  }

  // A few rows more or less are no news, however few there were.
  private def moved(before: Double, now: Double): Boolean = {
    val ratio = (before + ClusterStatistics.Slack) / (now + ClusterStatistics.Slack)
    ratio > drift || ratio * drift < 1.0 || (before < 0) != (now < 0)
  }

  private def sampled(table: WindowTable, columns: Array[Int], index: StaticIndex): Double =
    if (index == null) -1.0
    else {
      val key = new Array[Long](columns.length)
      table.rowCount * RowSample.mean(table, sampleRows, offset) { row =>
        var c = 0
        while (c < key.length) { key(c) = table.cell(row, columns(c)); c += 1 }
        index.matchCount(key, ClusterStatistics.MostCounted).toDouble
      }
    }
}

private object ClusterStatistics {
  final val Slack = 8.0
  // One sampled row is not followed further: beyond this, the join is dear whatever it is.
  final val MostCounted = 100000
}
