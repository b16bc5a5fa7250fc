package org.apache.spark.sql.cqels
package loading

/** Growable columns of pairs, which can be sorted by both of them. */
private[cqels] final class PairBuffer {
  private var filled = 0
  private var first = new Array[Long](16)
  private var second = new Array[Long](16)

  def size: Int = filled
  def left(i: Int): Long = first(i)
  def right(i: Int): Long = second(i)

  def add(a: Long, b: Long): Unit = {
    if (filled == first.length) {
      first = java.util.Arrays.copyOf(first, filled * 2)
      second = java.util.Arrays.copyOf(second, filled * 2)
    }
    first(filled) = a
    second(filled) = b
    filled += 1
  }

  /** Puts a pair in the place of another one. */
  def move(from: Int, to: Int): Unit = { first(to) = first(from); second(to) = second(from) }

  /** Sorts by the first column, then by the second, both as signed numbers. */
  def sort(): Unit = new PairSort(first, second, filled).sort()
}

/** Sorts the first `size` pairs of two columns in place, by `lefts` first, both as signed numbers.
 *
 *  Ids are mostly hashes, which their upper bits tell apart: a range is dealt out to so many buckets, by the bits below
 *  those in which all its keys agree, that these are small, and small ones are sorted by insertion.
 */
private final class PairSort(lefts: Array[Long], rights: Array[Long], size: Int) {
  import PairSort._

  private val (leftsTo, rightsTo) = if (size > Small) (new Array[Long](size), new Array[Long](size)) else (null, null)

  def sort(): Unit = sortRange(0, size)

  private def sortRange(from: Int, until: Int): Unit =
    if (until - from <= Small) insert(from, until)
    else if (!deal(lefts, rights, leftsTo, rightsTo, from, until, sortRange)) sortEqual(from, until)

  /** Sorts pairs of one key by their other column. */
  private def sortEqual(from: Int, until: Int): Unit =
    if (until - from <= Small) insert(from, until)
    else deal(rights, lefts, rightsTo, leftsTo, from, until, sortEqual)

  private def insert(from: Int, until: Int): Unit = {
    var i = from + 1
    while (i < until) {
      val l = lefts(i)
      val r = rights(i)
      var to = i
      while (to > from && (lefts(to - 1) > l || lefts(to - 1) == l && rights(to - 1) > r)) {
        lefts(to) = lefts(to - 1)
        rights(to) = rights(to - 1)
        to -= 1
      }
      lefts(to) = l
      rights(to) = r
      i += 1
    }
  }

  /** Deals a range out by its keys and has `next` sort each bucket; false, with nothing done, where all keys are one. */
  private def deal(keys: Array[Long], others: Array[Long], keysTo: Array[Long], othersTo: Array[Long],
      from: Int, until: Int, next: (Int, Int) => Unit): Boolean = {
    var least, most = keys(from)
    var inOrder = true
    var i = from + 1
    while (i < until) {
      val key = keys(i)
      if (key < keys(i - 1)) inOrder = false
      if (key < least) least = key else if (key > most) most = key
      i += 1
    }
    if (least == most) return false
    if (inOrder) eachRun(keys, from, until, next)
    else {
      val wanted = math.max(1, math.min(MostBits, 31 - Integer.numberOfLeadingZeros((until - from) / Bucket)))
      // Signed numbers from the least one on, whatever their signs are: the difference is an unsigned number.
      val shift = math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(most - least) - wanted)
      val ends = new Array[Int]((((most - least) >>> shift) + 2).toInt)
      i = from
      while (i < until) { ends((((keys(i) - least) >>> shift) + 1).toInt) += 1; i += 1 }
      ends(0) = from
      var bucket = 1
      while (bucket < ends.length) { ends(bucket) += ends(bucket - 1); bucket += 1 }
      i = from
      while (i < until) {
        val to = ((keys(i) - least) >>> shift).toInt
        val at = ends(to)
        ends(to) = at + 1
        keysTo(at) = keys(i)
        othersTo(at) = others(i)
        i += 1
      }
      System.arraycopy(keysTo, from, keys, from, until - from)
      System.arraycopy(othersTo, from, others, from, until - from)
      var start = from
      bucket = 0
      while (bucket < ends.length - 1) {
        if (ends(bucket) - start > 1) next(start, ends(bucket))
        start = ends(bucket)
        bucket += 1
      }
    }
    true
  }

  /** Sorts within the runs of equal keys of a range whose keys are in order. */
  private def eachRun(keys: Array[Long], from: Int, until: Int, next: (Int, Int) => Unit): Unit = {
    var start = from
    while (start < until) {
      var end = start + 1
      while (end < until && keys(end) == keys(start)) end += 1
      if (end - start > 1) next(start, end)
      start = end
    }
  }
}

private object PairSort {
  final val Small = 24
  final val Bucket = 8
  final val MostBits = 11
}
