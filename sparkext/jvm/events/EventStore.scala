package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.{IntLists, KeyHash, PagedRows, TimeOrder}

/** The mappings of one event that its window shows, for look-ups by some of their values and by time.
 *
 *  The same mapping of several elements is there as often. An index by certain variables is made when they are first
 *  asked for together, and kept up from then on.
 */
private[events] final class EventStore(shape: MappingShape, val event: SingleEvent, keepsOccurrences: Boolean) {
  private val variables = event.variables
  private val timeAt = 1 + variables.length
  private val isCertain = variables.map(event.certain.contains(_))
  private val rows = new PagedRows(timeAt + 2)
  private var used = new Array[Array[Long]](if (keepsOccurrences) 64 else 0)
  private var indexes = Array.empty[EventIndex]
  // Made when the window first lets something go.
  private var leaving: PositionHeap = _

  def size: Int = rows.size
  def memoryBytes: Long = rows.memoryBytes + indexes.map(_.memoryBytes).sum + (if (leaving == null) 0L else leaving.memoryBytes) +
    (if (keepsOccurrences) used.iterator.filter(_ != null).map(24L + 8L * _.length).sum else 0L)

  @inline def time(row: Int): Long = rows(row, timeAt)
  def position(row: Int): Long = rows(row, timeAt + 1)
  @inline def isHeld(row: Int): Boolean = row < rows.capacityUsed && rows.isHeld(row)
  def occurrences(row: Int): Array[Long] = used(row)
  /** The value of a variable, which is one of the event. */
  def value(row: Int, variable: Int): Long = rows(row, 1 + java.util.Arrays.binarySearch(variables, variable))

  def add(mapping: Array[Long], occurrences: Array[Long]): Int = {
    val row = rows.take()
    rows(row, 0) = 0L
    var c = 0
    while (c < variables.length) { rows(row, 1 + c) = mapping(variables(c)); c += 1 }
    rows(row, timeAt) = mapping(shape.start)
    rows(row, timeAt + 1) = mapping(shape.positions + event.number)
    if (keepsOccurrences) {
      if (row >= used.length) used = java.util.Arrays.copyOf(used, math.max(row + 1, used.length * 2))
      used(row) = occurrences
    }
    if (leaving != null) leaving.add(rows(row, timeAt + 1), row)
    c = 0
    while (c < indexes.length) { indexes(c).add(row); c += 1 }
    row
  }

  def remove(row: Int): Unit = {
    var i = 0
    while (i < indexes.length) { indexes(i).remove(row); i += 1 }
    if (keepsOccurrences) used(row) = null
    rows.giveBack(row)
  }

  /** The next row whose position is `opens` or less, which is to be removed; -1: none. */
  def nextToLeave(opens: Long): Int = {
    if (leaving == null || leaving.size > 2 * rows.size + 1024) follow()
    var row = -1
    while (row < 0 && leaving.least <= opens) {
      val at = leaving.leastRow
      leaving.removeLeast()
      if (isHeld(at) && rows(at, timeAt + 1) <= opens) row = at
    }
    row
  }

  private def follow(): Unit = {
    leaving = new PositionHeap
    var row = 0
    while (row < rows.capacityUsed) { if (rows.isHeld(row)) leaving.add(rows(row, timeAt + 1), row); row += 1 }
  }

  def clear(): Unit = {
    rows.clear()
    indexes = Array.empty
    leaving = null
    if (keepsOccurrences) used = new Array[Array[Long]](64)
  }

  /** The mappings compatible with `fixed` and of times from `low` to `high`, in order of time. */
  def range(low: Long, high: Long, fixed: Array[Long]): EventRange = {
    var mask = 0L
    var c = 0
    var open = false // whether something is still to be checked
    while (c < variables.length) {
      if (fixed(variables(c)) != 0) { if (isCertain(c) && c < 63) mask |= 1L << c else open = true }
      c += 1
    }
    val index = indexOn(mask)
    val list = index.find(fixed)
    if (list < 0) new EventRange(this, index, -1, 0, 0, null)
    else new EventRange(this, index, list, index.firstFrom(list, low), if (high == Long.MaxValue) index.size(list) else index.firstFrom(list, high + 1), if (open) fixed else null)
  }

  private def indexOn(mask: Long): EventIndex = {
    var i = 0
    while (i < indexes.length) { if (indexes(i).mask == mask) return indexes(i); i += 1 }
    val cells = variables.indices.filter(c => c < 63 && (mask & (1L << c)) != 0).toArray
    val made = new EventIndex(rows, mask, cells.map(_ + 1), cells.map(variables(_)), timeAt)
    // In order of time, so that each goes to the end of its list.
    val held = Array.range(0, rows.capacityUsed).filter(rows.isHeld)
    TimeOrder.of(held.length, i => time(held(i))).foreach(i => made.add(held(i)))
    indexes :+= made
    made
  }

  /** Whether a row is compatible with `fixed`. */
  def fits(row: Int, fixed: Array[Long]): Boolean = {
    var c = 0
    while (c < variables.length) {
      val value = rows(row, 1 + c)
      val wanted = fixed(variables(c))
      if (value != 0 && wanted != 0 && value != wanted) return false
      c += 1
    }
    true
  }

  /** Writes a row's values and time as an event mapping. */
  def write(row: Int, to: Array[Long], at: Int): Unit = {
    var c = 0
    while (c < variables.length) { to(at + variables(c)) = rows(row, 1 + c); c += 1 }
    to(at + shape.start) = time(row)
    to(at + shape.end) = time(row)
  }
}

