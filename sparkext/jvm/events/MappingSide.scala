package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.{KeyHash, PagedRows}

/** How far the windows of events have moved, and before what time nothing arrives any more. */
private[events] final class MatchClock(events: Int) {
  val opens: Array[Long] = Array.fill(events)(Long.MinValue)
  var watermark: Long = Long.MinValue
  var goesBack = false // to earlier evaluations, which need to know what was consumed then
}

/** Where things are in an event mapping that is handed on: the variables, t1, t2, then for each event of the match the
 *  least position that it uses (`Long.MaxValue`: none).
 */
private[events] final class MappingShape(val variables: Int, val events: Int) {
  val start: Int = variables
  val end: Int = variables + 1
  val positions: Int = variables + 2
  val width: Int = variables + 2 + events

  def empty(): Array[Long] = {
    val row = new Array[Long](width)
    java.util.Arrays.fill(row, positions, width, Long.MaxValue)
    row
  }
}

/** The event mappings of one side of a join, by the values of `key`, those of equal keys in order of time.
 *
 *  A list holds the rows of one hash, so that its walk checks keys. What is dead, as an event has left its window or as
 *  nothing can follow it in time any more, is taken away when a walk meets it and by `tidy`, a few rows at a time.
 *
 *  @param byStart whether the order is that of t1, not of t2
 *  @param within how far t1 may lie before what still arrives (`Long.MaxValue`: for ever)
 *  @param comes whether a mapping only matters as long as something before its t1 may still arrive
 */
