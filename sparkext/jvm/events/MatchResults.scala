package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.{LongTable, PagedRows}
import org.apache.spark.sql.cqels.relations.{TimeCells, WindowTable}
import org.apache.spark.sql.cqels.streams.Stay

/** The table of matches: solutions restricted to the visible variables, as sets or with `bag` one for each event mapping. */
private[events] final class MatchTable(shape: MappingShape, visible: Array[Int], bag: Boolean) {
  val table = new WindowTable(visible.length, bag)
  private val solution = new Array[Long](visible.length)
  // An event mapping may be derived in several ways and is one nevertheless.
  private val mappings = if (bag) new WindowTable(shape.positions) else null
  private val mapping = if (bag) new Array[Long](shape.positions) else null

  /** The cells of a mapping that `add` and `remove` read, by their places in it. */
  val cells: Array[Int] = if (bag) Array.range(0, shape.positions) else visible

  /** Where terms live that the pattern itself makes, as long as a match has them; null: it makes none. */
  var terms: Dictionary = _

  /** What was found since `forgetNews`, with the instant until which it holds as a last column; null: nobody asks. */
  var news: LongTable = _

  /** Takes in a mapping that holds until an instant, as far as is known. */
  def add(row: Array[Long], until: Long): Unit = if (isFirst(row)) {
    if (terms != null) terms.retain(solution, solution.length)
    table.insert(solution, until)
    if (news != null) {
      val at = news.appendRow()
      var c = 0
      while (c < solution.length) { news.set(at + c, solution(c)); c += 1 }
      news.set(at + solution.length, TimeCells.write(until))
    }
  }
  def forgetNews(): Unit = if (news != null) news = new LongTable(visible.length + 1)

  /** Matches, as often as they are derived. */
  def size: Long = if (bag) mappings.occurrenceCount else table.occurrenceCount

  def remove(row: Array[Long]): Unit = if (isLast(row)) {
    table.delete(solution)
    if (terms != null) terms.release(solution, solution.length)
  }

  private def isFirst(row: Array[Long]): Boolean = { read(row); !bag || { val before = mappings.rowCount; mappings.insert(mapping); mappings.rowCount > before } }
  private def isLast(row: Array[Long]): Boolean = { read(row); !bag || { val before = mappings.rowCount; mappings.delete(mapping); mappings.rowCount < before } }

  private def read(row: Array[Long]): Unit = {
    var c = 0
    while (c < visible.length) { solution(c) = row(visible(c)); c += 1 }
    if (bag) System.arraycopy(row, 0, mapping, 0, shape.positions)
  }

  def clear(): Unit = {
    if (terms != null) releaseAll()
    table.clear()
    if (bag) mappings.clear()
  }

  private def releaseAll(): Unit = {
    var row = 0
    while (row < table.capacityUsed) {
      if (table.isPresent(row)) {
        var c = 0
        while (c < solution.length) { solution(c) = table.cell(row, c); c += 1 }
        var n = 0
        while (n < table.occurrencesOf(row)) { terms.release(solution, solution.length); n += 1 }
      }
      row += 1
    }
  }

  def memoryBytes: Long = table.memoryBytes + (if (bag) mappings.memoryBytes else 0L)
}

/** Matches as they are found, each until one of its events has left its window. */
private[events] final class MatchResults(shape: MappingShape, clock: MatchClock, found: MatchTable, events: Array[Int]) extends MappingTarget {
  private val kept = found.cells
  private val positionsAt = 1 + kept.length
  private val rows = new PagedRows(positionsAt + events.length)
  // Made when a window first lets something go: many never do.
  private val leaving = new Array[PositionHeap](events.length)
  private val row = shape.empty()

  /** How long windows show an element, by event; null: unknown. */
  var stays: Array[Stay] = _

  def size: Int = rows.size
  def memoryBytes: Long = found.memoryBytes + rows.memoryBytes + leaving.iterator.filter(_ != null).map(_.memoryBytes).sum

  override def accept(mapping: Array[Long]): Unit = {
    found.add(mapping, until(mapping))
    val at = rows.take()
    rows(at, 0) = 0L
    var c = 0
    while (c < kept.length) { rows(at, 1 + c) = mapping(kept(c)); c += 1 }
    c = 0
    while (c < events.length) {
      val position = mapping(shape.positions + events(c))
      rows(at, positionsAt + c) = position
      if (leaving(c) != null && position != Long.MaxValue) leaving(c).add(position, at)
      c += 1
    }
  }

  /** The first instant at which one of a mapping's events is in its window no more, where it is known how long they stay. */
  private def until(mapping: Array[Long]): Long =
    if (stays == null) Long.MinValue
    else {
      var first = MatchResults.ForEver
      var c = 0
      while (c < events.length) {
        val position = mapping(shape.positions + events(c))
        if (position != Long.MaxValue) first = math.min(first, stays(events(c)).until(position))
        c += 1
      }
      first
    }

  /** Takes the matches away whose events have left their windows; `least` are the least positions that events ever had. */
  def expire(least: Array[Long]): Unit = {
    var e = 0
    while (e < events.length) {
      val opens = clock.opens(events(e))
      if (opens >= least(events(e))) {
        if (leaving(e) == null) follow(e)
        val heap = leaving(e)
        while (heap.least <= opens) {
          val at = heap.leastRow
          heap.removeLeast()
          // The row may have left by another event, and its number be used again.
          if (at < rows.capacityUsed && rows.isHeld(at) && rows(at, positionsAt + e) <= opens) drop(at)
        }
        if (heap.size > 2 * rows.size + 1024) follow(e)
      }
      e += 1
    }
  }

  private def drop(at: Int): Unit = {
    var c = 0
    while (c < kept.length) { row(kept(c)) = rows(at, 1 + c); c += 1 }
    found.remove(row)
    rows.giveBack(at)
  }

  private def follow(event: Int): Unit = {
    val heap = new PositionHeap
    var at = 0
    while (at < rows.capacityUsed) {
      if (rows.isHeld(at) && rows(at, positionsAt + event) != Long.MaxValue) heap.add(rows(at, positionsAt + event), at)
      at += 1
    }
    leaving(event) = heap
  }

  def clear(): Unit = {
    found.clear()
    rows.clear()
    java.util.Arrays.fill(leaving.asInstanceOf[Array[AnyRef]], null)
  }
}

private object MatchResults {
  final val ForEver = 1L << 60
}
