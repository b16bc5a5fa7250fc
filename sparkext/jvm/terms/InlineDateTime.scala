package org.apache.spark.sql.cqels
package terms

import org.apache.spark.sql.cqels.memory.ByteSink

/** The payload of an inline xsd:dateTime: 45 bits of milliseconds, 11 of zone, 2 of fraction
  * digits.
  *
  * The milliseconds are those of the instant, or of the wall clock read as UTC when there is no
  * zone. The zone is 0 for none, 1 for "Z", else minutes of offset + 842. Years about 1413 to 2526
  * fit.
  */
private[cqels] object InlineDateTime {

  final val Absent = Long.MinValue
  final val NoZone = 0
  final val Utc = 1
  private final val ZoneBase = 842
  private final val MillisBits = 45
  private final val DayMillis = 86400000L

  /** The payload of a lexical form, `Absent` unless `append` writes exactly these bytes again. */
  def parse(a: Array[Byte], from: Int, until: Int): Long = {
    val count = until - from
    if (count < 19 || count > 29 || a(from + 4) != '-' || a(from + 7) != '-' ||
      a(from + 10) != 'T' || a(from + 13) != ':' || a(from + 16) != ':') return Absent
    val year = number(a, from, 4)
    val month = number(a, from + 5, 2)
    val day = number(a, from + 8, 2)
    val hour = number(a, from + 11, 2)
    val minute = number(a, from + 14, 2)
    val second = number(a, from + 17, 2)
    // Hour 24 names an instant that prints otherwise; there are no leap seconds in XSD.
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return Absent
    var at = from + 19
    var digits = 0
    var fraction = 0
    if (at < until && a(at) == '.') {
      at += 1
      while (at < until && a(at) >= '0' && a(at) <= '9') {
        digits += 1
        if (digits > 3) return Absent
        fraction = fraction * 10 + (a(at) - '0')
        at += 1
      }
      if (digits == 0) return Absent
    }
    val zone = parseZone(a, at, until)
    if (zone < 0) return Absent
    val millis = if (digits == 1) fraction * 100 else if (digits == 2) fraction * 10 else fraction
    val seconds = (hour * 60 + minute) * 60 + second
    val wall = daysFromEpoch(year, month, day) * DayMillis + seconds * 1000L + millis
    of(wall - offsetMinutes(zone) * 60000L, zone, digits)
  }

  /** The payload of an instant (or wall clock, without a zone); `Absent` when out of range. */
  def of(millis: Long, zone: Int, digits: Int): Long =
    if (millis << (64 - MillisBits) >> (64 - MillisBits) != millis) Absent
    else ((millis << 13) | (zone << 2) | digits) & TermId.PayloadMask

  /** The zone field of an offset in minutes, from -840 to 840. */
  def zoneOf(offset: Int): Int = offset + ZoneBase

  def millis(payload: Long): Long = payload << (64 - TermId.PayloadBits) >> (64 - MillisBits)

  def zone(payload: Long): Int = (payload >>> 2).toInt & 0x7ff

  def offsetMinutes(zone: Int): Int = if (zone <= Utc) 0 else zone - ZoneBase

  def append(payload: Long, out: ByteSink): Unit = {
    val field = zone(payload)
    val offset = offsetMinutes(field)
    val wall = millis(payload) + offset * 60000L
    val days = Math.floorDiv(wall, DayMillis)
    val inDay = Math.floorMod(wall, DayMillis)
    appendDate(days, out)
    out.appendByte('T')
    out.appendPadded(inDay / 3600000, 2)
    out.appendByte(':')
    out.appendPadded(inDay / 60000 % 60, 2)
    out.appendByte(':')
    out.appendPadded(inDay / 1000 % 60, 2)
    val digits = (payload & 3).toInt
    if (digits > 0) {
      out.appendByte('.')
      val unit = if (digits == 1) 100 else if (digits == 2) 10 else 1
      out.appendPadded(inDay % 1000 / unit, digits)
    }
    if (field == Utc) out.appendByte('Z')
    else if (field != NoZone) {
      out.appendByte(if (offset < 0) '-' else '+')
      out.appendPadded(math.abs(offset) / 60, 2)
      out.appendByte(':')
      out.appendPadded(math.abs(offset) % 60, 2)
    }
  }

  private def parseZone(a: Array[Byte], from: Int, until: Int): Int = {
    val count = until - from
    if (count == 0) NoZone
    else if (count == 1 && a(from) == 'Z') Utc
    else if (count == 6 && (a(from) == '+' || a(from) == '-') && a(from + 3) == ':') {
      val hours = number(a, from + 1, 2)
      val minutes = number(a, from + 4, 2)
      val offset = hours * 60 + minutes
      // "-00:00" would print as "+00:00".
      val negative = a(from) == '-'
      if (hours < 0 || minutes < 0 || minutes > 59 || offset > 840 || (offset == 0 && negative)) -1
      else zoneOf(if (negative) -offset else offset)
    } else -1
  }

  private def number(a: Array[Byte], from: Int, count: Int): Int = {
    var value = 0
    var at = from
    while (at < from + count) {
      val digit = a(at) - '0'
      if (digit < 0 || digit > 9) return -1
      value = value * 10 + digit
      at += 1
    }
    value
  }

  def isLeap(year: Int): Boolean = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)

  private def daysIn(year: Int, month: Int): Int = month match {
    case 2 => if (isLeap(year)) 29 else 28
    case 4 | 6 | 9 | 11 => 30
    case _ => 31
  }

  // The proleptic Gregorian calendar, by years that start in March: the leap day is their last.
  private def daysFromEpoch(year: Int, month: Int, day: Int): Long = {
    val shifted = if (month > 2) month - 3 else month + 9
    val marchYear = (if (month > 2) year else year - 1).toLong
    val leaps =
      Math.floorDiv(marchYear, 4L) - Math.floorDiv(marchYear, 100L) + Math.floorDiv(marchYear, 400L)
    marchYear * 365 + leaps + (153 * shifted + 2) / 5 + day - 1 - 719468
  }

  private def appendDate(days: Long, out: ByteSink): Unit = {
    val date = java.time.LocalDate.ofEpochDay(days)
    out.appendPadded(date.getYear, 4)
    out.appendByte('-')
    out.appendPadded(date.getMonthValue, 2)
    out.appendByte('-')
    out.appendPadded(date.getDayOfMonth, 2)
  }
}
