package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.cqels.memory.KeyHash

/** The ids of one list as a set, with how often each counts where that is not once. Immutable: any thread may read it.
 *
 *  Before the hash table stands a bit for each of some sixteen hashes an id (a Bloom filter with one hash function): most of what is
 *  asked for is not there, and the bits of a list of thousands lie in the processor's first cache, where its hash table does not.
 */
final class IdSet private (bits: Array[Long], cells: Array[Long], counts: Array[Int], bitShift: Int, shift: Int) {
  /** How often an id counts; 0 where it is not in the list. */
  def times(id: Long): Int = {
    val hash = KeyHash.spread(id)
    if ((bits((hash >>> bitShift >>> 6).toInt) & 1L << (hash >>> bitShift)) == 0L) 0 else probe(id, hash)
  }

  private def probe(id: Long, hash: Long): Int = {
    val mask = cells.length - 1
    var at = (hash >>> shift).toInt
    while (true) {
      val x = cells(at)
      if (x == 0L) return 0 // also where nothing is looked for: what is unbound is in no set
      if (x == id) return if (counts == null) 1 else counts(at)
      at = (at + 1) & mask
    }
    0
  }

  /** Puts those of `n` ids from place `from` on that are in the set into `found`, which may be the same array from 0 on; how many they are. */
  def select(ids: Array[Long], from: Int, n: Int, found: Array[Long]): Int = {
    val (words, right) = (bits, bitShift)
    val until = from + n
    var kept = 0
    var i = from
    while (i < until) {
      val id = ids(i)
      val hash = KeyHash.spread(id)
      val bit = hash >>> right
      if ((words((bit >>> 6).toInt) & 1L << bit) != 0L && probe(id, hash) > 0) { found(kept) = id; kept += 1 }
      i += 1
    }
    kept
  }

  def memoryBytes: Long = 8L * (bits.length + cells.length) + (if (counts == null) 0L else 4L * counts.length)
}

object IdSet {
  private final val BitsAnId = 16

  /** The set of `length` ids from place `from` on, none of them 0; `counts` of the same places may be null. */
  def of(ids: Array[Long], counts: Array[Int], from: Int, length: Int): IdSet = {
    val capacity = Integer.highestOneBit(math.max(2, length + length / 2)) * 2
    val shift = 64 - Integer.numberOfTrailingZeros(capacity)
    val cells = new Array[Long](capacity)
    val bitShift = 64 - math.min(31, 64 - java.lang.Long.numberOfLeadingZeros(length.toLong * BitsAnId - 1))
    val bits = new Array[Long](math.max(1, (1L << (64 - bitShift) >>> 6).toInt))
    val times = if (counts == null) null else new Array[Int](capacity)
    var i = from
    while (i < from + length) {
      val hash = KeyHash.spread(ids(i))
      val bit = hash >>> bitShift
      bits((bit >>> 6).toInt) |= 1L << bit
      var at = (hash >>> shift).toInt
      while (cells(at) != 0L) at = (at + 1) & (capacity - 1)
      cells(at) = ids(i)
      if (times != null) times(at) = counts(i)
      i += 1
    }
    new IdSet(bits, cells, times, bitShift, shift)
  }
}