private[events] final class MappingSide(shape: MappingShape, clock: MatchClock, pattern: EventPattern, key: Array[Int],
    byStart: Boolean, within: Long, comes: Boolean) {
  private val variables = pattern.variables
  private val slots = pattern.events
  private val point = pattern.isPoint
  val startAt: Int = 1 + variables.length
  val endAt: Int = if (point) startAt else startAt + 1
  val orderAt: Int = if (byStart) startAt else endAt
  private val positionsAt = endAt + 1
  private val keyAt = key.map(cellOf)
  private var rows = new PagedRows(positionsAt + slots.length)
  private var tails = Array(-1)
  private var cursor = 0

  def size: Int = rows.size
  def memoryBytes: Long = rows.memoryBytes + 4L * tails.length

  /** Where a row has the value of a variable, and the position of an event. */
  def cellOf(variable: Int): Int = 1 + java.util.Arrays.binarySearch(variables, variable)
  def positionOf(event: Int): Int = positionsAt + java.util.Arrays.binarySearch(slots, event)

  @inline def page(row: Int): Array[Long] = rows.page(row)
  @inline def offset(row: Int): Int = rows.offset(row)
  /** The row before one in its list. */
  @inline def before(cells: Array[Long], at: Int): Int = (cells(at) >> 32).toInt

  /** The last row of the list that a mapping belongs to. */
  def last(mapping: Array[Long]): Int = tails(slot(hashOf(mapping)))

  @inline def sameKey(cells: Array[Long], at: Int, mapping: Array[Long]): Boolean = {
    var k = 0
    while (k < key.length) { if (cells(at + keyAt(k)) != mapping(key(k))) return false; k += 1 }
    true
  }

  /** The least t1 of mappings that can still match. */
  private def leastStart: Long =
    if (clock.watermark == Long.MinValue) Long.MinValue
    else if (comes) clock.watermark + 1
    else if (within == Long.MaxValue) Long.MinValue
    else clock.watermark - within

  @inline def isDead(cells: Array[Long], at: Int): Boolean = cells(at + startAt) < leastStart || hasLeft(cells, at)

  private def hasLeft(cells: Array[Long], at: Int): Boolean = {
    var s = 0
    while (s < slots.length) { if (cells(at + positionsAt + s) <= clock.opens(slots(s))) return true; s += 1 }
    false
  }

  def insert(mapping: Array[Long]): Unit = {
    tidy(2)
    if (mapping(shape.start) < leastStart) return
    if (rows.size >= tails.length && key.length > 0) rehash(tails.length * 2, copy = false)
    val row = rows.take()
    val cells = rows.page(row)
    val at = rows.offset(row)
    var c = 0
    while (c < variables.length) { cells(at + 1 + c) = mapping(variables(c)); c += 1 }
    cells(at + startAt) = mapping(shape.start)
    cells(at + endAt) = mapping(shape.end)
    c = 0
    while (c < slots.length) { cells(at + positionsAt + c) = mapping(shape.positions + slots(c)); c += 1 }
    link(row, slot(hashOf(mapping)))
  }

  /** Looks at so many rows more, round and round, and takes the dead ones away; how many these are. */
  def tidy(count: Int): Int = {
    val before = rows.size
    var n = math.min(count, rows.capacityUsed)
    while (n > 0 && rows.capacityUsed > 0) {
      if (cursor >= rows.capacityUsed) cursor = 0
      if (rows.isHeld(cursor) && isDead(rows.page(cursor), rows.offset(cursor))) remove(cursor)
      cursor += 1
      n -= 1
    }
    if (rows.capacityUsed > 4096 && rows.size < rows.capacityUsed / 4) rehash(math.max(1, Integer.highestOneBit(math.max(1, rows.size)) * 2), copy = true)
    before - rows.size
  }

  def remove(row: Int): Unit = {
    val cells = rows.page(row)
    val at = rows.offset(row)
    val before = (cells(at) >> 32).toInt
    val after = cells(at).toInt
    if (after >= 0) setBefore(after, before)
    else {
      var h = 0L
      var k = 0
      while (k < key.length) { h = KeyHash.mix(h, cells(at + keyAt(k))); k += 1 }
      tails(slot(h)) = before
    }
    if (before >= 0) setAfter(before, after)
    rows.giveBack(row)
  }

  def clear(): Unit = {
    rows.clear()
    tails = Array(-1)
    cursor = 0
  }

  private def link(row: Int, slot: Int): Unit = {
    val order = rows(row, orderAt)
    var after = -1
    var before = tails(slot)
    // What arrives late goes to its place; most is the latest.
    while (before >= 0 && rows(before, orderAt) > order) { after = before; before = (rows(before, 0) >> 32).toInt }
    rows(row, 0) = (before.toLong << 32) | (after & 0xFFFFFFFFL)
    if (before >= 0) setAfter(before, row)
    if (after >= 0) setBefore(after, row) else tails(slot) = row
  }

  @inline private def setBefore(row: Int, before: Int): Unit = rows(row, 0) = (before.toLong << 32) | (rows(row, 0) & 0xFFFFFFFFL)
  @inline private def setAfter(row: Int, after: Int): Unit = rows(row, 0) = (rows(row, 0) & 0xFFFFFFFF00000000L) | (after & 0xFFFFFFFFL)

  private def hashOf(mapping: Array[Long]): Long = {
    var h = 0L
    var k = 0
    while (k < key.length) { h = KeyHash.mix(h, mapping(key(k))); k += 1 }
    h
  }

  private def slot(hash: Long): Int = (hash >>> 32).toInt & (tails.length - 1)

  // With `copy` the rows move together, after a peak. Lists keep their order, as each is split or joined from its first row on.
  private def rehash(capacity: Int, copy: Boolean): Unit = {
    val lists = tails
    val old = rows
    if (copy) { rows = new PagedRows(old.width); cursor = 0 }
    tails = new Array[Int](if (key.length == 0) 1 else capacity)
    java.util.Arrays.fill(tails, -1)
    var l = 0
    while (l < lists.length) {
      var row = lists(l)
      while (row >= 0 && (old(row, 0) >> 32).toInt >= 0) row = (old(row, 0) >> 32).toInt
      while (row >= 0) {
        val cells = old.page(row)
        val at = old.offset(row)
        val after = cells(at).toInt
        var h = 0L
        var k = 0
        while (k < key.length) { h = KeyHash.mix(h, cells(at + keyAt(k))); k += 1 }
        val place = if (copy) rows.take() else row
        if (copy) System.arraycopy(cells, at, rows.page(place), rows.offset(place), rows.width)
        link(place, slot(h))
        row = after
      }
      l += 1
    }
  }
}
