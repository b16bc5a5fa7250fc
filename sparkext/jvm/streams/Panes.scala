package org.apache.spark.sql.cqels
package streams

import java.util.{Arrays, TreeMap => JTreeMap}

import org.apache.spark.sql.cqels.ingest.{ElementBlock, RecordLayout}
import org.apache.spark.sql.cqels.memory.LongTable

/** The elements of one time, in the order of their arrival: their quads, and records that stand for more of them.
 *
 *  Quads of records are made while a pane is read, for those who ask for them. `layout` is null where there are no records.
 */
private[cqels] final class Pane(val time: Long, expectedQuads: Int, val layout: RecordLayout) {
  val quads = new LongTable(4, if (layout == null) expectedQuads else 1)
  /** Null where there is no layout. */
  val records: LongTable = if (layout == null) null else new LongTable(layout.width, 4)
  private var quadRows = new Array[Int](1)
  private var recordRows = if (layout == null) null else new Array[Int](1)
  private var numbers = new Array[Long](1)
  private var used = 0

  /** How many elements there are. */
  def size: Int = used
  /** Which of the stream's elements it is, counted from 0 as they came. */
  def number(element: Int): Long = numbers(element)
  /** The first quad of an element; for the number after the last, where they end. */
  def quad(element: Int): Int = if (element < used) quadRows(element) else quads.rowCount
  /** As `quad`, of records. */
  def record(element: Int): Int = if (element < used) recordRows(element) else records.rowCount

  /** Takes over an element of a block. */
  def add(block: ElementBlock, element: Int, number: Long): Unit = {
    if (used == numbers.length) {
      quadRows = java.util.Arrays.copyOf(quadRows, used * 2)
      numbers = java.util.Arrays.copyOf(numbers, used * 2)
      if (layout != null) recordRows = java.util.Arrays.copyOf(recordRows, used * 2)
    }
    quadRows(used) = quads.rowCount
    numbers(used) = number
    if (layout != null) recordRows(used) = records.rowCount
    used += 1
    quads.appendAll(block.quads.data, block.begin(element), block.end(element) - block.begin(element))
    if (block.records != null) {
      val from = block.recordBegin(element)
      records.appendAll(block.records.data, from, block.recordEnd(element) - from)
    }
  }

  /** Gives the quads of some elements, each as an array and where it begins in there; it is not to be kept. */
  def each(from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = quads.data
    val end = quad(until) * 4
    var at = quad(from) * 4
    while (at < end) { feed(data, at); at += 4 }
    if (layout != null) {
      val cells = new Array[Long](4)
      var q = 0
      while (q < layout.size) {
        eachRecord(from, until)((records, record) => if (layout.write(q, records, record, cells)) feed(cells, 0))
        q += 1
      }
    }
  }

  def each(feed: (Array[Long], Int) => Unit): Unit = each(0, used)(feed)

  /** Gives where the records of some elements begin, and the array in which they do. */
  def eachRecord(from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = records.data
    val end = record(until) * layout.width
    var at = record(from) * layout.width
    while (at < end) { feed(data, at); at += layout.width }
  }

  /** Writes the quads of an element into a table, in an order that stays. */
  def write(element: Int, to: LongTable): Unit = each(element, element + 1)((data, at) => to.appendAll(data, at / 4, 1))
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
  def getOrAdd(time: Long, expectedQuads: Int, layout: RecordLayout): Pane = {
    if (latest == null || latestKey != time >> Bits) {
      latestKey = time >> Bits
      latest = buckets.computeIfAbsent(latestKey, _ => new Bucket)
    }
    val before = latest.used
    val found = latest.getOrAdd(time, expectedQuads, layout)
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

    def getOrAdd(time: Long, expectedQuads: Int, layout: RecordLayout): Pane = {
      val i = place(time)
      if (i > 0 && panes(i - 1).time == time) panes(i - 1)
      else {
        if (used == panes.length) panes = Arrays.copyOf(panes, used * 2)
        System.arraycopy(panes, i, panes, i + 1, used - i)
        panes(i) = new Pane(time, expectedQuads, layout)
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
