package org.apache.spark.sql.cqels
package memory

/** Many lists of ints in one array, each of a power of two of places; what one leaves is given to others. */
private[cqels] final class IntLists {
  private var pool = new Array[Int](256)
  private var used = 0
  private val freePlaces = Array.fill(31)(-1) // by size; chained through their first cell
  private var base = new Array[Int](16)
  private var bits = new Array[Byte](16)
  private var from = new Array[Int](16)
  private var until = new Array[Int](16) // of a free list the next one
  private var lists = 0
  private var freeList = -1

  def memoryBytes: Long = 4L * pool.length + 13L * base.length
  @inline def size(list: Int): Int = until(list) - from(list)
  @inline def apply(list: Int, i: Int): Int = pool(base(list) + from(list) + i)

  /** A new list, which is empty. */
  def make(): Int = {
    val list =
      if (freeList >= 0) { val l = freeList; freeList = until(l); l }
      else {
        if (lists == base.length) {
          base = java.util.Arrays.copyOf(base, lists * 2)
          bits = java.util.Arrays.copyOf(bits, lists * 2)
          from = java.util.Arrays.copyOf(from, lists * 2)
          until = java.util.Arrays.copyOf(until, lists * 2)
        }
        lists += 1
        lists - 1
      }
    base(list) = place(0)
    bits(list) = 0
    from(list) = 0
    until(list) = 0
    list
  }

  def drop(list: Int): Unit = {
    leave(base(list), bits(list))
    until(list) = freeList
    freeList = list
  }

  def insert(list: Int, i: Int, value: Int): Unit = {
    if (until(list) == 1 << bits(list)) makeRoom(list)
    val at = base(list) + from(list) + i
    System.arraycopy(pool, at, pool, at + 1, until(list) - from(list) - i)
    pool(at) = value
    until(list) += 1
  }

  // The end that is nearer moves: what leaves is mostly the first.
  def remove(list: Int, i: Int): Unit = {
    val first = base(list) + from(list)
    if (i < size(list) / 2) {
      System.arraycopy(pool, first, pool, first + 1, i)
      from(list) += 1
    } else {
      System.arraycopy(pool, first + i + 1, pool, first + i, size(list) - i - 1)
      until(list) -= 1
    }
  }

  private def makeRoom(list: Int): Unit = {
    val n = size(list)
    val first = base(list) + from(list)
    if (from(list) > 0 && from(list) >= (1 << bits(list)) / 2) System.arraycopy(pool, first, pool, base(list), n)
    else {
      val larger = place(bits(list) + 1)
      System.arraycopy(pool, base(list) + from(list), pool, larger, n)
      leave(base(list), bits(list))
      base(list) = larger
      bits(list) = (bits(list) + 1).toByte
    }
    from(list) = 0
    until(list) = n
  }

  private def place(size: Int): Int = {
    val free = freePlaces(size)
    if (free >= 0) { freePlaces(size) = pool(free); free }
    else {
      val needed = used.toLong + (1L << size)
      if (needed > Int.MaxValue - 8) throw new IllegalStateException("too many numbers in lists")
      if (needed > pool.length) pool = java.util.Arrays.copyOf(pool, math.min(Int.MaxValue - 8L, math.max(needed, 2L * pool.length)).toInt)
      used = needed.toInt
      used - (1 << size)
    }
  }

  private def leave(at: Int, size: Int): Unit = {
    pool(at) = freePlaces(size)
    freePlaces(size) = at
  }
}
