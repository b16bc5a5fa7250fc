package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, RoundingMode}
import java.time.DateTimeException

/** `+`, `-`, `*` and `/` on dates, times and durations, which SPARQL leaves open: as XPath's operators; null is an error. */
private[cqels] object TimeArithmetic {
  private val Day = JBigDecimal.valueOf(86400)

  def compute(room: Long, operator: Char, a: Long, b: Long): java.lang.Long =
    try {
      val moment = DateTimes.of(room, a)
      if (moment != null) onMoment(room, operator, moment, b)
      else {
        val duration = Durations.of(room, a)
        if (duration != null) onDuration(room, operator, duration, b)
        else if (operator == '*' && Numbers.rank(room, a) > 0) {
          val other = Durations.of(room, b)
          if (other == null) null else scaled(room, other, exact(room, a), divide = false)
        } else null
      }
    } catch { case _: DateTimeException | _: ArithmeticException => null }

  private def onMoment(room: Long, operator: Char, moment: Moment, b: Long): java.lang.Long =
    if (moment.kind > DateTimes.TimeOnly || (operator != '+' && operator != '-')) null
    else {
      val duration = Durations.of(room, b)
      val other = if (duration == null && operator == '-') DateTimes.of(room, b) else null
      if (duration != null) moved(room, moment, if (operator == '+') duration else negated(duration))
      else if (other == null || other.kind != moment.kind || (other.zone == null) != (moment.zone == null)) null
      else DateFunctions.durationTerm(room, new Duration(Durations.DayTime, 0, moment.instant.subtract(other.instant)))
    }

  private def moved(room: Long, m: Moment, d: Duration): java.lang.Long =
    if (m.kind == DateTimes.TimeOnly && d.months != 0) null
    else {
      val seconds = m.secondOfDay.add(d.seconds)
      val days = seconds.divide(Day, 0, RoundingMode.FLOOR)
      val rest = seconds.subtract(days.multiply(Day))
      // A time goes round the clock.
      val date = if (m.kind == DateTimes.TimeOnly) m.date else m.date.plusMonths(d.months).plusDays(days.longValueExact)
      DateFunctions.momentTerm(room, m.kind, new Moment(m.kind, date, rest, m.zone))
    }

  private def onDuration(room: Long, operator: Char, d: Duration, b: Long): java.lang.Long = {
    val other = Durations.of(room, b)
    if (operator == '*' || operator == '/') {
      if (other != null || Numbers.rank(room, b) == 0) null else scaled(room, d, exact(room, b), operator == '/')
    } else if (other != null) {
      val added = if (operator == '+') other else negated(other)
      if (added.kind != d.kind || d.kind == 0) null
      else DateFunctions.durationTerm(room, new Duration(d.kind, Math.addExact(d.months, added.months), d.seconds.add(added.seconds)))
    } else {
      val moment = if (operator == '+') DateTimes.of(room, b) else null
      if (moment == null || moment.kind > DateTimes.TimeOnly) null else moved(room, moment, d)
    }
  }

  private def negated(d: Duration): Duration = new Duration(d.kind, -d.months, d.seconds.negate)

  private def exact(room: Long, id: Long): JBigDecimal =
    if (Numbers.rank(room, id) < Numbers.FloatRank) Numbers.decimal(room, id)
    else {
      val x = Numbers.double(room, id)
      if (x.isNaN || x.isInfinite) null else new JBigDecimal(x.toString)
    }

  /** A duration of one part only, times or over a number. */
  private def scaled(room: Long, d: Duration, by: JBigDecimal, divide: Boolean): java.lang.Long =
    if (by == null || d.kind == 0) null
    else {
      def scale(x: JBigDecimal) = if (divide) x.divide(by, 18, RoundingMode.HALF_EVEN) else x.multiply(by)
      // Half a month rounds up, as XPath's fn:round has it.
      val months = scale(JBigDecimal.valueOf(d.months)).add(new JBigDecimal("0.5")).setScale(0, RoundingMode.FLOOR)
      DateFunctions.durationTerm(room, new Duration(d.kind, months.longValueExact, scale(d.seconds)))
    }
}
