package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal}

import org.apache.spark.sql.cqels.terms.{TermCodec, TermId, TermText}

/** A duration as XML Schema has it: months and seconds, which no number of either makes of the other; `kind` is its type. */
private[cqels] final class Duration(val kind: Int, val months: Long, val seconds: JBigDecimal)

/** Values of xsd:duration, xsd:yearMonthDuration and xsd:dayTimeDuration. */
private[cqels] object Durations {
  private val Form = ("(-)?P(?:([0-9]{1,9})Y)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12})D)?" +
    "(?:T(?:([0-9]{1,12})H)?(?:([0-9]{1,12})M)?(?:([0-9]+(?:\\.[0-9]+)?)S)?)?").r
  private final val MonthsEnd = 12 * 1000000000L
  private val SecondsEnd = JBigDecimal.valueOf(86400 * 1000000000000L)
  private val MonthSeconds = JBigDecimal.valueOf(2629746) // of the mean year

  val Types: Array[String] = Array("duration", "yearMonthDuration", "dayTimeDuration")
  final val YearMonth = 1
  final val DayTime = 2
  private val kinds: Map[String, Int] = Types.zipWithIndex.map { case (name, kind) => (TermCodec.Xsd + name, kind) }.toMap

  def of(room: Long, id: Long): Duration =
    if (TermId.kind(id) != TermId.TypedLiteral) null
    else {
      val text = TermValues.text(room, id)
      val kind = kinds.getOrElse(TermText.datatype(text), -1)
      if (kind < 0) null else parse(kind, TermText.trimmed(TermText.lexical(text)))
    }

  /** The value of a lexical form of a type, null when it is none. */
  def parse(kind: Int, lexical: String): Duration = if (lexical.length > Bounds.MostWritten) null else lexical match {
    case Form(sign, years, months, days, hours, minutes, seconds) =>
      val inMonths = years != null || months != null
      val inSeconds = Seq(days, hours, minutes, seconds).exists(_ != null)
      val allowed = (inMonths || inSeconds) && !lexical.endsWith("T") &&
        !(kind == YearMonth && inSeconds) && !(kind == DayTime && inMonths)
      if (!allowed) null
      else {
        val m = number(years) * 12 + number(months)
        val s = JBigDecimal.valueOf((number(days) * 24 + number(hours)) * 60 + number(minutes)).multiply(JBigDecimal.valueOf(60))
          .add(if (seconds == null) JBigDecimal.ZERO else new JBigDecimal(seconds))
        if (sign == null) new Duration(kind, m, s) else new Duration(kind, -m, s.negate)
      }
    case _ => null
  }

  private def number(digits: String): Long = if (digits == null) 0 else digits.toLong

  /** Durations of months and of seconds have an order only where both parts agree on it; they always are equal or not. */
  def compare(a: Duration, b: Duration): Int = {
    val months = java.lang.Long.compare(a.months, b.months)
    val seconds = Integer.signum(a.seconds.compareTo(b.seconds))
    if (months == 0 || seconds == 0 || months == seconds) { if (months != 0) months else seconds } else TermValues.Different
  }

  /** An order of all durations, by the mean length of a month. */
  def order(a: Duration, b: Duration): Int = length(a).compareTo(length(b))
  private def length(d: Duration): JBigDecimal = d.seconds.add(MonthSeconds.multiply(JBigDecimal.valueOf(d.months)))

  /** The canonical lexical form; null where it has more digits than `parse` reads. */
  def print(d: Duration): String = if (isTooLong(d)) null else {
    val out = new StringBuilder
    if (d.months < 0 || d.seconds.signum < 0) out.append('-')
    out.append('P')
    val months = math.abs(d.months)
    if (months >= 12) out.append(months / 12).append('Y')
    if (months % 12 > 0) out.append(months % 12).append('M')
    val all = d.seconds.abs
    val whole = all.longValue
    if (whole >= 86400) out.append(whole / 86400).append('D')
    val rest = all.subtract(JBigDecimal.valueOf(whole / 86400 * 86400)).stripTrailingZeros
    if (rest.signum > 0) {
      out.append('T')
      val (hours, minutes) = (whole % 86400 / 3600, whole % 3600 / 60)
      if (hours > 0) out.append(hours).append('H')
      if (minutes > 0) out.append(minutes).append('M')
      val seconds = rest.subtract(JBigDecimal.valueOf(hours * 3600 + minutes * 60)).stripTrailingZeros
      if (seconds.signum > 0) out.append(seconds.toPlainString).append('S')
    }
    if (months == 0 && all.signum == 0) out.append(if (d.kind == YearMonth) "0M" else "T0S")
    out.toString
  }

  private def isTooLong(d: Duration): Boolean =
    d.months <= -MonthsEnd || d.months >= MonthsEnd || d.seconds.abs.compareTo(SecondsEnd) >= 0 || !Bounds.fits(d.seconds)
}
