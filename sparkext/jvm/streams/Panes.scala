package org.apache.spark.sql.cqels
package streams

import java.util.{Arrays, TreeMap => JTreeMap}

import org.apache.spark.sql.cqels.memory.LongTable

/** The elements of one time: quads (s, p, o, element graph), and where in them each element begins. */
private[cqels] final class Pane(val time: Long, expectedQuads: Int) {
  val quads = new LongTable(4, expectedQuads)
  val starts = new ElementStarts
}

/** Panes in order of time; those of times that lie together in one bucket, as there may be one for each millisecond. */
private[cqels] final class Panes {
  import Panes._

  private val buckets = new JTreeMap[Long, Bucket]()
  private var latestKey = 0L
  private var latest: Bucket = _ // null: look for it
  private var count = 0

  def size: Int = count

  /** The pane of a time, null where there is none. */
  def get(time: Long): Pane = {
    val bucket = buckets.get(time >> Bits)
    if (bucket == null) null else bucket.get(time)
  }

  /** The pane of a time, made for so many quads where there is none. */
  def getOrAdd(time: Long, expectedQuads: Int): Pane = {
    if (latest == null || latestKey != time >> Bits) {
      latestKey = time >> Bits
      latest = buckets.computeIfAbsent(latestKey, _ => new Bucket)
    }
    val before = latest.used
    val found = latest.getOrAdd(time, expectedQuads)
    count += latest.used - before
    found
  }

  /** Gives the panes of the times (after, upTo], in order. */
  def each(after: Long, upTo: Long)(take: Pane => Unit): Unit =
    if (upTo > after) buckets.subMap(after >> Bits, true, upTo >> Bits, true).values.forEach(_.each(after, upTo, take))

  /** Gives the panes of the times (after, upTo] from the last one on, as long as `take` wants more. */
  def eachBackwards(after: Long, upTo: Long)(take: Pane => Boolean): Unit = if (upTo > after) {
    val parts = buckets.subMap(after >> Bits, true, upTo >> Bits, true).descendingMap.values.iterator
    var goesOn = true
    while (goesOn && parts.hasNext) {
      val bucket = parts.next()
      var i = bucket.used - 1
      while (goesOn && i >= 0) {
        val pane = bucket.panes(i)
        if (pane.time > after && pane.time <= upTo) goesOn = take(pane)
        i -= 1
      }
    }
  }

  /** The first pane after a time, null if there is none. */
  def next(time: Long): Pane = {
    val parts = buckets.tailMap(time >> Bits, true).values.iterator
    var found: Pane = null
    while (found == null && parts.hasNext) found = parts.next().next(time)
    found
  }

  /** Takes out the panes of the times (after, upTo], each given to `take` before; how many they were. */
  def remove(after: Long, upTo: Long)(take: Pane => Unit): Int = if (upTo <= after) 0 else {
    latest = null
    val before = count
    val parts = buckets.subMap(after >> Bits, true, upTo >> Bits, true).values.iterator
    while (parts.hasNext) {
      val bucket = parts.next()
      val used = bucket.used
      bucket.each(after, upTo, take)
      bucket.remove(after, upTo)
      count -= used - bucket.used
      if (bucket.used == 0) parts.remove()
    }
    before - count
  }
}

private object Panes {
  /** So many milliseconds, as a power of two, share a bucket. */
  private final val Bits = 6

  private final class Bucket {
    var panes = new Array[Pane](1)
    var used = 0

    def get(time: Long): Pane = {
      val i = place(time)
      if (i > 0 && panes(i - 1).time == time) panes(i - 1) else null
    }

    def next(time: Long): Pane = {
      val i = place(time)
      if (i < used) panes(i) else null
    }

    def getOrAdd(time: Long, expectedQuads: Int): Pane = {
      val i = place(time)
      if (i > 0 && panes(i - 1).time == time) panes(i - 1)
      else {
        if (used == panes.length) panes = Arrays.copyOf(panes, used * 2)
        System.arraycopy(panes, i, panes, i + 1, used - i)
        panes(i) = new Pane(time, expectedQuads)
        used += 1
        panes(i)
      }
    }

    def each(after: Long, upTo: Long, take: Pane => Unit): Unit = {
      var i = 0
      while (i < used) {
        val pane = panes(i)
        if (pane.time > after && pane.time <= upTo) take(pane)
        i += 1
      }
    }

    def remove(after: Long, upTo: Long): Unit = {
      val (from, until) = (place(after), place(upTo))
      System.arraycopy(panes, until, panes, from, used - until)
      Arrays.fill(panes.asInstanceOf[Array[AnyRef]], used - (until - from), used, null)
      used -= until - from
    }

    /** How many panes lie up to a time: mostly all. */
    private def place(time: Long): Int = {
      var i = used
      while (i > 0 && panes(i - 1).time > time) i -= 1
      i
    }
  }
}
