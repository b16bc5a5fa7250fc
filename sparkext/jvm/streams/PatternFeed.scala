package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.RecordLayout
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable}
import org.apache.spark.sql.cqels.relations.WindowTable
import org.apache.spark.sql.execution.joins.IdRelation

/** Keeps up the rows of one pattern; those that `known` holds are left out (null: none). */
private[cqels] final class PatternFeed(spec: QuadPattern, dictionary: Dictionary, val table: WindowTable, known: IdRelation)
    extends QuadFeed {
  private val matcher = new QuadMatcher(spec, dictionary)
  private val absent = if (known == null) null else known.asReadOnlyCopy()
  private val key = new IdRow(spec.columns.length)

  override def insert(data: Array[Long], at: Int, time: Long): Unit = if (matcher.matches(data, at) && isNew) table.insert(matcher.row, time)
  override def delete(data: Array[Long], at: Int): Unit = if (matcher.matches(data, at) && isNew) table.delete(matcher.row)

  private def isNew: Boolean = absent == null || {
    val row = matcher.row
    var c = 0
    while (c < row.length) { key.set(c, row(c)); c += 1 }
    (if (row.length == 1) absent.get(row(0)) else absent.get(key.row)) == null
  }
}

private[cqels] object PatternFeed {
  @inline def each(quads: LongTable, from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = quads.data
    var at = from * 4
    val end = until * 4
    while (at < end) { feed(data, at); at += 4 }
  }
}

/** What keeps rows up by the quads that enter and leave a window. */
private[cqels] trait QuadFeed {
  def insert(data: Array[Long], at: Int, time: Long): Unit
  def delete(data: Array[Long], at: Int): Unit
}

/** The feeds of one window, each given the quads with the predicate that it waits for. */
private[cqels] final class WindowFeeds {
  private var patterns = 0
  private var stars = Array.empty[StarFeed]
  private val byPredicate = mutable.LongMap[Array[QuadFeed]]()
  private var anyPredicate = Array.empty[QuadFeed]
  private var byQuad: Array[Array[QuadFeed]] = _ // of each quad of records whose predicate does not vary

  /** How many patterns and stars are kept up. */
  def count: Int = patterns + stars.length

  def add(predicate: Long, feed: PatternFeed): Unit = {
    patterns += 1
    put(predicate, feed)
  }

  def add(star: StarFeed): Unit = {
    stars :+= star
    star.spec.predicates.distinct.foreach(put(_, star.others))
  }

  /** `predicate`: 0 where the feed is to be asked for every quad. */
  private def put(predicate: Long, feed: QuadFeed): Unit = {
    if (predicate == 0) anyPredicate :+= feed
    else byPredicate.update(predicate, byPredicate.getOrElse(predicate, Array.empty[QuadFeed]) :+ feed)
    byQuad = null
  }

  def remove(table: WindowTable): Unit = {
    def gone(feed: QuadFeed) = feed match { case of: PatternFeed => of.table eq table; case _ => stars.exists(s => (s.table eq table) && (s.others eq feed)) }
    val all = anyPredicate ++ byPredicate.valuesIterator.flatten
    patterns -= all.count(feed => feed.isInstanceOf[PatternFeed] && gone(feed))
    anyPredicate = anyPredicate.filterNot(gone)
    byPredicate.mapValuesInPlace((_, feeds) => feeds.filterNot(gone))
    stars = stars.filterNot(_.table eq table)
    byQuad = null
  }

  /** Gives the quads of some elements of a pane to the feeds that wait for them, to be taken in or out. */
  def pass(pane: Pane, from: Int, until: Int, time: Long, in: Boolean): Unit = {
    PatternFeed.each(pane.quads, pane.quad(from), pane.quad(until))((data, at) => give(data, at, time, in))
    if (pane.layout != null) passRecords(pane, from, until, time, in)
  }

  private def passRecords(pane: Pane, from: Int, until: Int, time: Long, in: Boolean): Unit = {
    val layout = pane.layout
    val waiting = of(layout)
    stars.foreach(_.pass(pane, from, until, time, in))
    val cells = new Array[Long](4)
    var q = 0
    while (q < layout.size) {
      val feeds = waiting(q)
      // Quads that nobody waits for are not made.
      if (feeds == null) pane.eachRecord(from, until)((records, at) => if (layout.write(q, records, at, cells)) give(cells, 0, time, in))
      else if (feeds.length > 0)
        pane.eachRecord(from, until)((records, at) => if (layout.write(q, records, at, cells)) give(feeds, cells, 0, time, in))
      q += 1
    }
  }

  private def of(layout: RecordLayout): Array[Array[QuadFeed]] = {
    if (byQuad == null)
      byQuad = Array.tabulate(layout.size) { q =>
        if (layout.column(q, 1) >= 0) null
        else {
          val feeds = byPredicate.getOrElse(layout.constant(q, 1), Array.empty[QuadFeed]) ++ anyPredicate
          feeds.filter(_.isInstanceOf[PatternFeed]) ++ stars.map(_.part(q)).filter(_ != null)
        }
      }
    byQuad
  }

  private def give(data: Array[Long], at: Int, time: Long, in: Boolean): Unit = {
    byPredicate.getOrNull(data(at + 1)) match {
      case null =>
      case feeds => give(feeds, data, at, time, in)
    }
    give(anyPredicate, data, at, time, in)
  }

  private def give(feeds: Array[QuadFeed], data: Array[Long], at: Int, time: Long, in: Boolean): Unit = {
    var i = 0
    while (i < feeds.length) {
      if (in) feeds(i).insert(data, at, time) else feeds(i).delete(data, at)
      i += 1
    }
  }
}
