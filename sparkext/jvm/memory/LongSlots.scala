package org.apache.spark.sql.cqels
package memory

/** Numbers by long keys, each key beside its number: a look-up reads one line of memory, wherever the table is large.
 *
 *  Memory: 24 to 48 bytes a key.
 */
final class LongSlots {
  private var cells = LongSlots.empty(16) // key, number; of an empty slot Absent
  private var mask = 15
  private var held = 0

  def size: Int = held
  def memoryBytes: Long = 8L * cells.length

  /** The number of a key, or `LongSlots.Absent`. */
  def get(key: Long): Long = cells(2 * slotOf(key) + 1)

  /** Gives a key its number, any but `LongSlots.Absent`. */
  def put(key: Long, number: Long): Unit = {
    if (held + 1 > (mask + 1L) * 2 / 3) grow()
    val at = slotOf(key)
    if (cells(2 * at + 1) == LongSlots.Absent) held += 1
    cells(2 * at) = key
    cells(2 * at + 1) = number
  }

  /** Where the key is, or would be. */
  private def slotOf(key: Long): Int = {
    var at = LongSlots.spread(key) & mask
    while (cells(2 * at + 1) != LongSlots.Absent && cells(2 * at) != key) at = (at + 1) & mask
    at
  }

  /** Gives each key another number. */
  def renumber(number: Long => Long): Unit = {
    var at = 1
    while (at < cells.length) {
      if (cells(at) != LongSlots.Absent) cells(at) = number(cells(at))
      at += 2
    }
  }

  private def grow(): Unit = {
    if (cells.length > (1 << 29)) throw new IllegalArgumentException(s"$held keys are too many for one in-memory index")
    val before = cells
    cells = LongSlots.empty((mask + 1) * 2)
    mask = cells.length / 2 - 1
    held = 0
    var at = 0
    while (at < before.length) {
      if (before(at + 1) != LongSlots.Absent) put(before(at), before(at + 1))
      at += 2
    }
  }
}

object LongSlots {
  final val Absent = -1L

  private def empty(slots: Int): Array[Long] = {
    val cells = new Array[Long](slots * 2)
    java.util.Arrays.fill(cells, Absent)
    cells
  }

  /** Spreads keys over the slots of a table, whose mask is still to be put on. */
  @inline def spread(key: Long): Int = (KeyHash.mix(0L, key) >>> 32).toInt
}
