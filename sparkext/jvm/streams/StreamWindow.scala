package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{StaticIndex, WindowContent, WindowTable}

/** One window of a stream and the patterns that queries match in it. */
class StreamWindow private[cqels] (stream: StreamLog, val key: String) {
  private var opens = Long.MinValue
  private var closes = Long.MinValue
  private var late = 0L
  private val patterns = mutable.LinkedHashMap[QuadPattern, WindowContent]()
  // By predicate id; patterns with a variable predicate are asked for every quad.
  private val byPredicate = mutable.LongMap[Array[PatternFeed]]()
  private var anyPredicate = Array.empty[PatternFeed]

  def open: Long = opens
  def close: Long = closes
  def rowCount: Long = patterns.valuesIterator.map(_.rowCount).sum

  /** The rows that a pattern finds here, kept up from now on; the same pattern is kept once. */
  def pattern(spec: QuadPattern, name: String): WindowContent = stream.synchronized {
    patterns.getOrElseUpdate(spec, {
      val content = new WindowContent(name, new WindowTable(spec.columns.length, spec.bag))
      feed(spec, content.table, null)
      content
    })
  }

  def dropPattern(spec: QuadPattern): Unit = stream.synchronized {
    patterns.remove(spec).foreach(content => dropFeed(content.table))
  }

  /** Has the rows of a pattern that `known` does not hold go into a table, which may be that of several windows. */
  private[cqels] def feed(spec: QuadPattern, table: WindowTable, known: StaticIndex): Unit = stream.synchronized {
    val feed = new PatternFeed(spec, stream.dictionary, table, known)
    table.copiesChains = stream.copiesChains
    if (spec.predicate == 0) anyPredicate :+= feed
    else byPredicate.update(spec.predicate, byPredicate.getOrElse(spec.predicate, Array.empty[PatternFeed]) :+ feed)
    stream.contentOf(this).foreach { case (time, pane, from) =>
      PatternFeed.each(pane, from, pane.rowCount)((d, at) => feed.insert(d, at, time))
    }
  }

  /** The rows that a pattern finds here, each with the time at which it was sighted last. */
  def timed(spec: QuadPattern, name: String): TimedContent = stream.synchronized {
    val content = pattern(spec, name)
    if (content.table.keepTimes()) {
      val matcher = new QuadMatcher(spec, stream.dictionary)
      stream.contentOf(this).foreach { case (time, pane, from) =>
        PatternFeed.each(pane, from, pane.rowCount)((d, at) => if (matcher.matches(d, at)) content.table.sight(matcher.row, time))
      }
    }
    new TimedContent(content)
  }

  /** The rows that a pattern finds in what came last. */
  def arrived(spec: QuadPattern, name: String): ArrivedRows = new ArrivedRows(stream, this, spec, name)

  private[cqels] def dropFeed(table: WindowTable): Unit = stream.synchronized {
    anyPredicate = anyPredicate.filterNot(_.table eq table)
    byPredicate.mapValuesInPlace((_, feeds) => feeds.filterNot(_.table eq table))
  }

  def patternCount: Int = patterns.size

  def advance(open: Long, close: Long): Unit = stream.advance(this, open, close)

  private[cqels] def moved(open: Long, close: Long): Unit = { opens = open; closes = close }

  private[cqels] def enter(pane: LongTable, from: Int, time: Long): Unit =
    PatternFeed.each(pane, from, pane.rowCount) { (data, at) =>
      byPredicate.getOrNull(data(at + 1)) match {
        case null =>
        case feeds => var i = 0; while (i < feeds.length) { feeds(i).insert(data, at, time); i += 1 }
      }
      var i = 0
      while (i < anyPredicate.length) { anyPredicate(i).insert(data, at, time); i += 1 }
    }

  /** Takes all rows out at once; false where they are few, or a table is that of other windows, too. */
  private[cqels] def clear(): Boolean = {
    val feeds = byPredicate.valuesIterator.map(_.length).sum + anyPredicate.length
    val clears = feeds == patterns.size && rowCount >= StreamWindow.ManyRows
    if (clears) patterns.valuesIterator.foreach(_.table.clear())
    clears
  }

  private[cqels] def leave(pane: LongTable): Unit = leave(pane, 0, pane.rowCount)

  private[cqels] def leave(pane: LongTable, from: Int, until: Int): Unit =
    PatternFeed.each(pane, from, until) { (data, at) =>
      byPredicate.getOrNull(data(at + 1)) match {
        case null =>
        case feeds => var i = 0; while (i < feeds.length) { feeds(i).delete(data, at); i += 1 }
      }
      var i = 0
      while (i < anyPredicate.length) { anyPredicate(i).delete(data, at); i += 1 }
    }

  /** An element arrived for a time that the window already covers. */
  private[cqels] def arriveLate(time: Long, pane: LongTable, from: Int): Unit =
    if (time > opens && time <= closes) {
      late += 1
      enter(pane, from, time)
    }

  /** How many elements came for a time that the window covered already. */
  private[cqels] def lateArrivals: Long = late

  /** The first element of a pane that belongs to the window. */
  private[cqels] def firstElement(time: Long): Int = 0

  /** Where an element of that time, the stream's `number`th, stands among those that leave the window one after the other. */
  private[cqels] def position(time: Long, number: Long): Long = time
  /** The positions up to which all elements are no longer in the window. */
  private[cqels] def leftBehind(panes: Panes): Long = opens
}

private[cqels] object StreamWindow {
  /** Fewer leave one by one: to clear counts of columns touches all their buckets, however few the rows. */
  final val ManyRows = 2048
}
