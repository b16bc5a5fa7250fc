package org.apache.spark.sql.cqels
package dictionary

import java.util.Arrays

import org.apache.spark.sql.cqels.memory.KeyHash

/** The terms known only from streams, with reference counts; guarded by the [[Dictionary]]'s lock.
  *
  * Open addressing with linear probing. Removal moves later entries of the run back, so there are
  * no tombstones, and the table shrinks: the room taken depends on what is held now, not on what
  * ever was.
  */
private[cqels] final class StreamTerms {

  import StreamTerms._

  private var ids = new Array[Long](LeastCapacity)
  private var counts = new Array[Int](LeastCapacity)
  private var bodies = new Array[AnyRef](LeastCapacity)
  private var used = 0
  private var bodyBytes = 0L

  /** Ids that may never have been retained, each at least once; those that were are dropped when
    * it is full.
    */
  private var fresh = new Array[Long](LeastCapacity)
  private var freshCount = 0

  def size: Int = used

  def memoryBytes: Long = ids.length * 16L + fresh.length * 8L + bodyBytes

  /** The slot of an id, -1 when it is not held; valid until the next insertion or removal. */
  def find(id: Long): Int = {
    val mask = ids.length - 1
    var slot = home(id, mask)
    while (ids(slot) != id && ids(slot) != 0) slot = (slot + 1) & mask
    if (ids(slot) != 0) slot else -1
  }

  /** The id in a slot, 0 when it is free. */
  def idAt(slot: Int): Long = ids(slot)

  def capacity: Int = ids.length

  /** The UTF-8 text of a term, or the ids of the three parts of a quoted triple. */
  def body(slot: Int): AnyRef = bodies(slot)

  def count(slot: Int): Int = counts(slot)

  def setCount(slot: Int, count: Int): Unit = counts(slot) = count

  /** Adds an id that is not held, with count 0. */
  def insert(id: Long, body: AnyRef): Unit = {
    if (used >= ids.length / 8 * FullAt) resize(ids.length * 2)
    val mask = ids.length - 1
    var slot = home(id, mask)
    while (ids(slot) != 0) slot = (slot + 1) & mask
    ids(slot) = id
    counts(slot) = 0
    bodies(slot) = body
    used += 1
    bodyBytes += heapBytes(body)
    noteFresh(id)
  }

  def remove(slot: Int): Unit = {
    bodyBytes -= heapBytes(bodies(slot))
    val mask = ids.length - 1
    var hole = slot
    var next = (slot + 1) & mask
    while (ids(next) != 0) {
      // An entry may fill the hole if the hole lies between its home and its place.
      if (((next - home(ids(next), mask)) & mask) >= ((next - hole) & mask)) {
        ids(hole) = ids(next)
        counts(hole) = counts(next)
        bodies(hole) = bodies(next)
        hole = next
      }
      next = (next + 1) & mask
    }
    ids(hole) = 0
    bodies(hole) = null
    used -= 1
    if (ids.length > LeastCapacity && used < ids.length / 8) resize(ids.length / 2)
  }

  /** Takes the ids that are held with count 0 out of the list of fresh ones. */
  def takeUnreferenced(): Array[Long] = {
    dropSettled()
    val result = Arrays.copyOf(fresh, freshCount)
    freshCount = 0
    if (fresh.length > LeastCapacity) fresh = new Array[Long](LeastCapacity)
    result
  }

  private def noteFresh(id: Long): Unit = {
    if (freshCount == fresh.length) {
      dropSettled()
      if (freshCount > fresh.length / 2) fresh = Arrays.copyOf(fresh, fresh.length * 2)
    }
    fresh(freshCount) = id
    freshCount += 1
  }

  private def dropSettled(): Unit = {
    var kept = 0
    for (i <- 0 until freshCount) {
      val slot = find(fresh(i))
      if (slot >= 0 && counts(slot) == 0) {
        fresh(kept) = fresh(i)
        kept += 1
      }
    }
    freshCount = kept
  }

  private def resize(capacity: Int): Unit = {
    val (oldIds, oldCounts, oldBodies) = (ids, counts, bodies)
    ids = new Array[Long](capacity)
    counts = new Array[Int](capacity)
    bodies = new Array[AnyRef](capacity)
    val mask = capacity - 1
    for (old <- oldIds.indices if oldIds(old) != 0) {
      var slot = home(oldIds(old), mask)
      while (ids(slot) != 0) slot = (slot + 1) & mask
      ids(slot) = oldIds(old)
      counts(slot) = oldCounts(old)
      bodies(slot) = oldBodies(old)
    }
  }
}

private[cqels] object StreamTerms {

  private final val LeastCapacity = 256

  /** Eighths of the slots in use at which there are made to be twice as many. */
  private final val FullAt = 5

  private def home(id: Long, mask: Int): Int = KeyHash.slot(KeyHash.spread(id), mask)

  /** Bytes of heap that a body takes: array header of 16, contents, rounded up to 8. */
  private def heapBytes(body: AnyRef): Long = body match {
    case utf8: Array[Byte] => (16L + utf8.length + 7) & ~7L
    case _ => 40L
  }
}
