package org.apache.spark.sql.cqels

import java.math.{BigDecimal => JBigDecimal}
import java.time.LocalDate

/** Values of xsd:dateTime terms, in their id or, with more digits or another spelling, in the dictionary.
 *
 *  A dateTime without a zone is read as UTC: that is the implicit timezone of XPath's comparison here.
 */
private[cqels] object DateTimes {
  private val Type = TermCodec.Xsd + "dateTime"
  private val Form = ("(-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})" +
    "T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\\.[0-9]+)?)(?:Z|([+-])([0-9]{2}):([0-9]{2}))?").r

  def is(room: Long, id: Long): Boolean =
    TermCodec.isDateTime(id) || (TermId.kind(id) == TermId.TypedLiteral && parse(TermValues.text(room, id)) != null)

  /** Compares two terms for which `is` holds. */
  def compare(room: Long, a: Long, b: Long): Int =
    if (TermCodec.isDateTime(a) && TermCodec.isDateTime(b))
      java.lang.Long.compare(TermCodec.dateTimeMillis(a), TermCodec.dateTimeMillis(b))
    else Integer.signum(seconds(room, a).compareTo(seconds(room, b)))

  private def seconds(room: Long, id: Long): JBigDecimal =
    if (TermCodec.isDateTime(id)) JBigDecimal.valueOf(TermCodec.dateTimeMillis(id), 3) else parse(TermValues.text(room, id))

  /** Seconds since 1970, null when the text is no valid dateTime. */
  private def parse(text: String): JBigDecimal =
    if (TermText.datatype(text) != Type) null
    else TermText.lexical(text).trim match {
      case Form(year, month, day, hour, minute, second, sign, zoneHours, zoneMinutes) =>
        val offset = if (sign == null) 0 else (zoneHours.toInt * 60 + zoneMinutes.toInt) * (if (sign == "-") -60 else 60)
        val seconds = new JBigDecimal(second)
        val midnight = hour == "24" && minute == "00" && seconds.signum == 0
        val valid = (hour.toInt < 24 || midnight) && minute.toInt < 60 && seconds.intValue < 60 && math.abs(offset) <= 14 * 3600
        try {
          if (!valid) null
          else {
            val day0 = LocalDate.of(year.toInt, month.toInt, day.toInt).toEpochDay
            seconds.add(JBigDecimal.valueOf(day0 * 86400 + hour.toInt * 3600 + minute.toInt * 60 - offset))
          }
        } catch { case _: java.time.DateTimeException => null }
      case _ => null
    }
}
