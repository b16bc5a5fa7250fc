package org.apache.spark.sql.cqels
package streams

import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.LongSlots

/** How often each object of the patterns of a star is there for one subject. */
private[streams] final class StarSubject(patterns: Int) {
  private val found = Array.fill(patterns)(new ObjectCounts)

  def objects(pattern: Int): ObjectCounts = found(pattern)
  def count(pattern: Int, id: Long): Int = found(pattern).count(id)
  def add(pattern: Int, id: Long): Unit = found(pattern).add(id)
  /** Whether it was there once. */
  def remove(pattern: Int, id: Long): Boolean = found(pattern).remove(id)
  def isEmpty: Boolean = found.forall(_.size == 0)

  /** How many combinations of the objects of all other patterns there are, as often as these are there in a bag. */
  def combinations(but: Int, bag: Boolean): Long = {
    var all = 1L
    var p = 0
    while (p < patterns) {
      if (p != but) {
        val here = if (bag) found(p).total else found(p).size.toLong
        all = if (here > 0 && all > Long.MaxValue / 4 / here) Long.MaxValue / 4 else all * here
      }
      p += 1
    }
    all
  }
}

/** Objects, each with how often it is there; most often they are few. */
private[streams] final class ObjectCounts {
  private var ids = new Array[Long](2)
  private var counts = new Array[Int](2)
  private var used = 0
  private var sum = 0L
  private var places: mutable.LongMap[Int] = _ // null: they are looked for one by one

  def size: Int = used
  def total: Long = sum
  def id(place: Int): Long = ids(place)
  def count(place: Int): Int = counts(place)
  def count(id: Long): Int = { val at = find(id); if (at < 0) 0 else counts(at) }

  def add(id: Long): Unit = {
    sum += 1
    val at = find(id)
    if (at >= 0) counts(at) += 1
    else {
      if (used == ids.length) {
        ids = Arrays.copyOf(ids, used * 2)
        counts = Arrays.copyOf(counts, used * 2)
      }
      ids(used) = id
      counts(used) = 1
      used += 1
      if (places != null) places.update(id, used - 1)
      else if (used > ObjectCounts.Few) {
        places = mutable.LongMap[Int]()
        var n = 0
        while (n < used) { places.update(ids(n), n); n += 1 }
      }
    }
  }

  /** Whether it was there once. */
  def remove(id: Long): Boolean = {
    val at = find(id)
    if (at < 0) throw new IllegalStateException("an object leaves a window that does not hold it")
    sum -= 1
    counts(at) -= 1
    val isLast = counts(at) == 0
    if (isLast) {
      used -= 1
      ids(at) = ids(used)
      counts(at) = counts(used)
      if (places != null) {
        places.remove(id)
        if (at < used) places.update(ids(at), at)
      }
    }
    isLast
  }

  private def find(id: Long): Int =
    if (places != null) places.getOrElse(id, -1)
    else {
      var n = used - 1
      while (n >= 0 && ids(n) != id) n -= 1
      n
    }
}

private[streams] object ObjectCounts {
  /** So many are looked for one by one. */
  final val Few = 16
}

/** The objects of records that lack some, each record by a number that it has while it is there. */
private[streams] final class PartialRecords(width: Int) {
  private var cells = new Array[Long](width)
  private var used = 0
  private var free = -1 // free numbers are chained through the first cells
  private var held = 0

  def size: Int = held
  def apply(record: Int, place: Int): Long = cells(record * width + place)

  def add(objects: Array[Long]): Int = {
    var at = free
    if (at >= 0) free = cells(at * width).toInt
    else {
      if ((used + 1) * width > cells.length) cells = Arrays.copyOf(cells, cells.length * 2)
      at = used
      used += 1
    }
    System.arraycopy(objects, 0, cells, at * width, width)
    held += 1
    at
  }

  def remove(record: Int): Unit = {
    cells(record * width) = free.toLong
    free = record
    held -= 1
    if (held == 0) clear()
  }

  def clear(): Unit = {
    cells = new Array[Long](width)
    used = 0
    free = -1
    held = 0
  }
}

/** A number for each of some subjects, which come and go. */
private[streams] final class SubjectPlaces {
  import SubjectPlaces._

  private var keys = new Array[Long](LeastCapacity) // 0: none, which is no term
  private var places = new Array[Int](LeastCapacity)
  private var held = 0

  def size: Int = held

  /** The number of a subject, or `Absent`. */
  def get(subject: Long): Int = { val at = slotOf(subject); if (keys(at) == 0) Absent else places(at) }

  def put(subject: Long, place: Int): Unit = {
    var at = slotOf(subject)
    if (keys(at) == 0) {
      if (held + 1 > keys.length / 3 * 2) { resize(keys.length * 2); at = slotOf(subject) }
      keys(at) = subject
      held += 1
    }
    places(at) = place
  }

  def remove(subject: Long): Unit = {
    var gap = slotOf(subject)
    if (keys(gap) != 0) {
      held -= 1
      // What a search would no longer come by moves up.
      var at = (gap + 1) & (keys.length - 1)
      while (keys(at) != 0) {
        val home = LongSlots.spread(keys(at)) & (keys.length - 1)
        if (((at - home) & (keys.length - 1)) >= ((at - gap) & (keys.length - 1))) {
          keys(gap) = keys(at)
          places(gap) = places(at)
          gap = at
        }
        at = (at + 1) & (keys.length - 1)
      }
      keys(gap) = 0
      if (keys.length > LeastCapacity && held < keys.length / 8) resize(keys.length / 2)
    }
  }

  def clear(): Unit = {
    keys = new Array[Long](LeastCapacity)
    places = new Array[Int](LeastCapacity)
    held = 0
  }

  private def slotOf(subject: Long): Int = {
    var at = LongSlots.spread(subject) & (keys.length - 1)
    while (keys(at) != 0 && keys(at) != subject) at = (at + 1) & (keys.length - 1)
    at
  }

  private def resize(capacity: Int): Unit = {
    val (oldKeys, oldPlaces) = (keys, places)
    keys = new Array[Long](capacity)
    places = new Array[Int](capacity)
    var n = 0
    while (n < oldKeys.length) {
      if (oldKeys(n) != 0) { val at = slotOf(oldKeys(n)); keys(at) = oldKeys(n); places(at) = oldPlaces(n) }
      n += 1
    }
  }
}

private[streams] object SubjectPlaces {
  final val Absent = -1
  private final val LeastCapacity = 64
}
