package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.LongSlots

/** Which mappings of events use an occurrence of a triple in a stream. */
private[events] final class OccurrenceUses {
  private var occurrences = new Array[Long](64)
  private var mappings = new Array[Int](64)
  private var next = new Array[Int](64)
  private var heads = OccurrenceUses.none(64)
  private var used = 0
  private var held = 0
  private var free = -1

  def memoryBytes: Long = 16L * occurrences.length + 4L * heads.length

  def add(occurrence: Long, mapping: Int): Unit = {
    val entry =
      if (free >= 0) { val e = free; free = next(e); e }
      else {
        if (used == occurrences.length) {
          occurrences = java.util.Arrays.copyOf(occurrences, used * 2)
          mappings = java.util.Arrays.copyOf(mappings, used * 2)
          next = java.util.Arrays.copyOf(next, used * 2)
        }
        used += 1
        used - 1
      }
    occurrences(entry) = occurrence
    mappings(entry) = mapping
    held += 1
    if (held > heads.length) rehash()
    link(entry)
  }

  def remove(occurrence: Long, mapping: Int): Unit = {
    val s = slot(occurrence)
    var before = -1
    var entry = heads(s)
    while (entry >= 0 && (occurrences(entry) != occurrence || mappings(entry) != mapping)) { before = entry; entry = next(entry) }
    if (entry >= 0) {
      if (before < 0) heads(s) = next(entry) else next(before) = next(entry)
      next(entry) = free
      mappings(entry) = -1
      free = entry
      held -= 1
    }
  }

  /** A mapping that uses an occurrence, or -1. */
  def any(occurrence: Long): Int = {
    var entry = heads(slot(occurrence))
    while (entry >= 0 && occurrences(entry) != occurrence) entry = next(entry)
    if (entry < 0) -1 else mappings(entry)
  }

  def clear(): Unit = {
    occurrences = new Array[Long](64)
    mappings = new Array[Int](64)
    next = new Array[Int](64)
    heads = OccurrenceUses.none(64)
    used = 0
    held = 0
    free = -1
  }

  private def slot(occurrence: Long): Int = LongSlots.spread(occurrence) & (heads.length - 1)
  private def link(entry: Int): Unit = {
    val s = slot(occurrences(entry))
    next(entry) = heads(s)
    heads(s) = entry
  }

  // The entry that is just added is not linked yet: `add` does it.
  private def rehash(): Unit = {
    val old = heads
    heads = OccurrenceUses.none(old.length * 2)
    var s = 0
    while (s < old.length) {
      var entry = old(s)
      while (entry >= 0) { val following = next(entry); link(entry); entry = following }
      s += 1
    }
  }
}

private object OccurrenceUses {
  def none(capacity: Int): Array[Int] = {
    val h = new Array[Int](capacity)
    java.util.Arrays.fill(h, -1)
    h
  }
}

/** Occurrences that are consumed, each as long as a window may show its element. */
private[events] final class ConsumedOccurrences {
  private var times = new LongSlots // of their elements, by occurrence
  private var numbers = new Array[Long](64)
  private var count = 0
  private var sweptAt = 64

  def size: Int = count
  def memoryBytes: Long = times.memoryBytes + 8L * numbers.length
  def holds(occurrence: Long): Boolean = times.get(occurrence) != LongSlots.Absent

  def add(occurrence: Long, time: Long): Unit = if (!holds(occurrence)) {
    if (count == numbers.length) numbers = java.util.Arrays.copyOf(numbers, count * 2)
    numbers(count) = occurrence
    count += 1
    times.put(occurrence, time << 1) // -1 would say that it is not there
  }

  /** All of them with their times, "occurrence time occurrence time ...". */
  def written: String = numbers.iterator.take(count).map(n => s"$n ${times.get(n) >> 1}").mkString(" ")

  /** Adds what `written` gave. */
  def addAll(written: String): Unit =
    written.split(' ').filter(_.nonEmpty).map(_.toLong).grouped(2).foreach { case Array(occurrence, time) => add(occurrence, time) }

  /** Those added when there were `from` already. */
  def eachFrom(from: Int)(occurrence: Long => Unit): Unit = {
    var i = from
    while (i < count) { occurrence(numbers(i)); i += 1 }
  }

  /** Forgets those of elements of times up to this one, when they may be half of all; how many. */
  def forget(upTo: Long): Int = if (count < sweptAt) 0 else {
    val before = count
    val kept = numbers.take(count).filter(times.get(_) >> 1 > upTo)
    if (kept.length < count) keep(kept)
    sweptAt = math.max(64, 2 * count)
    before - count
  }

  /** Forgets those added when there were `from` already. */
  def takeBack(from: Int): Unit = if (from < count) keep(numbers.take(from))

  private def keep(kept: Array[Long]): Unit = {
    val before = times
    times = new LongSlots
    kept.foreach(occurrence => times.put(occurrence, before.get(occurrence)))
    numbers = java.util.Arrays.copyOf(kept, math.max(64, kept.length))
    count = kept.length
  }
}
