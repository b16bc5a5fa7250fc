package org.apache.spark.sql.cqels
package recordings

import java.time.LocalDate

/** The times of elements: an xsd:dateTime, a missing zone being UTC, or an integer number of milliseconds since the epoch. */
private[recordings] object ElementTimes {
  /** Either side of the epoch. */
  final val Greatest = (1L << 53) - 1
  private final val Xsd = "http://www.w3.org/2001/XMLSchema#"
  private val integers = Set("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
    "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte").map(Xsd + _)
  private val dateTimes = Set("dateTime", "dateTimeStamp").map(Xsd + _)
  private val integerForm = "[+-]?[0-9]+".r

  /** The milliseconds of the object of a time triple, a canonical text; throws IllegalArgumentException, which says why it is none. */
  def of(value: String): Long = {
    val close = if (value.startsWith("\"")) value.indexOf('"', 1) else -1
    val typed = close > 0 && value.startsWith("^^<", close + 1) && value.endsWith(">")
    val lexical = if (typed) value.substring(1, close) else ""
    val datatype = if (typed) value.substring(close + 4, value.length - 1) else ""
    val time =
      if (lexical.indexOf('\\') >= 0) None
      else if (dateTimes(datatype)) Some(new DateTimeText(lexical).millis)
      else if (integers(datatype) && integerForm.matches(lexical)) Some(number(lexical))
      else None
    time match {
      case None => throw new IllegalArgumentException(s"its time $value is neither an xsd:dateTime nor an integer")
      case Some(t) if t > Greatest || t < -Greatest => throw new IllegalArgumentException(s"its time $value is out of range")
      case Some(t) => t
    }
  }

  private def number(lexical: String): Long = {
    val negative = lexical.charAt(0) == '-'
    val digits = lexical.dropWhile(c => c == '+' || c == '-').dropWhile(_ == '0')
    val size = if (digits.length > 18) Long.MaxValue else if (digits.isEmpty) 0L else digits.toLong
    if (negative) -size else size
  }
}

/** One text that should be an xsd:dateTime (XSD 1.1, section 3.3.7). */
private[recordings] final class DateTimeText(text: String) {
  private var at = 0

  /** Milliseconds since the epoch, what is finer cut off; beyond all that an element can have where the year is. */
  def millis: Long = {
    val negative = has('-')
    val begin = at
    while (at < text.length && isDigit(text.charAt(at))) at += 1
    val digits = at - begin
    if (digits < 4 || (digits > 4 && text.charAt(begin) == '0')) refuse()
    // Years repeat themselves after 400; of one that is far beyond, only the day must be right.
    val far = digits > 7
    val written = text.substring(if (far) at - 4 else begin, at).toInt
    val year = if (negative) -written else written
    expect('-')
    val month = pair()
    expect('-')
    val day = pair()
    expect('T')
    val hour = pair()
    expect(':')
    val minute = pair()
    expect(':')
    val second = pair()
    var fraction = 0
    var finer = false
    if (has('.')) {
      val first = at
      while (at < text.length && isDigit(text.charAt(at))) {
        val digit = text.charAt(at) - '0'
        if (at - first < 3) fraction = fraction * 10 + digit
        finer |= digit != 0
        at += 1
      }
      if (at == first) refuse()
      var written = at - first
      while (written < 3) { fraction *= 10; written += 1 }
    }
    val endOfDay = hour == 24 && minute == 0 && second == 0 && !finer
    val days = dayNumber(year, month, day)
    if (minute > 59 || second > 59 || (hour > 23 && !endOfDay)) refuseLater()
    val local = days * 86400000L + ((hour * 60L + minute) * 60 + second) * 1000 + fraction
    val time = local - zoneMillis()
    if (late) refuse()
    if (far) (if (negative) Long.MinValue else Long.MaxValue) else time
  }

  private var late = false

  /** The text may yet be no dateTime at all, which is said the same way. */
  private def refuseLater(): Unit = late = true

  private def zoneMillis(): Long =
    if (at == text.length) 0L
    else if (has('Z')) { if (at < text.length) refuse() else 0L }
    else {
      val sign = text.charAt(at)
      if (sign != '+' && sign != '-') refuse()
      at += 1
      val hours = pair()
      expect(':')
      val minutes = pair()
      if (at < text.length || late) refuse()
      if (minutes > 59 || hours * 60 + minutes > 840) throw new IllegalArgumentException(s"'$text' has a zone beyond 14 hours")
      (if (sign == '+') 1 else -1) * (hours * 60L + minutes) * 60000
    }

  private def dayNumber(year: Int, month: Int, day: Int): Long = {
    val possible = month >= 1 && month <= 12 && day >= 1 && day <= LocalDate.of(Math.floorMod(year, 400) + 2000, month, 1).lengthOfMonth
    if (possible) LocalDate.of(year, month, day).toEpochDay
    else { refuseLater(); 0L }
  }

  private def has(c: Char): Boolean = {
    val found = at < text.length && text.charAt(at) == c
    if (found) at += 1
    found
  }

  private def expect(c: Char): Unit = if (!has(c)) refuse()

  private def pair(): Int = {
    if (at + 2 > text.length || !isDigit(text.charAt(at)) || !isDigit(text.charAt(at + 1))) refuse()
    at += 2
    (text.charAt(at - 2) - '0') * 10 + text.charAt(at - 1) - '0'
  }

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  private def refuse(): Nothing = throw new IllegalArgumentException(s"'$text' is not an xsd:dateTime")
}
