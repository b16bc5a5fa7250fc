package org.apache.spark.sql.cqels
package join

/** The ids of one list as a set, with how often each counts where that is not once. Immutable: any thread may read it. */
final class IdSet private (cells: Array[Long], counts: Array[Int], shift: Int) {
  /** How often an id counts; 0 where it is not in the list. */
  def times(id: Long): Int = {
    val mask = cells.length - 1
    var at = (id * IdSet.Spread >>> shift).toInt
    while (true) {
      val x = cells(at)
      if (x == id) return if (counts == null) 1 else counts(at)
      if (x == 0L) return 0
      at = (at + 1) & mask
    }
    0
  }

  def memoryBytes: Long = 8L * cells.length + (if (counts == null) 0L else 4L * counts.length)
}

object IdSet {
  // The golden ratio: the upper bits of a product spread ids whose lower or upper bits differ little (Knuth, volume 3, 6.4).
  private final val Spread = 0x9E3779B97F4A7C15L

  /** The set of `length` ids from place `from` on, none of them 0; `counts` of the same places may be null. */
  def of(ids: Array[Long], counts: Array[Int], from: Int, length: Int): IdSet = {
    val capacity = Integer.highestOneBit(math.max(2, length + length / 2)) * 2
    val shift = 64 - Integer.numberOfTrailingZeros(capacity)
    val cells = new Array[Long](capacity)
    val times = if (counts == null) null else new Array[Int](capacity)
    var i = from
    while (i < from + length) {
      var at = (ids(i) * Spread >>> shift).toInt
      while (cells(at) != 0L) at = (at + 1) & (capacity - 1)
      cells(at) = ids(i)
      if (times != null) times(at) = counts(i)
      i += 1
    }
    new IdSet(cells, times, shift)
  }
}
