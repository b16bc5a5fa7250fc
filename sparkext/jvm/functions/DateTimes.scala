package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal}
import java.time.{DateTimeException, LocalDate}

import org.apache.spark.sql.cqels.terms.{TermCodec, TermId, TermText}

/** A point or stretch of time as XML Schema has it; what a type leaves out is that of 1972-12-31, midnight.
 *
 *  `zone`: minutes from UTC, null when there is none.
 */
private[cqels] final class Moment(val kind: Int, val date: LocalDate, val secondOfDay: JBigDecimal, val zone: Integer) {
  /** Seconds from 1970 on the clock of its own place. */
  lazy val local: JBigDecimal = secondOfDay.add(JBigDecimal.valueOf(date.toEpochDay * 86400))
  /** Seconds from 1970; without a zone those of UTC. */
  lazy val instant: JBigDecimal = if (zone == null) local else local.subtract(JBigDecimal.valueOf(zone * 60L))
}

/** Values of xsd:dateTime, xsd:date, xsd:time and the types of months, days and years, in their id or in the dictionary. */
private[cqels] object DateTimes {
  private val Year = "-?(?:[1-9][0-9]{3,8}|0[0-9]{3})"
  private val Date = s"($Year)-([0-9]{2})-([0-9]{2})"
  private val Time = "([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\\.[0-9]+)?)"
  private val Zone = "(Z|[+-][0-9]{2}:[0-9]{2})?"
  private val DateTimeForm = (Date + "T" + Time + Zone).r
  private val DateForm = (Date + Zone).r
  private val TimeForm = (Time + Zone).r
  private val YearMonthForm = (s"($Year)-([0-9]{2})$Zone").r
  private val YearForm = (s"($Year)$Zone").r
  private val MonthDayForm = s"--([0-9]{2})-([0-9]{2})$Zone".r
  private val DayForm = s"---([0-9]{2})$Zone".r
  private val MonthForm = s"--([0-9]{2})$Zone".r

  val Types: Array[String] = Array("dateTime", "date", "time", "gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth")
  final val DateTime = 0
  final val DateOnly = 1
  final val TimeOnly = 2

  private val kinds: Map[String, Int] = Types.zipWithIndex.map { case (name, kind) => (TermCodec.Xsd + name, kind) }.toMap
  private val ZoneRoom = JBigDecimal.valueOf(14 * 3600)

  /** The value of a term, null for every other term and for texts that are none of their type. */
  def of(room: Long, id: Long): Moment =
    if (TermCodec.isDateTime(id)) inline(id)
    else if (TermId.kind(id) != TermId.TypedLiteral) null
    else ofText(TermValues.text(room, id))

  private def ofText(text: String): Moment = {
    val kind = kinds.getOrElse(TermText.datatype(text), -1)
    if (kind < 0) null else parse(kind, TermText.trimmed(TermText.lexical(text)))
  }

  private def inline(id: Long): Moment = {
    val zone: Integer = if (TermCodec.dateTimeHasZone(id)) TermCodec.dateTimeOffsetMinutes(id) else null
    val wall = TermCodec.dateTimeMillis(id) + TermCodec.dateTimeOffsetMinutes(id) * 60000L
    new Moment(DateTime, LocalDate.ofEpochDay(Math.floorDiv(wall, 86400000L)), JBigDecimal.valueOf(Math.floorMod(wall, 86400000L), 3), zone)
  }

  /** The value of a lexical form of a type, null when it is none. */
  def parse(kind: Int, lexical: String): Moment =
    if (lexical.length > Bounds.MostWritten) null
    else try (kind, lexical) match {
      case (0, DateTimeForm(y, m, d, hour, minute, second, zone)) => moment(kind, y, m, d, clock(hour, minute, second), zone)
      case (1, DateForm(y, m, d, zone)) => moment(kind, y, m, d, JBigDecimal.ZERO, zone)
      case (2, TimeForm(hour, minute, second, zone)) =>
        val seconds = clock(hour, minute, second)
        moment(kind, "1972", "12", "31", if (seconds.intValue == 86400) JBigDecimal.ZERO else seconds, zone)
      case (3, YearMonthForm(y, m, zone)) => moment(kind, y, m, "01", JBigDecimal.ZERO, zone)
      case (4, YearForm(y, zone)) => moment(kind, y, "01", "01", JBigDecimal.ZERO, zone)
      case (5, MonthDayForm(m, d, zone)) => moment(kind, "1972", m, d, JBigDecimal.ZERO, zone)
      case (6, DayForm(d, zone)) => moment(kind, "1972", "12", d, JBigDecimal.ZERO, zone)
      case (7, MonthForm(m, zone)) => moment(kind, "1972", m, "01", JBigDecimal.ZERO, zone)
      case _ => null
    } catch { case _: DateTimeException => null }

  private def clock(hour: String, minute: String, second: String): JBigDecimal = {
    val seconds = new JBigDecimal(second)
    val midnight = hour == "24" && minute == "00" && seconds.signum == 0
    if ((hour.toInt > 23 && !midnight) || minute.toInt > 59 || seconds.intValue > 59) throw new DateTimeException("no time of a day")
    seconds.add(JBigDecimal.valueOf(hour.toInt * 3600L + minute.toInt * 60L))
  }

  private def moment(kind: Int, year: String, month: String, day: String, seconds: JBigDecimal, zone: String): Moment = {
    val date = LocalDate.of(year.toInt, month.toInt, day.toInt)
    val offset: Integer =
      if (zone == null) null
      else if (zone == "Z") 0
      else (zone.substring(1, 3).toInt * 60 + zone.substring(4).toInt) * (if (zone.charAt(0) == '-') -1 else 1)
    if (offset != null && (math.abs(offset) > 14 * 60 || zone != "Z" && zone.substring(4).toInt > 59)) throw new DateTimeException("no zone")
    // The hour 24 is the next day's midnight.
    if (seconds.intValue == 86400) new Moment(kind, date.plusDays(1), JBigDecimal.ZERO, offset)
    else new Moment(kind, date, seconds, offset)
  }

  /** The order of two values; one with and one without a zone may be any number of hours apart that zones are. */
  def compare(a: Moment, b: Moment): Int =
    if (a.kind != b.kind) TermValues.Incomparable
    else {
      val difference = a.instant.subtract(b.instant)
      if ((a.zone == null) == (b.zone == null) || difference.abs.compareTo(ZoneRoom) > 0) difference.signum
      else TermValues.Undecided
    }

  /** The lexical form of a type that `parse` reads back: seconds without trailing zeros. */
  def print(kind: Int, moment: Moment): String = {
    val date = moment.date
    val year = (if (date.getYear < 0) "-" else "") + padded(math.abs(date.getYear), 4)
    val (month, day) = (padded(date.getMonthValue, 2), padded(date.getDayOfMonth, 2))
    val total = moment.secondOfDay.intValue
    val fraction = moment.secondOfDay.subtract(JBigDecimal.valueOf(total)).stripTrailingZeros
    val time = s"${padded(total / 3600, 2)}:${padded(total / 60 % 60, 2)}:${padded(total % 60, 2)}" +
      (if (fraction.signum == 0) "" else fraction.toPlainString.substring(1))
    val text = kind match {
      case 0 => s"$year-$month-${day}T$time"
      case 1 => s"$year-$month-$day"
      case 2 => time
      case 3 => s"$year-$month"
      case 4 => year
      case 5 => s"--$month-$day"
      case 6 => s"---$day"
      case _ => s"--$month"
    }
    text + zoneText(moment.zone)
  }

  def zoneText(zone: Integer): String =
    if (zone == null) "" else if (zone == 0) "Z"
    else {
      val minutes = math.abs(zone.intValue)
      s"${if (zone < 0) "-" else "+"}${padded(minutes / 60, 2)}:${padded(minutes % 60, 2)}"
    }

  // No format: that writes the digits of the machine's language.
  private def padded(number: Int, digits: Int): String = {
    val text = number.toString
    if (text.length < digits) "0" * (digits - text.length) + text else text
  }
}
