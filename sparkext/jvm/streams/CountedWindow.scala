package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.memory.LongTable

/** Where the elements of a pane begin, in the order of their arrival, and their numbers in the stream. */
private[cqels] final class ElementStarts {
  private var rows = new Array[Int](1)
  private var numbers = new Array[Long](1)
  private var used = 0

  def size: Int = used
  def add(row: Int, number: Long): Unit = {
    if (used == rows.length) {
      rows = java.util.Arrays.copyOf(rows, used * 2)
      numbers = java.util.Arrays.copyOf(numbers, used * 2)
    }
    rows(used) = row
    numbers(used) = number
    used += 1
  }
  /** Which of the stream's elements it is, counted from 0 as they came. */
  def number(element: Int): Long = numbers(element)
  /** The first row of an element; for the number after the last, where the pane ends. */
  def row(element: Int, pane: LongTable): Int = if (element < used) rows(element) else pane.rowCount
}

/** The window of the last `count` elements up to a time, those of one time by their arrival; it may begin inside a pane. */
final class CountedWindow private[cqels] (stream: StreamLog, key: String, count: Int) extends StreamWindow(stream, key) {
  private var held = 0
  // The first element of the content: the pane's time and its number in there; nothing while nothing is held.
  private var cutTime = Long.MinValue
  private var cutElement = 0

  /** Shows the last elements up to `close`, which never falls; what comes and goes again within the move never gets in. */
  private[cqels] def advanceTo(close: Long, panes: Panes): Unit = {
    if (close < this.close) throw new IllegalArgumentException(s"window $key cannot move back from ${this.close} to $close")
    var missing = count
    var firstTime = cutTime
    panes.eachBackwards(this.close, close) { pane =>
      missing -= pane.starts.size
      firstTime = pane.time
      missing > 0
    }
    val news = count - math.max(missing, 0)
    shed(held + news - count, panes)
    if (news > 0) {
      val firstElement = math.max(-missing, 0)
      if (held == 0) { cutTime = firstTime; cutElement = firstElement }
      held += news
      val first = panes.get(firstTime)
      enter(first.quads, first.starts.row(firstElement, first.quads), firstTime)
      panes.each(firstTime, close)(pane => enter(pane.quads, 0, pane.time))
    }
    moved(if (held == 0) close else cutTime - 1, close)
  }

  /** Lets the oldest elements go. */
  private def shed(elements: Int, panes: Panes): Unit = {
    var excess = elements
    while (excess > 0) {
      val pane = panes.get(cutTime)
      val (begin, quads) = (pane.starts, pane.quads)
      val here = math.min(excess, begin.size - cutElement)
      leave(quads, begin.row(cutElement, quads), begin.row(cutElement + here, quads))
      excess -= here
      held -= here
      cutElement += here
      if (cutElement == begin.size && held > 0) { cutTime = panes.next(cutTime).time; cutElement = 0 }
    }
  }

  override private[cqels] def arriveLate(time: Long, pane: LongTable, from: Int): Unit =
    if (time <= close) throw new IllegalStateException(s"an element of time $time comes after window $key has passed it")

  override private[cqels] def firstElement(time: Long): Int = if (time == cutTime) cutElement else 0

  // Elements come in order where they are counted (see `arriveLate`), so their numbers are in the order in which they leave.
  override private[cqels] def position(time: Long, number: Long): Long = number
  // Where none is held, there never was one.
  override private[cqels] def leftBehind(panes: Panes): Long =
    if (held == 0) Long.MinValue else panes.get(cutTime).starts.number(cutElement) - 1
}
