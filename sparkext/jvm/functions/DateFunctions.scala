package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.cqels.terms.TermCodec

/** SPARQL's functions on dates and times (SPARQL 1.1, section 17.4.5); null is an error.
 *
 *  xsd:date has a year, month, day and zone, xsd:time hours, minutes, seconds and zone.
 */
object DateFunctions {
  private val instants = new ConcurrentHashMap[Long, java.lang.Long]()

  /** Sets what NOW() is, in milliseconds from 1970, until the next evaluation. */
  private[cqels] def setInstant(room: Long, millis: Long): Unit = instants.put(room, millis)
  private[cqels] def forget(room: Long): Unit = instants.remove(room)

  /** The instant of the evaluation; `reference` is not looked at and keeps Spark from computing this once and for all. */
  def now(room: Long, reference: Long): java.lang.Long = {
    val millis = instants.get(room)
    if (millis == null) throw new IllegalStateException("the instant of an evaluation is known at the driver only: this plan must run there")
    val inline = TermCodec.dateTimeIdOrZero(millis)
    if (inline != 0) inline
    else TermConstructors.dateTime(room, java.time.Instant.ofEpochMilli(millis).toString)
  }

  def year(room: Long, id: Long): java.lang.Long = inDay(room, id)(_.date.getYear)
  def month(room: Long, id: Long): java.lang.Long = inDay(room, id)(_.date.getMonthValue)
  def day(room: Long, id: Long): java.lang.Long = inDay(room, id)(_.date.getDayOfMonth)
  def hours(room: Long, id: Long): java.lang.Long = inTime(room, id)(_.secondOfDay.intValue / 3600)
  def minutes(room: Long, id: Long): java.lang.Long = inTime(room, id)(_.secondOfDay.intValue / 60 % 60)

  private def inDay(room: Long, id: Long)(part: Moment => Int): java.lang.Long = {
    val m = DateTimes.of(room, id)
    if (m == null || m.kind > DateTimes.DateOnly) null else TermCodec.integerId(part(m))
  }

  private def inTime(room: Long, id: Long)(part: Moment => Int): java.lang.Long = {
    val m = clock(room, id)
    if (m == null) null else TermCodec.integerId(part(m))
  }

  private def clock(room: Long, id: Long): Moment = {
    val m = DateTimes.of(room, id)
    if (m == null || (m.kind != DateTimes.DateTime && m.kind != DateTimes.TimeOnly)) null else m
  }

  def seconds(room: Long, id: Long): java.lang.Long = {
    val m = clock(room, id)
    if (m == null) null else Numbers.decimalTerm(room, m.secondOfDay.remainder(JBigDecimal.valueOf(60)))
  }

  def timezone(room: Long, id: Long): java.lang.Long = {
    val m = zoned(room, id)
    if (m == null || m.zone == null) null
    else durationTerm(room, new Duration(Durations.DayTime, 0, JBigDecimal.valueOf(m.zone * 60L)))
  }

  def zone(room: Long, id: Long): java.lang.Long = {
    val m = zoned(room, id)
    if (m == null) null else TermValues.string(room, DateTimes.zoneText(m.zone))
  }

  private def zoned(room: Long, id: Long): Moment = {
    val m = DateTimes.of(room, id)
    if (m == null || m.kind > DateTimes.TimeOnly) null else m
  }

  private[cqels] def durationTerm(room: Long, d: Duration): java.lang.Long = {
    val text = Durations.print(d)
    if (text == null) null else TermConstructors.literal(room, text, TermCodec.Xsd + Durations.Types(d.kind))
  }

  private[cqels] def momentTerm(room: Long, kind: Int, m: Moment): Long =
    TermConstructors.literal(room, DateTimes.print(kind, m), TermCodec.Xsd + DateTimes.Types(kind))
}
