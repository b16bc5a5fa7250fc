package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.LongTable

/** The values of some variables by which a match falls apart, numbered; each with the matches found for it, and whether
 *  something has changed for it. The values of an empty key are one.
 */
private[events] final class MatchKeys(variables: Array[Int]) {
  private val width = variables.length
  private var cells = new Array[Long](16 * math.max(1, width))
  private var next = new Array[Int](16) // of a free one the next free one
  private var mappings = new Array[Int](16) // of events, by key
  private var found = new Array[Array[Long]](16)
  private var touched = new Array[Boolean](16)
  private var heads = Array.fill(16)(-1)
  private var used = 0
  private var held = 0
  private var free = -1
  private var open = new Array[Int](16)
  private var opened = 0

  def memoryBytes: Long = 8L * cells.length + 17L * next.length + 4L * (heads.length + open.length) + found.iterator.filter(_ != null).map(16L + 8L * _.length).sum

  /** The key of which a mapping binds the values, made if it is new. */
  def of(value: Int => Long): Int = {
    val h = hashOf(value)
    var key = heads(slot(h))
    while (key >= 0 && !same(key, value)) key = next(key)
    if (key < 0) {
      if (held >= heads.length) rehash()
      key = take()
      var c = 0
      while (c < width) { cells(key * width + c) = value(variables(c)); c += 1 }
      val s = slot(h)
      next(key) = heads(s)
      heads(s) = key
    }
    key
  }

  /** Notes that the mappings of events that a key has are so many more, and that they are others. */
  def change(key: Int, more: Int): Unit = {
    mappings(key) += more
    touch(key)
  }

  def touch(key: Int): Unit = if (!touched(key)) {
    touched(key) = true
    if (opened == open.length) open = java.util.Arrays.copyOf(open, opened * 2)
    open(opened) = key
    opened += 1
  }

  def touchedCount: Int = opened
  def touchedKey(i: Int): Int = open(i)
  def hasMappings(key: Int): Boolean = mappings(key) > 0
  def matches(key: Int): Array[Long] = found(key)
  def setMatches(key: Int, rows: Array[Long]): Unit = found(key) = rows

  /** Writes the values of a key into an event mapping. */
  def write(key: Int, to: Array[Long]): Unit = {
    var c = 0
    while (c < width) { to(variables(c)) = cells(key * width + c); c += 1 }
  }

  /** From now on nothing is touched; keys without mappings of events are forgotten. */
  def settle(): Unit = {
    var i = 0
    while (i < opened) {
      touched(open(i)) = false
      if (mappings(open(i)) == 0) drop(open(i))
      i += 1
    }
    opened = 0
    if (open.length > 4096) open = new Array[Int](16)
  }

  def clear(): Unit = {
    cells = new Array[Long](16 * math.max(1, width))
    next = new Array[Int](16)
    mappings = new Array[Int](16)
    found = new Array[Array[Long]](16)
    touched = new Array[Boolean](16)
    heads = Array.fill(16)(-1)
    used = 0
    held = 0
    free = -1
    opened = 0
  }

  private def take(): Int = {
    held += 1
    if (free >= 0) { val key = free; free = next(key); key }
    else {
      if (used == next.length) {
        cells = java.util.Arrays.copyOf(cells, math.max(1, width) * used * 2)
        next = java.util.Arrays.copyOf(next, used * 2)
        mappings = java.util.Arrays.copyOf(mappings, used * 2)
        found = java.util.Arrays.copyOf(found, used * 2)
        touched = java.util.Arrays.copyOf(touched, used * 2)
      }
      used += 1
      used - 1
    }
  }

  private def drop(key: Int): Unit = {
    val s = slot(hashOfKey(key))
    if (heads(s) == key) heads(s) = next(key)
    else {
      var before = heads(s)
      while (next(before) != key) before = next(before)
      next(before) = next(key)
    }
    found(key) = null
    next(key) = free
    free = key
    held -= 1
  }

  private def hashOf(value: Int => Long): Long = {
    var h = 0L
    var c = 0
    while (c < width) { h = LongTable.mix(h, value(variables(c))); c += 1 }
    h
  }

  private def hashOfKey(key: Int): Long = {
    var h = 0L
    var c = 0
    while (c < width) { h = LongTable.mix(h, cells(key * width + c)); c += 1 }
    h
  }

  private def same(key: Int, value: Int => Long): Boolean = {
    var c = 0
    while (c < width) { if (cells(key * width + c) != value(variables(c))) return false; c += 1 }
    true
  }

  private def slot(hash: Long): Int = (hash >>> 32).toInt & (heads.length - 1)

  private def rehash(): Unit = {
    val old = heads
    heads = Array.fill(old.length * 2)(-1)
    old.foreach { first =>
      var key = first
      while (key >= 0) {
        val following = next(key)
        val s = slot(hashOfKey(key))
        next(key) = heads(s)
        heads(s) = key
        key = following
      }
    }
  }
}

private[events] object MatchKeys {
  /** The variables by whose values a match falls apart into ones that know nothing of each other; none: it is one. */
  def of(pattern: EventPattern, selection: Int): Array[Int] = {
    val key = common(pattern)
    if (key.nonEmpty && fallsApart(pattern, selection, fixed = false)) key else Array.emptyIntArray
  }

  private def common(pattern: EventPattern): Array[Int] = pattern match {
    case event: SingleEvent => event.certain
    case Repetition(input, keys) => Variables.common(keys, common(input))
    case other => other.parts.map(common).reduce(Variables.common)
  }

  // Whether choosing among all mappings and choosing among those of one key is the same; `fixed`: it is among one key's anyway.
  private def fallsApart(pattern: EventPattern, selection: Int, fixed: Boolean): Boolean = pattern match {
    case First(input) => fixed && fallsApart(input, selection, fixed)
    case Last(input) => fixed && fallsApart(input, selection, fixed)
    case Sequence(left, right, absent) =>
      absent.forall(fallsApart(_, selection, fixed = true)) && (
        if (selection == Selection.Naive) fixed && fallsApart(left, selection, fixed) && fallsApart(right, selection, fixed)
        else if (selection == Selection.Unrestricted && right.isRun) fallsApart(left, selection, fixed) && fallsApart(right, selection, fixed = true)
        else fallsApart(left, selection, fixed = true) && fallsApart(right, selection, fixed))
    case other => other.parts.forall(fallsApart(_, selection, fixed))
  }
}
