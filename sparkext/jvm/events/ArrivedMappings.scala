package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.TimeOrder

/** Mappings of events that have arrived since the last evaluation, in order of time once they are sorted. */
private[events] final class ArrivedMappings {
  private var cells = new Array[Long](1024) // event, time, position, its values
  private var used = 0
  private var starts = new Array[Int](64)
  private var occurrences: Array[Array[Long]] = null // made when someone has any to keep
  private var count = 0
  private var newest = Long.MinValue

  def size: Int = count
  /** The latest time of a mapping here. */
  def latest: Long = newest
  def memoryBytes: Long = 8L * cells.length + 4L * starts.length

  def add(event: Int, values: Array[Long], width: Int, time: Long, position: Long, from: Array[Long]): Unit = {
    if (used + width + 3 > cells.length) cells = java.util.Arrays.copyOf(cells, math.max(cells.length * 2, used + width + 3))
    if (count == starts.length) starts = java.util.Arrays.copyOf(starts, count * 2)
    starts(count) = used
    cells(used) = event
    cells(used + 1) = time
    cells(used + 2) = position
    System.arraycopy(values, 0, cells, used + 3, width)
    used += width + 3
    if (from != null) {
      if (occurrences == null || occurrences.length < starts.length) {
        val more = new Array[Array[Long]](starts.length)
        if (occurrences != null) System.arraycopy(occurrences, 0, more, 0, occurrences.length)
        occurrences = more
      }
      occurrences(count) = from
    }
    count += 1
    newest = math.max(newest, time)
  }

  /** The numbers of all mappings, ascending in time. */
  def inOrder(): Array[Int] = TimeOrder.of(count, time)

  def event(n: Int): Int = cells(starts(n)).toInt
  def time(n: Int): Long = cells(starts(n) + 1)
  def position(n: Int): Long = cells(starts(n) + 2)
  def value(n: Int, column: Int): Long = cells(starts(n) + 3 + column)
  def from(n: Int): Array[Long] = if (occurrences == null || n >= occurrences.length || occurrences(n) == null) Array.emptyLongArray else occurrences(n)

  def clear(): Unit = {
    if (cells.length > (1 << 16)) {
      cells = new Array[Long](1024)
      starts = new Array[Int](64)
    }
    occurrences = null
    used = 0
    count = 0
    newest = Long.MinValue
  }
}
