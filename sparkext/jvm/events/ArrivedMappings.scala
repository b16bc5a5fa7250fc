package org.apache.spark.sql.cqels
package events

/** Mappings of events that have arrived since the last evaluation, in order of time once they are sorted. */
private[events] final class ArrivedMappings {
  private var cells = new Array[Long](1024) // event, time, position, its values
  private var used = 0
  private var starts = new Array[Int](64)
  private var occurrences: Array[Array[Long]] = null // made when someone has any to keep
  private var count = 0
  private var ascending = true
  private var newest = Long.MinValue
  private var oldest = Long.MaxValue

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
    if (time < newest) ascending = false
    newest = math.max(newest, time)
    oldest = math.min(oldest, time)
  }

  /** The numbers of all mappings, ascending in time. */
  def inOrder(): Array[Int] = {
    if (ascending) Array.range(0, count)
    else if (newest - oldest >= 0 && newest - oldest < Int.MaxValue) {
      val keys = new Array[Long](count)
      var i = 0
      while (i < count) { keys(i) = ((time(i) - oldest) << 32) | i; i += 1 }
      java.util.Arrays.sort(keys)
      val order = new Array[Int](count)
      i = 0
      while (i < count) { order(i) = keys(i).toInt; i += 1 }
      order
    } else Array.range(0, count).sortBy(time) // stable
  }

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
    ascending = true
    newest = Long.MinValue
    oldest = Long.MaxValue
  }
}
