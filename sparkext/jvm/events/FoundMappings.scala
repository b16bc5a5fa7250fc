package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.LongTable

/** Event mappings that an evaluation has found: all variables of the match, t1 and t2 a row, and what justifies it.
 *
 *  A mapping that is derived in several ways may be there as often.
 */
private[events] final class FoundMappings(variables: Int) {
  private val width = variables + 2
  private var cells = new Array[Long](2 * width)
  private var reasons = new Array[Int](2)
  private var count = 0

  def size: Int = count
  def isEmpty: Boolean = count == 0
  def data: Array[Long] = cells
  @inline def at(row: Int): Int = row * width
  @inline def start(row: Int): Long = cells(row * width + variables)
  @inline def end(row: Int): Long = cells(row * width + variables + 1)
  @inline def value(row: Int, variable: Int): Long = cells(row * width + variable)
  @inline def why(row: Int): Int = reasons(row)

  /** Makes one row more, of zeros, and tells where its cells are. */
  def add(why: Int): Int = {
    if (count == reasons.length) {
      cells = java.util.Arrays.copyOf(cells, cells.length * 2)
      reasons = java.util.Arrays.copyOf(reasons, count * 2)
    }
    reasons(count) = why
    count += 1
    (count - 1) * width
  }

  def addRow(from: FoundMappings, row: Int): Int = {
    val to = add(from.why(row))
    System.arraycopy(from.cells, from.at(row), cells, to, width)
    to
  }

  def removeLast(): Unit = {
    count -= 1
    java.util.Arrays.fill(cells, count * width, (count + 1) * width, 0L)
  }

  /** The rows as one exact array (a copy). */
  def toArray: Array[Long] = java.util.Arrays.copyOf(cells, count * width)

  /** `fixed` with what a row binds, in `to`. */
  def merge(row: Int, fixed: Array[Long], to: Array[Long]): Unit = {
    var v = 0
    while (v < variables) {
      val value = cells(row * width + v)
      to(v) = if (value != 0) value else fixed(v)
      v += 1
    }
  }

  /** The mappings that no other one is before (with `latest`: after). */
  def chosen(latest: Boolean): FoundMappings = {
    var bound = if (latest) Long.MinValue else Long.MaxValue
    var r = 0
    while (r < count) { bound = if (latest) math.max(bound, start(r)) else math.min(bound, end(r)); r += 1 }
    val kept = new FoundMappings(variables)
    r = 0
    while (r < count) { if (if (latest) end(r) >= bound else start(r) <= bound) kept.addRow(this, r); r += 1 }
    kept
  }

  /** The number of each row's group, from 0 on in order of appearance: rows of equal values in some columns. */
  def groups(columns: Array[Int]): Array[Int] = {
    val numbers = new Array[Int](count)
    val slots = new Array[Int](Integer.highestOneBit(math.max(1, count)) * 4) // one more than the first row of a group
    var known = 0
    var r = 0
    while (r < count) {
      var h = 0L
      var c = 0
      while (c < columns.length) { h = LongTable.mix(h, cells(at(r) + columns(c))); c += 1 }
      var s = (h >>> 32).toInt & (slots.length - 1)
      while (slots(s) != 0 && !same(slots(s) - 1, r, columns)) s = (s + 1) & (slots.length - 1)
      if (slots(s) == 0) { slots(s) = r + 1; numbers(r) = known; known += 1 }
      else numbers(r) = numbers(slots(s) - 1)
      r += 1
    }
    numbers
  }

  private def same(a: Int, b: Int, columns: Array[Int]): Boolean = {
    var c = 0
    while (c < columns.length) { if (cells(at(a) + columns(c)) != cells(at(b) + columns(c))) return false; c += 1 }
    true
  }
}

/** What justifies event mappings: numbers of mappings of single events, put together two by two. */
private[events] final class Justifications(keeps: Boolean) {
  private var pairs = new Array[Int](if (keeps) 256 else 0)
  private var count = 0

  /** One mapping of an event, by a number of 0 or more. */
  def of(mapping: Int): Int = both(mapping, Justifications.Single)

  def both(a: Int, b: Int): Int =
    if (!keeps) 0
    else {
      if (2 * count + 2 > pairs.length) pairs = java.util.Arrays.copyOf(pairs, pairs.length * 2)
      pairs(2 * count) = a
      pairs(2 * count + 1) = b
      count += 1
      count - 1
    }

  def clear(): Unit = {
    count = 0
    if (pairs.length > (1 << 16)) pairs = new Array[Int](256)
  }

  /** Shows the mappings of events behind a justification, some perhaps several times. */
  def each(why: Int)(mapping: Int => Unit): Unit = {
    var open = new Array[Int](16)
    open(0) = why
    var n = 1
    while (n > 0) {
      n -= 1
      val at = open(n)
      val second = pairs(2 * at + 1)
      if (second == Justifications.Single) mapping(pairs(2 * at))
      else {
        if (n + 2 > open.length) open = java.util.Arrays.copyOf(open, open.length * 2)
        open(n) = pairs(2 * at)
        open(n + 1) = second
        n += 2
      }
    }
  }
}

private[events] object Justifications {
  private final val Single = -1
}
