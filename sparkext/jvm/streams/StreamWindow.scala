package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.relations.{WindowContent, WindowTable}
import org.apache.spark.sql.execution.joins.IdRelation

/** One window of a stream and the patterns that queries match in it. */
class StreamWindow private[cqels] (stream: StreamLog, val key: String) {
  private var opens = Long.MinValue
  private var closes = Long.MinValue
  private var late = 0L
  private val patterns = mutable.LinkedHashMap[QuadPattern, WindowContent]()
  private val stars = mutable.LinkedHashMap[StarPattern, WindowStar]()
  private val feeds = new WindowFeeds

  def open: Long = opens
  def close: Long = closes
  def rowCount: Long = (patterns.valuesIterator ++ stars.valuesIterator.map(_.content)).map(_.rowCount).sum

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

  /** The rows that patterns with one subject find here together, kept up from now on; the same patterns are kept once. */
  def star(spec: StarPattern, name: String): WindowStar = stream.synchronized {
    stars.getOrElseUpdate(spec, {
      val content = new WindowContent(name, new WindowTable(spec.columns, spec.bag))
      content.table.copiesChains = stream.copiesChains
      val feed = new StarFeed(spec, stream.recordLayout, content.table)
      fill(feed)
      feeds.add(feed)
      new WindowStar(this, content, feed)
    })
  }

  /** Gives a star all that is there now. */
  private def fill(star: StarFeed): Unit = {
    val alone = new WindowFeeds
    alone.add(star)
    stream.contentOf(this).foreach { case (time, pane, from) => alone.pass(pane, from, pane.size, time, in = true) }
  }

  private[streams] def keepAll(star: StarFeed): Unit = stream.synchronized(if (star.crowded) {
    star.keepAll()
    fill(star)
  })

  def dropStar(spec: StarPattern): Unit = stream.synchronized {
    stars.remove(spec).foreach(star => feeds.remove(star.content.table))
  }

  /** Has the rows of a pattern that `known` does not hold go into a table, which may be that of several windows. */
  private[cqels] def feed(spec: QuadPattern, table: WindowTable, known: IdRelation): Unit = stream.synchronized {
    val feed = new PatternFeed(spec, stream.dictionary, table, known)
    table.copiesChains = stream.copiesChains
    feeds.add(spec.predicate, feed)
    stream.contentOf(this).foreach { case (time, pane, from) => pane.each(from, pane.size)((d, at) => feed.insert(d, at, time)) }
  }

  /** The rows that a pattern finds here, each with the time at which it was sighted last. */
  def timed(spec: QuadPattern, name: String): TimedContent = stream.synchronized {
    val content = pattern(spec, name)
    if (content.table.keepTimes()) {
      val matcher = new QuadMatcher(spec, stream.dictionary)
      stream.contentOf(this).foreach { case (time, pane, from) =>
        pane.each(from, pane.size)((d, at) => if (matcher.matches(d, at)) content.table.sight(matcher.row, time))
      }
    }
    new TimedContent(content)
  }

  /** The rows that a pattern finds in what came last. */
  def arrived(spec: QuadPattern, name: String): ArrivedRows = new ArrivedRows(stream, this, spec, name)

  private[cqels] def dropFeed(table: WindowTable): Unit = stream.synchronized {
    feeds.remove(table)
  }

  def patternCount: Int = patterns.size

  def advance(open: Long, close: Long): Unit = stream.advance(this, open, close)

  private[cqels] def moved(open: Long, close: Long): Unit = { opens = open; closes = close }

  /** Takes in the elements of a pane, from the `from`th on. */
  private[cqels] def enter(pane: Pane, from: Int, time: Long): Unit = feeds.pass(pane, from, pane.size, time, in = true)

  /** Takes all rows out at once; false where they are few, or a table is that of other windows, too. */
  private[cqels] def clear(): Boolean = {
    val clears = feeds.count == patterns.size + stars.size && rowCount >= StreamWindow.ManyRows
    if (clears) {
      patterns.valuesIterator.foreach(_.table.clear())
      stars.valuesIterator.foreach(_.feed.clear())
    }
    clears
  }

  private[cqels] def leave(pane: Pane): Unit = leave(pane, 0, pane.size)

  /** Takes out some elements of a pane. */
  private[cqels] def leave(pane: Pane, from: Int, until: Int): Unit = feeds.pass(pane, from, until, Long.MinValue, in = false)

  /** An element arrived for a time that the window already covers. */
  private[cqels] def arriveLate(time: Long, pane: Pane, from: Int): Unit =
    if (time > opens && time <= closes) {
      late += 1
      enter(pane, from, time)
    }

  /** Whether an element of this time, which is not there yet, belongs to what the window shows. */
  private[streams] def changesBy(time: Long): Boolean = time > opens && time <= closes

  /** Takes out all, and moves the window back to before all times. */
  private[streams] def empty(panes: Panes): Unit = {
    stream.leaveAll(this)
    moved(Long.MinValue, Long.MinValue)
  }

  /** From when on the window shows elements where its lower end is said to be `low`. */
  private[streams] def opensAt(low: Long, panes: Panes): Long = low

  /** How often what the window shows has changed other than by moving on: by elements for a time that it covered already. */
  private[cqels] def lateArrivals: Long = late

  /** The first element of a pane that belongs to the window. */
  private[cqels] def firstElement(time: Long): Int = 0

  /** Where an element of that time, after which the window shows so many others, stands among those that leave it one after the other. */
  private[cqels] def position(time: Long, others: Int): Long = time
  /** The positions up to which all elements are no longer in the window. */
  private[cqels] def leftBehind: Long = opens
}

private[cqels] object StreamWindow {
  /** Fewer leave one by one: to clear counts of columns touches all their buckets, however few the rows. */
  final val ManyRows = 2048
}

/** What patterns with one subject find together in a window. */
final class WindowStar private[streams] (window: StreamWindow, val content: WindowContent, private[streams] val feed: StarFeed) {
  /** Whether there were too many rows for it, and it shows none any more. */
  def crowded: Boolean = feed.crowded
  /** Has it show all rows, however many these are. */
  def keepAll(): Unit = window.keepAll(feed)
}
