package org.apache.spark.sql.cqels
package streams

/** The window of the last `count` elements up to a time, those of one time by their arrival; it may begin inside a pane. */
final class CountedWindow private[cqels] (stream: StreamLog, key: String, count: Int) extends StreamWindow(stream, key) {
  private var held = 0
  private var entered = 0L // so many elements have
  private var emptied = 0L
  // The first element of the content: the pane's time and its number in there; nothing while nothing is held.
  private var cutTime = Long.MinValue
  private var cutElement = 0

  /** Shows the last elements up to `close`, which never falls; what comes and goes again within the move never gets in. */
  private[cqels] def advanceTo(close: Long, panes: Panes): Unit = {
    if (close < this.close) throw new IllegalArgumentException(s"window $key cannot move back from ${this.close} to $close")
    var missing = count
    var firstTime = cutTime
    panes.eachBackwards(this.close, close) { pane =>
      missing -= pane.size
      firstTime = pane.time
      missing > 0
    }
    val news = count - math.max(missing, 0)
    shed(held + news - count, panes)
    if (news > 0) {
      val firstElement = math.max(-missing, 0)
      if (held == 0) { cutTime = firstTime; cutElement = firstElement }
      held += news
      entered += news
      enter(panes.get(firstTime), firstElement, firstTime)
      panes.each(firstTime, close)(pane => enter(pane, 0, pane.time))
    }
    moved(if (held == 0) close else cutTime - 1, close)
  }

  /** Lets the oldest elements go. */
  private def shed(elements: Int, panes: Panes): Unit = {
    var excess = elements
    while (excess > 0) {
      val pane = panes.get(cutTime)
      val here = math.min(excess, pane.size - cutElement)
      leave(pane, cutElement, cutElement + here)
      excess -= here
      held -= here
      cutElement += here
      if (cutElement == pane.size && held > 0) { cutTime = panes.next(cutTime).time; cutElement = 0 }
    }
  }

  override private[streams] def changesBy(time: Long): Boolean = time <= close

  override private[streams] def empty(panes: Panes): Unit = {
    shed(held, panes)
    cutTime = Long.MinValue
    cutElement = 0
    emptied += 1
    moved(Long.MinValue, Long.MinValue)
  }

  /** Its lower end is known to the log alone: `low` is the instant of which what it shows is asked. */
  override private[streams] def opensAt(low: Long, panes: Panes): Long = if (low <= StreamLog.Unsaid) low else {
    var missing = count
    var first = low
    panes.eachBackwards(Long.MinValue, low) { pane =>
      missing -= pane.size
      first = pane.time - 1
      missing > 0
    }
    first
  }

  override private[cqels] def arriveLate(time: Long, pane: Pane, from: Int): Unit =
    if (time <= close) throw new IllegalStateException(s"an element of time $time comes after window $key has passed it")

  override private[cqels] def firstElement(time: Long): Int = if (time == cutTime) cutElement else 0

  // By the order in which they entered, which is that of their times; the stream numbers them as they arrived.
  override private[cqels] def position(time: Long, others: Int): Long = entered - 1 - others
  override private[cqels] def leftBehind: Long = entered - held - 1

  // Elements that enter once more do so in other positions.
  override private[cqels] def lateArrivals: Long = emptied
}
