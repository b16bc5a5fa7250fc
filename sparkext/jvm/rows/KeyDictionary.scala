package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.cqels.memory.LongSlots
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Ids for keys that are no numbers: equal bytes have one id, as long as somebody uses it.
 *
 *  Each row that has a key uses its id once; a key that nobody uses any more goes, and its id may be given to another one.
 *  Memory: about 20 bytes a key beside its own.
 */
final class KeyDictionary {
  private var heads = KeyDictionary.empty(64)
  private var next = new Array[Int](64) // keys of one slot, and those that are free, are chained
  private var keys = new Array[Array[Byte]](64)
  private var hashes = new Array[Int](64)
  private var uses = new Array[Int](64)
  private var used = 0
  private var free = -1
  private var held = 0

  def size: Int = synchronized(held)

  /** The id of the bytes at `offset` of `base`, which has one use more from now on; never 0. */
  def take(base: AnyRef, offset: Long, length: Int): Long = synchronized {
    val hash = Murmur3_x86_32.hashUnsafeBytes(base, offset, length, 42)
    var at = heads(slot(hash))
    while (at >= 0 && !(hashes(at) == hash && same(keys(at), base, offset, length))) at = next(at)
    if (at < 0) at = add(hash, base, offset, length)
    uses(at) += 1
    at + 1L
  }

  /** Ends one use of an id. */
  def release(id: Long): Unit = synchronized {
    val at = (id - 1).toInt
    uses(at) -= 1
    if (uses(at) == 0) {
      val s = slot(hashes(at))
      if (heads(s) == at) heads(s) = next(at)
      else {
        var before = heads(s)
        while (next(before) != at) before = next(before)
        next(before) = next(at)
      }
      keys(at) = null
      next(at) = free
      free = at
      held -= 1
    }
  }

  private def slot(hash: Int): Int = LongSlots.spread(hash) & (heads.length - 1)

  private def same(key: Array[Byte], base: AnyRef, offset: Long, length: Int): Boolean =
    key.length == length && ByteArrayMethods.arrayEquals(key, Platform.BYTE_ARRAY_OFFSET, base, offset, length)

  private def add(hash: Int, base: AnyRef, offset: Long, length: Int): Int = {
    if (held >= heads.length) rehash()
    val at = if (free >= 0) { val f = free; free = next(f); f } else {
      if (used == keys.length) {
        if (used > (1 << 29)) throw new IllegalStateException(s"more than $used keys at a time")
        keys = java.util.Arrays.copyOf(keys, used * 2)
        next = java.util.Arrays.copyOf(next, used * 2)
        hashes = java.util.Arrays.copyOf(hashes, used * 2)
        uses = java.util.Arrays.copyOf(uses, used * 2)
      }
      used += 1
      used - 1
    }
    val key = new Array[Byte](length)
    Platform.copyMemory(base, offset, key, Platform.BYTE_ARRAY_OFFSET, length)
    keys(at) = key
    hashes(at) = hash
    val s = slot(hash)
    next(at) = heads(s)
    heads(s) = at
    held += 1
    at
  }

  private def rehash(): Unit = {
    heads = KeyDictionary.empty(heads.length * 2)
    var at = 0
    while (at < used) {
      if (keys(at) != null) {
        val s = slot(hashes(at))
        next(at) = heads(s)
        heads(s) = at
      }
      at += 1
    }
  }
}

object KeyDictionary {
  /** The one of this process: whatever is joined finds equal keys under one id. */
  val shared = new KeyDictionary

  private def empty(slots: Int): Array[Int] = { val heads = new Array[Int](slots); java.util.Arrays.fill(heads, -1); heads }
}
