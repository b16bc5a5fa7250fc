package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.StageContent

/** The elements that entered one window last, each by itself: what patterns find in them, with the element and the triple
 *  that each row comes from. (A basic event pattern is matched on one element at a time: RSEP-QL, equation 4.)
 *
 *  A row has two more columns than its pattern: the element, counted in this batch, and the triple, which all windows of
 *  the stream know by the same number ([[ArrivedElements.triple]]).
 */
final class ArrivedElements(stream: StreamLog, window: StreamWindow) {
  private final class Pattern(val spec: QuadPattern, name: String) {
    val matcher = new QuadMatcher(spec, stream.dictionary)
    val content = new StageContent(name, spec.columns.length + 2)
    var rows: LongTable = _
  }

  private val patterns = mutable.ArrayBuffer[Pattern]()
  private var times = new Array[Long](16)
  private var used = 0
  private val known = new java.util.HashMap[Seq[Long], Integer]() // of one element with many triples: the first row of each
  private var knownUntil = -1
  private var last = Long.MinValue
  private var lateSeen = 0L

  /** The rows of one more pattern, from the next `fill` on. */
  def pattern(spec: String, name: String): StageContent = {
    val made = new Pattern(QuadPattern.parse(spec), name)
    patterns += made
    made.content
  }

  def time(element: Int): Long = times(element)
  /** See [[StreamWindow.position]]; as long as the window stands where it was filled from. */
  def position(element: Int): Long = window.position(times(element), used - 1 - element)
  /** The positions up to which elements are no longer in the window. */
  def leftBehind: Long = stream.leftBehind(window)
  /** The time up to which elements are no longer in the window. */
  def open: Long = window.open

  /** Whether an element came too late to be among those of the next `fill`, since this was last asked. */
  def missed(): Boolean = {
    val before = lateSeen
    lateSeen = window.lateArrivals
    lateSeen != before
  }

  /** Has the next `fill` begin with the first element that the window shows. */
  def restart(): Unit = last = Long.MinValue

  /** Fills the patterns with what they find in the elements that came since the last time; how many elements these are. */
  def fill(): Int = {
    used = 0
    patterns.foreach(p => p.rows = new LongTable(p.spec.columns.length + 2))
    stream.eachElementAfter(window, last)(take)
    last = window.close
    patterns.foreach { p => p.content.replace(p.rows); p.rows = null }
    used
  }

  private def take(time: Long, number: Long, pane: LongTable, from: Int, until: Int): Unit = {
    if (used == times.length) times = java.util.Arrays.copyOf(times, used * 2)
    times(used) = time
    var i = 0
    while (i < patterns.length) {
      val p = patterns(i)
      val width = p.spec.columns.length
      var row = from
      while (row < until) {
        if (p.matcher.matches(pane.data, row * 4)) {
          val at = p.rows.appendRow()
          var c = 0
          while (c < width) { p.rows.set(at + c, p.matcher.row(c)); c += 1 }
          p.rows.set(at + width, ArrivedElements.cell(used))
          p.rows.set(at + width + 1, ArrivedElements.triple(number, first(pane, from, row) - from))
        }
        row += 1
      }
      i += 1
    }
    used += 1
    knownUntil = -1
    known.clear()
  }

  /** The first row of an element with the same triple: an element is a graph, whatever was written twice. */
  private def first(pane: LongTable, from: Int, row: Int): Int =
    if (row - from > ArrivedElements.FewTriples) {
      knownUntil = math.max(knownUntil, from)
      while (knownUntil <= row) { known.putIfAbsent(triple(pane.data, knownUntil), knownUntil); knownUntil += 1 }
      known.get(triple(pane.data, row))
    } else {
      val data = pane.data
      var r = from
      while (r < row && !(data(r * 4) == data(row * 4) && data(r * 4 + 1) == data(row * 4 + 1) && data(r * 4 + 2) == data(row * 4 + 2))) r += 1
      r
    }

  private def triple(data: Array[Long], row: Int): Seq[Long] = Seq(data(row * 4), data(row * 4 + 1), data(row * 4 + 2))
}

object ArrivedElements {
  private final val TripleBits = 20
  private[streams] final val FewTriples = 32

  /** A number in a column of ids, where 0 stands for an unbound variable. */
  @inline def cell(number: Long): Long = 2 * number + 1
  @inline def number(cell: Long): Long = cell >> 1

  /** What a stream's triple is known by: the element's number in the stream, and its own in the element. */
  def triple(element: Long, row: Int): Long = {
    if (row >= (1 << TripleBits)) throw new IllegalStateException(s"an element of more than ${1 << TripleBits} triples cannot be matched by events")
    cell((element << TripleBits) | row)
  }
}
