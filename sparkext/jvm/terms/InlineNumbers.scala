package org.apache.spark.sql.cqels
package terms

import java.math.{BigDecimal => JBigDecimal, BigInteger}

import org.apache.spark.sql.cqels.memory.ByteSink

/** The payloads of inline numbers: lexical form to payload and back, and payload to value.
  *
  * Every `parse` takes the bytes of a lexical form and answers `Absent` unless `append` writes
  * exactly these bytes again; this is what makes equal ids mean equal terms.
  */
private[cqels] object InlineNumbers {

  final val Absent = Long.MinValue

  private final val DecimalBits = 53
  private final val MaxDecimalScale = 31
  private final val FloatBits = 49
  private final val PlainFlag = 1L << 57
  private final val SpecialExponent = -128

  /** Floating-point lexical forms without a base-10 mantissa, by their number. */
  private val specials = Array("INF", "-INF", "NaN", "-0.0E0", "-0", "-0.0", "+INF")
  private val specialValues = Array(
    Double.PositiveInfinity, Double.NegativeInfinity, Double.NaN, -0.0, -0.0, -0.0,
    Double.PositiveInfinity
  )

  private val powers: Array[Double] =
    Array.tabulate(23)(n => JBigDecimal.ONE.scaleByPowerOfTen(n).doubleValue)

  private def fits(value: Long, bits: Int): Boolean = value << (64 - bits) >> (64 - bits) == value

  // ---- integers --------------------------------------------------------------------------------

  /** The value of a canonical integer of at most 18 digits: no plus, no leading zero, no "-0". */
  def parseInteger(a: Array[Byte], from: Int, until: Int): Long = {
    val negative = from < until && a(from) == '-'
    val first = if (negative) from + 1 else from
    val count = until - first
    if (count < 1 || count > 18 || (a(first) == '0' && (count > 1 || negative))) return Absent
    var value = 0L
    var at = first
    while (at < until) {
      val digit = a(at) - '0'
      if (digit < 0 || digit > 9) return Absent
      value = value * 10 + digit
      at += 1
    }
    if (negative) -value else value
  }

  // ---- decimals: 5 bits of scale, 53 bits of mantissa ------------------------------------------

  def parseDecimal(a: Array[Byte], from: Int, until: Int): Long = {
    val scale = plainScale(a, from, until)
    if (scale < 0 || scale > MaxDecimalScale) return Absent
    val mantissa = plainMantissa(a, from, until)
    if (mantissa == Absent || !fits(mantissa, DecimalBits)) Absent else decimal(mantissa, scale)
  }

  private def decimal(mantissa: Long, scale: Int): Long =
    (scale.toLong << DecimalBits) | (mantissa & ((1L << DecimalBits) - 1))

  def ofDecimal(value: JBigDecimal): Long = {
    val stripped = if (value.signum == 0) JBigDecimal.ZERO else value.stripTrailingZeros
    val whole = if (stripped.scale < 0 && stripped.scale > -20) stripped.setScale(0) else stripped
    val small = whole.scale >= 0 && whole.scale <= MaxDecimalScale &&
      whole.unscaledValue.bitLength < DecimalBits
    if (small) decimal(whole.unscaledValue.longValue, whole.scale) else Absent
  }

  private def decimalMantissa(payload: Long): Long =
    payload << (64 - DecimalBits) >> (64 - DecimalBits)

  private def decimalScale(payload: Long): Int = (payload >>> DecimalBits).toInt & MaxDecimalScale

  def appendDecimal(payload: Long, out: ByteSink): Unit =
    appendPlain(decimalMantissa(payload), decimalScale(payload), out)

  def decimalValue(payload: Long): JBigDecimal =
    JBigDecimal.valueOf(decimalMantissa(payload), decimalScale(payload))

  def decimalAsDouble(payload: Long): Double =
    scaled(decimalMantissa(payload), -decimalScale(payload))

  // ---- doubles and floats: flag of form, 8 bits of exponent, 49 bits of mantissa ---------------

  def parseDouble(a: Array[Byte], from: Int, until: Int): Long = {
    val scientific = parseScientific(a, from, until)
    if (scientific != Absent) return scientific
    val scale = plainScale(a, from, until)
    if (scale >= 0 && scale <= 127) {
      val mantissa = plainMantissa(a, from, until)
      if (mantissa != Absent && fits(mantissa, FloatBits))
        return PlainFlag | floating(mantissa, scale)
    }
    var special = 0
    while (special < specials.length) {
      if (sameAscii(a, from, until, specials(special))) return floating(special, SpecialExponent)
      special += 1
    }
    Absent
  }

  private def floating(mantissa: Long, exponent: Int): Long =
    ((exponent & 0xffL) << FloatBits) | (mantissa & ((1L << FloatBits) - 1))

  /** The canonical form of XSD 1.1: one digit but 0, a point, digits without a trailing zero, "E",
    * exponent.
    */
  private def parseScientific(a: Array[Byte], from: Int, until: Int): Long = {
    val negative = from < until && a(from) == '-'
    val first = if (negative) from + 1 else from
    var e = first
    while (e < until && a(e) != 'E') e += 1
    val fraction = e - first - 2
    if (e >= until || fraction < 1 || fraction > 17 || a(first + 1) != '.') return Absent
    val exponent = parseInteger(a, e + 1, until)
    if (exponent < -127 || exponent > 127) return Absent
    val bare = fraction == 1 && a(first + 2) == '0'
    if (!bare && a(e - 1) == '0') return Absent
    var mantissa = (a(first) - '0').toLong
    if (mantissa < 0 || mantissa > 9) return Absent
    if (mantissa == 0 && !(bare && exponent == 0 && !negative)) return Absent
    if (!bare) {
      var at = first + 2
      while (at < e) {
        val digit = a(at) - '0'
        if (digit < 0 || digit > 9) return Absent
        mantissa = mantissa * 10 + digit
        at += 1
      }
    }
    if (negative) mantissa = -mantissa
    if (fits(mantissa, FloatBits)) floating(mantissa, exponent.toInt) else Absent
  }

  /** The payload of a computed double in its canonical form. */
  def ofDouble(value: Double): Long = {
    if (value == 0.0) return if (1 / value < 0) floating(3, SpecialExponent) else floating(0, 0)
    if (value.isNaN) return floating(2, SpecialExponent)
    if (value.isInfinite) return floating(if (value > 0) 0 else 1, SpecialExponent)
    // Of the decimals with at most 14 digits only one gives the double back: the shortest.
    var scale = 0
    while (scale <= 6) {
      val candidate = value * powers(scale)
      if (math.abs(candidate) < 1e14) {
        val whole = candidate.toLong
        if (whole != 0 && whole / powers(scale) == value) return ofMantissa(whole, -scale)
      }
      scale += 1
    }
    ofShortest(new JBigDecimal(java.lang.Double.toString(value)))
  }

  /** The payload of a computed float in its canonical form. */
  def ofFloat(value: Float): Long =
    if (value == 0.0f || value.isNaN || value.isInfinite) ofDouble(value.toDouble)
    else ofShortest(new JBigDecimal(java.lang.Float.toString(value)))

  private def ofShortest(decimal: JBigDecimal): Long = {
    val stripped = decimal.stripTrailingZeros
    if (stripped.unscaledValue.bitLength >= FloatBits) Absent
    else ofMantissa(stripped.unscaledValue.longValue, -stripped.scale)
  }

  private def ofMantissa(value: Long, power: Int): Long = {
    var mantissa = value
    var exponent = power
    while (mantissa % 10 == 0) {
      mantissa /= 10
      exponent += 1
    }
    exponent += ByteSink.digits(math.abs(mantissa)) - 1
    if (!fits(mantissa, FloatBits) || exponent < -127 || exponent > 127) Absent
    else floating(mantissa, exponent)
  }

  private def floatMantissa(payload: Long): Long = payload << (64 - FloatBits) >> (64 - FloatBits)
  private def floatExponent(payload: Long): Int = (payload >>> FloatBits).toByte.toInt
  private def isPlain(payload: Long): Boolean = (payload & PlainFlag) != 0

  def appendDouble(payload: Long, out: ByteSink): Unit = {
    val mantissa = floatMantissa(payload)
    val exponent = floatExponent(payload)
    if (isPlain(payload)) appendPlain(mantissa, exponent, out)
    else if (exponent == SpecialExponent) out.appendAscii(specials(mantissa.toInt))
    else {
      if (mantissa < 0) out.appendByte('-')
      val digits = math.abs(mantissa)
      val rest = ByteSink.digits(digits) - 1
      val unit = powerOfTen(rest)
      out.appendLong(digits / unit)
      out.appendByte('.')
      out.appendPadded(digits % unit, math.max(1, rest))
      out.appendByte('E')
      out.appendLong(exponent)
    }
  }

  def doubleValue(payload: Long): Double =
    if (isSpecial(payload)) specialValues(floatMantissa(payload).toInt)
    else scaled(floatMantissa(payload), powerOf(payload))

  def floatValue(payload: Long): Float = {
    val mantissa = floatMantissa(payload)
    if (isSpecial(payload)) specialValues(mantissa.toInt).toFloat
    else if (powerOf(payload) == 0 && math.abs(mantissa) < (1 << 24)) mantissa.toFloat
    // Rounding to a double first and then to a float may round twice, so the decimal goes in whole.
    else java.lang.Float.parseFloat(s"${mantissa}E${powerOf(payload)}")
  }

  private def isSpecial(payload: Long): Boolean =
    !isPlain(payload) && floatExponent(payload) == SpecialExponent

  /** The power of ten that the mantissa is to be multiplied by. */
  private def powerOf(payload: Long): Int =
    if (isPlain(payload)) -floatExponent(payload)
    else floatExponent(payload) - ByteSink.digits(math.abs(floatMantissa(payload))) + 1

  /** mantissa * 10^power, rounded once: both factors are exact doubles on the short way. */
  private def scaled(mantissa: Long, power: Int): Double =
    if (math.abs(mantissa) <= (1L << 53) && power >= -22 && power <= 22) {
      if (power >= 0) mantissa * powers(power) else mantissa / powers(-power)
    } else new JBigDecimal(BigInteger.valueOf(mantissa), -power).doubleValue

  // ---- plain forms: "21", "-0.50" --------------------------------------------------------------

  /** Digits after the point, or -1 when this is not digits with at most one point between digits.
    */
  private def plainScale(a: Array[Byte], from: Int, until: Int): Int = {
    var at = until - 1
    while (at > from && a(at) != '.') at -= 1
    if (until <= from) -1
    else if (a(at) != '.') 0
    else if (at == from || at == until - 1) -1
    else until - at - 1
  }

  /** All digits as one number, `Absent` when the form is not the one that `appendPlain` writes. */
  private def plainMantissa(a: Array[Byte], from: Int, until: Int): Long = {
    val negative = a(from) == '-'
    val first = if (negative) from + 1 else from
    if (until - first > 35 || first >= until || a(first) == '.') return Absent
    if (a(first) == '0' && first + 1 < until && a(first + 1) != '.') return Absent
    var value = 0L
    var points = 0
    var at = first
    while (at < until) {
      if (a(at) == '.') points += 1
      else {
        val digit = a(at) - '0'
        if (digit < 0 || digit > 9 || value > Long.MaxValue / 10 - 1) return Absent
        value = value * 10 + digit
      }
      at += 1
    }
    if (points > 1 || (negative && value == 0)) Absent else if (negative) -value else value
  }

  private def appendPlain(mantissa: Long, scale: Int, out: ByteSink): Unit = {
    if (mantissa < 0) out.appendByte('-')
    val digits = math.abs(mantissa)
    if (scale == 0) out.appendLong(digits)
    else if (scale > 18) {
      out.appendAscii("0.")
      out.appendPadded(digits, scale)
    } else {
      val unit = powerOfTen(scale)
      out.appendLong(digits / unit)
      out.appendByte('.')
      out.appendPadded(digits % unit, scale)
    }
  }

  private def powerOfTen(exponent: Int): Long = {
    var power = 1L
    var i = 0
    while (i < exponent) {
      power *= 10
      i += 1
    }
    power
  }

  private def sameAscii(a: Array[Byte], from: Int, until: Int, text: String): Boolean = {
    var at = 0
    if (until - from != text.length) return false
    while (at < text.length && a(from + at) == text.charAt(at)) at += 1
    at == text.length
  }
}
