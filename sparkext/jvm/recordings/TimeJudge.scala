package org.apache.spark.sql.cqels
package recordings

/** Says of elements, in the order in which they are replayed, which come too late and which times are not believed.
 *
 *  In order of time, what comes after a later one of any stream is late; in order of arrival, what lies further behind the
 *  newest of its stream than that allows for (`lateness`). A time lies `maxAhead` after the newest before it at most (0: as far as it
 *  likes). `floors`: times up to these are late, by stream.
 */
private[recordings] final class TimeJudge(options: ReplayOptions, floors: Array[Long], lateness: Array[Long]) {
  private var reference = Long.MinValue
  private var taken = Long.MinValue

  /** Before the first element, times are measured by this one. */
  def beginAt(time: Long): Unit = reference = time

  def isLate(stream: Int, time: Long): Boolean =
    time <= floors(stream) || (options.inTimeOrder && time < taken)

  def isBelieved(time: Long): Boolean = options.maxAhead == 0 || time <= reference || time - reference <= options.maxAhead

  def take(stream: Int, time: Long): Unit = {
    reference = Math.max(reference, time)
    taken = Math.max(taken, time)
    if (!options.inTimeOrder) floors(stream) = Math.max(floors(stream), time - lateness(stream) - 1)
  }
}

private[recordings] object TimeJudge {
  /** Where, in ordered times, the longest run without a gap above `maxAhead` begins; the first of several. */
  def beginOfMost(times: Array[Long], maxAhead: Long): Long = {
    var (best, longest, begin) = (-ElementTimes.Greatest, 0, 0)
    var i = 0
    while (i < times.length) {
      if (i > 0 && times(i) - times(i - 1) > maxAhead) begin = i
      if (i - begin + 1 > longest) {
        longest = i - begin + 1
        best = times(begin)
      }
      i += 1
    }
    best
  }
}
