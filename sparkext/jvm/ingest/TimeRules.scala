package org.apache.spark.sql.cqels
package ingest

/** Which times of a block are taken in: none up to `floor`, which is too late, and none that cannot be right.
 *
 *  A time lies `maxAhead` after `newest` at most (0: as far as it likes). `rolling`: after the newest one before it, as in a
 *  replay, which must not depend on the clock. `settling`: what of the stream may go before, see StreamLog.
 */
private[cqels] final class TimeRules(floor: Long, newest: Long, maxAhead: Long, rolling: Boolean, val settling: String) {
  private var reference = newest


  def isLate(time: Long): Boolean = time <= floor

  /** Whether a time is believed; to be asked in order of time, of those that are not late, up to the first that is not. */
  def believes(time: Long): Boolean = maxAhead == 0 || {
    // Without overflow: `newest` may be the least time that there is.
    val believed = time <= reference || time - reference <= maxAhead && time - reference >= 0
    if (believed && rolling && time > reference) reference = time
    believed
  }
}

private[cqels] object TimeRules {
  /** `text` is "floor|newest|maxAhead|rolling", the last 0 or 1, and behind `\f` what may go; without the last three all times are
   *  believed, and without any none is late.
   */
  def parse(text: String): TimeRules = {
    val (times, settling) = text.span(_ != '\f')
    val numbers = times.split('|').filter(_.nonEmpty).map(_.toLong)
    val known = numbers ++ Array(Long.MinValue, 0L, 0L, 0L).drop(numbers.length)
    new TimeRules(known(0), known(1), known(2), known(3) == 1, settling.drop(1))
  }

  /** All times are taken in. */
  def none: TimeRules = parse("")
}