/** Some mappings of an event in order of time: those from `from` before `until` in a list that fit `fixed` (null: all). */
private[events] final class EventRange(store: EventStore, index: EventIndex, list: Int, val from: Int, val until: Int, fixed: Array[Long]) {
  def isEmpty: Boolean = next(from) >= until
  @inline def row(i: Int): Int = index.row(list, i)
  @inline def time(i: Int): Long = store.time(index.row(list, i))

  /** The first place from `i` on, or the last up to it, that has a mapping; `until`, or one before `from`, if none. */
  def next(i: Int): Int = { var at = i; while (at < until && !fits(at)) at += 1; at }
  def previous(i: Int): Int = { var at = i; while (at >= from && !fits(at)) at -= 1; at }
  @inline private def fits(i: Int): Boolean = fixed == null || store.fits(row(i), fixed)
}

/** Lists of rows of equal values, each in order of time. */
private[events] final class EventIndex(rows: PagedRows, val mask: Long, cells: Array[Int], variables: Array[Int], timeAt: Int) {
  private val lists = new IntLists
  private var heads = emptyHeads(16)
  private var next = new Array[Int](16) // by list
  private var count = 0

  def memoryBytes: Long = lists.memoryBytes + 4L * (heads.length + next.length)
  @inline def size(list: Int): Int = lists.size(list)
  @inline def row(list: Int, i: Int): Int = lists(list, i)

  /** The list of the values that variables have in a mapping, or -1. */
  def find(mapping: Array[Long]): Int = {
    var h = 0L
    var c = 0
    while (c < variables.length) { h = KeyHash.mix(h, mapping(variables(c))); c += 1 }
    var list = heads(slot(h))
    while (list >= 0 && !hasValues(list, mapping)) list = next(list)
    list
  }

  /** The first place in a list whose time is so late. */
  def firstFrom(list: Int, time: Long): Int = {
    var from = 0
    var until = lists.size(list)
    while (from < until) {
      val middle = (from + until) >>> 1
      if (rows(lists(list, middle), timeAt) < time) from = middle + 1 else until = middle
    }
    from
  }

  def add(row: Int): Unit = {
    val h = hashOf(row)
    var list = heads(slot(h))
    while (list >= 0 && !sameValues(lists(list, 0), row)) list = next(list)
    if (list < 0) {
      if (count >= heads.length) rehash()
      list = lists.make()
      if (list >= next.length) next = java.util.Arrays.copyOf(next, list * 2)
      val s = slot(h)
      next(list) = heads(s)
      heads(s) = list
      count += 1
    }
    val time = rows(row, timeAt)
    val n = lists.size(list)
    val place = if (n == 0 || rows(lists(list, n - 1), timeAt) <= time) n else firstFrom(list, time + 1)
    lists.insert(list, place, row)
  }

  def remove(row: Int): Unit = {
    val s = slot(hashOf(row))
    var before = -1
    var list = heads(s)
    while (!sameValues(lists(list, 0), row)) { before = list; list = next(list) }
    if (lists.size(list) == 1) {
      if (before < 0) heads(s) = next(list) else next(before) = next(list)
      lists.drop(list)
      count -= 1
    } else {
      var i = firstFrom(list, rows(row, timeAt))
      while (lists(list, i) != row) i += 1
      lists.remove(list, i)
    }
  }

  private def hashOf(row: Int): Long = {
    var h = 0L
    var c = 0
    while (c < cells.length) { h = KeyHash.mix(h, rows(row, cells(c))); c += 1 }
    h
  }

  private def hasValues(list: Int, mapping: Array[Long]): Boolean = {
    val row = lists(list, 0)
    var c = 0
    while (c < cells.length) { if (rows(row, cells(c)) != mapping(variables(c))) return false; c += 1 }
    true
  }

  private def sameValues(row: Int, other: Int): Boolean = {
    var c = 0
    while (c < cells.length) { if (rows(row, cells(c)) != rows(other, cells(c))) return false; c += 1 }
    true
  }

  private def slot(hash: Long): Int = (hash >>> 32).toInt & (heads.length - 1)

  private def rehash(): Unit = {
    val old = heads
    heads = emptyHeads(old.length * 2)
    var s = 0
    while (s < old.length) {
      var list = old(s)
      while (list >= 0) {
        val following = next(list)
        val to = slot(hashOf(lists(list, 0)))
        next(list) = heads(to)
        heads(to) = list
        list = following
      }
      s += 1
    }
  }

  private def emptyHeads(capacity: Int): Array[Int] = {
    val h = new Array[Int](capacity)
    java.util.Arrays.fill(h, -1)
    h
  }
}
