package org.apache.spark.sql.cqels
package ingest

import java.util.Arrays

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.terms.TermId

/** Stream elements as longs: of each its time and its quads (subject, predicate, object, graph; 0: the default graph), and of a
 *  stream whose records have a layout, records, which stand for more of its quads.
 *
 *  The ids in it are held in the dictionary, once for each cell; who takes elements over takes over what they hold, and
 *  `release` gives back what the others do. Elements come in any order. Not for several threads at once.
 */
private[cqels] final class ElementBlock(val dictionary: Dictionary, layout: RecordLayout = null) {
  private var times = new Array[Long](64)
  private var begins = new Array[Int](64)
  private var recordBegins = if (layout == null) null else new Array[Int](64)
  private var used = 0
  val quads = new LongTable(4, if (layout == null) 128 else 1)
  /** Null where there is no layout. */
  val records: LongTable = if (layout == null) null else new LongTable(layout.width, 64)
  val flaws = new Flaws
  private val late = new java.util.BitSet

  def size: Int = used
  def time(element: Int): Long = times(element)
  /** The first quad of an element. */
  def begin(element: Int): Int = begins(element)
  def end(element: Int): Int = if (element + 1 < used) begins(element + 1) else quads.rowCount
  /** The first record of an element, where there are records. */
  def recordBegin(element: Int): Int = recordBegins(element)
  def recordEnd(element: Int): Int = if (element + 1 < used) recordBegins(element + 1) else records.rowCount

  /** Says that the element begun last comes too late. */
  def markLate(): Unit = late.set(used - 1)
  def isLate(element: Int): Boolean = late.get(element)
  /** How many elements do not come too late, as far as that has been marked. */
  def onTime: Int = used - late.cardinality

  /** Gives the quads of an element, each as an array and where it begins in there; it is not to be kept. */
  def each(element: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    var q = begin(element)
    while (q < end(element)) { feed(quads.data, q * 4); q += 1 }
    if (records != null) {
      val cells = new Array[Long](4)
      for (r <- recordBegin(element) until recordEnd(element); quad <- 0 until layout.size)
        if (layout.write(quad, records.data, r * layout.width, cells)) feed(cells, 0)
    }
  }

  /** Begins an element; the quads and records that are added from now on are its own. */
  def beginElement(time: Long): Unit = {
    if (used == times.length) {
      times = Arrays.copyOf(times, used * 2)
      begins = Arrays.copyOf(begins, used * 2)
      if (records != null) recordBegins = Arrays.copyOf(recordBegins, used * 2)
    }
    times(used) = time
    begins(used) = quads.rowCount
    if (records != null) recordBegins(used) = records.rowCount
    used += 1
  }

  /** Adds a quad of ids that are held for it. */
  def add(subject: Long, predicate: Long, obj: Long, graph: Long): Unit = {
    val at = quads.appendRow()
    val cells = quads.data
    cells(at) = subject
    cells(at + 1) = predicate
    cells(at + 2) = obj
    cells(at + 3) = graph
  }

  /** Takes the element begun last back, and what it holds. */
  def dropElement(): Unit = {
    release(used - 1)
    used -= 1
    late.clear(used)
    quads.truncate(begins(used))
    if (records != null) records.truncate(recordBegins(used))
  }

  /** Gives back what an element holds. */
  def release(element: Int): Unit = {
    releaseRows(quads, begin(element), end(element))
    if (records != null) releaseRows(records, recordBegin(element), recordEnd(element))
  }

  private def releaseRows(rows: LongTable, from: Int, until: Int): Unit =
    if (until > from) dictionary.release(Arrays.copyOfRange(rows.data, from * rows.arity, until * rows.arity), (until - from) * rows.arity)

  /** The elements but for those that come too late and the first of the others in order of time, which let go of what they hold; this
   *  block is not used any more.
   */
  def without(first: Int): ElementBlock = {
    val made = new ElementBlock(dictionary, layout)
    val sorted = order
    var passed = 0
    var i = 0
    while (i < used) {
      val element = if (sorted == null) i else sorted(i)
      if (isLate(element)) release(element)
      else if (passed < first) { release(element); passed += 1 }
      else {
        made.beginElement(time(element))
        made.quads.appendAll(quads.data, begin(element), end(element) - begin(element))
        if (records != null) made.records.appendAll(records.data, recordBegin(element), recordEnd(element) - recordBegin(element))
      }
      i += 1
    }
    made
  }

  /** The elements in order of time, those of one time as they came; null where they are so already. */
  def order: Array[Int] = {
    var i = 1
    while (i < used && times(i - 1) <= times(i)) i += 1
    if (i >= used) null
    else {
      val sorted = Array.range(0, used).map(Integer.valueOf)
      Arrays.sort(sorted, (a: Integer, b: Integer) => java.lang.Long.compare(times(a), times(b))) // stable
      sorted.map(_.intValue)
    }
  }

  /** The graph that names an element in its quads, held once more for each. */
  def hold(id: Long): Long = {
    if (id != 0 && !TermId.isInline(id)) dictionary.retain(Array(id), 1)
    id
  }
}

/** What was set aside: all counted, the first ones with their reasons. */
private[cqels] final class Flaws {
  import Flaws._

  private val kept = scala.collection.mutable.ArrayBuffer[Flaw]()
  private var all = 0

  def count: Int = all
  def first: Iterable[Flaw] = kept

  /** `column`: of the text, from 1; 0 where there is none. */
  def add(time: Long, column: Int, reason: String): Unit = {
    if (all < Most) kept += Flaw(time, column, reason)
    all += 1
  }

  /** What has no time yet: `row` says which of the rows was set aside, -1 that it cannot be told. */
  def addRow(row: Int, reason: String): Unit = add(NoTime, row, reason)

  /** As `addRow`, of so many, of which the first ones have reasons. */
  def addRows(count: Int, first: Iterable[String]): Unit = {
    first.foreach(addRow(-1, _))
    all += count - first.size
  }

  def addAll(others: Flaws): Unit = {
    others.kept.foreach(f => if (kept.length < Most) kept += f)
    all += others.all
  }
}

private[cqels] object Flaws {
  final val Most = 100
  /** In place of the time of a row; its column is the row then. */
  final val NoTime = Long.MinValue
}

private[cqels] final case class Flaw(time: Long, column: Int, reason: String)
