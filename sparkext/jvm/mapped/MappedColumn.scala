package org.apache.spark.sql.cqels
package mapped

import java.math.{BigDecimal => JBigDecimal, MathContext, RoundingMode}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}

import org.apache.spark.sql.cqels.columns._
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.terms.{InlineDateTime, InlineNumbers, TermCodec, TermId}

/** A column of the rows of a batch, as mappings read it: texts, or values with a natural datatype (R2RML, section 10.2). */
private[mapped] abstract class MappedColumn {
  def isNull(row: Int): Boolean
  /** How many distinct values it has by code; 0: it has no codes. */
  def codes: Int = 0
  def code(row: Int): Int = -1
  /** Writes the lexical form of a value that is not null. */
  def appendLexical(row: Int, out: ByteSink): Unit
  /** Writes it as xsd:decimal has it: without an exponent. */
  def appendPlain(row: Int, out: ByteSink): Unit = appendLexical(row, out)
  /** The natural literal as an id that needs no dictionary, else 0. */
  def naturalId(row: Int): Long = 0L
  /** Writes what follows the lexical form of the natural literal after its quote: a datatype, or nothing. */
  def appendSuffix(row: Int, out: ByteSink): Unit
}

private[mapped] object MappedColumn {
  def xsd(name: String): Array[Byte] = s"^^<${TermCodec.Xsd}$name>".getBytes(US_ASCII)

  /** A column of rows; with `mixed`, texts have their datatypes with them. */
  def of(column: RowColumn, mixed: Boolean): MappedColumn = column match {
    case coded: CodedColumn =>
      val values = coded.values match {
        case texts: TextColumn => if (mixed) new MixedTexts(texts) else new Texts(texts)
        case others => of(others, mixed)
      }
      new CodedValues(coded, values)
    case texts: TextColumn => repeated(texts, if (mixed) new MixedTexts(texts) else new Texts(texts))
    case whole: LongColumn => new Integers(whole)
    case double: DoubleColumn => new Doubles(double)
    case truth: BooleanColumn => new Booleans(truth)
    case time: TimestampColumn => new Times(time)
    case decimal: DecimalColumn => new Decimals(decimal)
    case date: DateColumn => new Dates(date)
  }

  /** Texts by code, where a text stands for several rows on average; a code is the first row that has its text. */
  private def repeated(column: TextColumn, texts: MappedColumn): MappedColumn = {
    val coded = column.coded
    var distinct = 0
    var row = 0
    while (row < column.rows) { if (coded.code(row) == row) distinct += 1; row += 1 }
    if (2L * distinct > column.rows) texts else new CodedValues(coded, texts)
  }
}

private[mapped] final class Texts(column: TextColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = out.append(column.bytes, column.from(row), column.until(row) - column.from(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = ()
}

/** Lexical forms of several datatypes: after each stand a character 0 and the IRI of its datatype, which is empty for plain texts. */
private[mapped] final class MixedTexts(column: TextColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)

  def appendLexical(row: Int, out: ByteSink): Unit = out.append(column.bytes, column.from(row), end(row) - column.from(row))

  override def appendPlain(row: Int, out: ByteSink): Unit = {
    val number = new String(column.bytes, column.from(row), end(row) - column.from(row), UTF_8)
    if (datatype(row) == TermCodec.Xsd + "double" && number.contains('E')) Doubles.appendPlain(new JBigDecimal(number), out)
    else appendLexical(row, out)
  }

  def appendSuffix(row: Int, out: ByteSink): Unit = {
    val iri = datatype(row)
    if (iri.nonEmpty) out.append(s"^^<$iri>".getBytes(UTF_8))
  }

  private def datatype(row: Int): String = { val from = end(row) + 1; new String(column.bytes, from, column.until(row) - from, UTF_8) }

  /** Where the lexical form ends; it may have the character itself. */
  private def end(row: Int): Int = { var at = column.until(row) - 1; while (column.bytes(at) != 0) at -= 1; at }
}

/** Values by code: each distinct one stands in `values` once. */
private[mapped] final class CodedValues(column: CodedColumn, values: MappedColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  override def codes: Int = column.values.rows
  override def code(row: Int): Int = column.code(row)
  def appendLexical(row: Int, out: ByteSink): Unit = values.appendLexical(column.code(row), out)
  override def appendPlain(row: Int, out: ByteSink): Unit = values.appendPlain(column.code(row), out)
  override def naturalId(row: Int): Long = values.naturalId(column.code(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = values.appendSuffix(column.code(row), out)
}

/** A column in which values with some lexical forms stand for null. */
private[mapped] final class WithNulls(column: MappedColumn, nulls: Set[String]) extends MappedColumn {
  private val known = new Array[Byte](column.codes) // 1: a value, 2: null

  def isNull(row: Int): Boolean =
    column.isNull(row) || {
      if (codes == 0) isOne(row)
      else {
        val code = column.code(row)
        if (known(code) == 0) known(code) = if (isOne(row)) 2 else 1
        known(code) == 2
      }
    }

  private def isOne(row: Int): Boolean = nulls(MappedTexts.of(column, row))
  override def codes: Int = column.codes
  override def code(row: Int): Int = column.code(row)
  def appendLexical(row: Int, out: ByteSink): Unit = column.appendLexical(row, out)
  override def appendPlain(row: Int, out: ByteSink): Unit = column.appendPlain(row, out)
  override def naturalId(row: Int): Long = column.naturalId(row)
  def appendSuffix(row: Int, out: ByteSink): Unit = column.appendSuffix(row, out)
}

private[mapped] final class Integers(column: LongColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = out.appendLong(column.values(row))
  override def naturalId(row: Int): Long = TermCodec.integerId(column.values(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("integer")
}

private[mapped] final class Booleans(column: BooleanColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  override def codes: Int = 2
  override def code(row: Int): Int = if (column.value(row)) 1 else 0
  def appendLexical(row: Int, out: ByteSink): Unit = out.appendAscii(if (column.value(row)) "true" else "false")
  override def naturalId(row: Int): Long = TermCodec.booleanId(column.value(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("boolean")
}

/** Decimals without zeros at their end. */
private[mapped] final class Decimals(column: DecimalColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = Doubles.appendPlain(column.values(row), out)
  override def naturalId(row: Int): Long = TermCodec.decimalIdOrZero(column.values(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("decimal")
}

private[mapped] final class Dates(column: DateColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit =
    out.appendAscii(java.time.LocalDate.ofEpochDay(column.days(row).toLong).toString.stripPrefix("+"))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("date")
}

/** Floating-point numbers in the canonical form of doubles: "2.15E1". Those that were floats have no more digits than these need. */
private[mapped] final class Doubles(column: DoubleColumn) extends MappedColumn {
  def isNull(row: Int): Boolean = column.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = Doubles.append(value(row), out)
  override def appendPlain(row: Int, out: ByteSink): Unit = {
    val number = value(row)
    if (number.isNaN || number.isInfinite) Doubles.append(number, out) else Doubles.appendPlain(Doubles.shortest(number), out)
  }
  override def naturalId(row: Int): Long = TermCodec.doubleIdOrZero(value(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("double")

  private def value(row: Int): Double = {
    val number = column.values(row)
    if (!column.single || number.isNaN || number.isInfinite || number == 0) number else Doubles.ofFloat(number.toFloat)
  }
}

private[mapped] object Doubles {
  def appendPlain(value: JBigDecimal, out: ByteSink): Unit =
    if (value.signum == 0) out.appendByte('0') else out.appendAscii(value.stripTrailingZeros.toPlainString)

  /** The decimal with the fewest digits that is this double, which must be finite, and of these the nearest. */
  def shortest(value: Double): JBigDecimal = {
    val exact = new JBigDecimal(value)
    var digits = 1
    while (digits < 17) {
      val rounded = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN))
      if (rounded.doubleValue == value) return rounded
      // Mostly there are few digits, or all.
      digits = if (digits < 15) digits + 2 else digits + 1
    }
    exact.round(new MathContext(17, RoundingMode.HALF_EVEN))
  }

  /** The double that is written as a float is. */
  def ofFloat(value: Float): Double = {
    val exact = new JBigDecimal(value.toDouble)
    var digits = 1
    while (digits < 9) {
      val rounded = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN))
      if (rounded.floatValue == value) return rounded.doubleValue
      digits += 1
    }
    exact.round(new MathContext(9, RoundingMode.HALF_EVEN)).doubleValue
  }

  def append(value: Double, out: ByteSink): Unit = {
    val payload = InlineNumbers.ofDouble(value)
    if (payload != InlineNumbers.Absent) InlineNumbers.appendDouble(payload, out)
    else {
      // More digits than fit into an id.
      val decimal = shortest(value).stripTrailingZeros
      val digits = decimal.unscaledValue.abs.toString
      if (decimal.signum < 0) out.appendByte('-')
      out.appendAscii(digits.substring(0, 1) + "." + (if (digits.length > 1) digits.substring(1) else "0"))
      out.appendAscii("E" + (digits.length - 1 - decimal.scale))
    }
  }
}

/** Instants, which are written in UTC, and times of the day and year without a zone; no more digits of a second than they need. */
private[mapped] final class Times(column: TimestampColumn) extends MappedColumn {
  private val perSecond = column.perSecond
  private val zoned = column.zone != null

  def isNull(row: Int): Boolean = column.isNull(row)

  def appendLexical(row: Int, out: ByteSink): Unit = {
    val ticks = column.values(row)
    val payload = Times.payload(ticks, perSecond, zoned)
    if (payload != InlineDateTime.Absent) InlineDateTime.append(payload, out)
    else out.append(Times.text(ticks, perSecond, zoned).getBytes(US_ASCII))
  }

  override def naturalId(row: Int): Long = {
    val payload = Times.payload(column.values(row), perSecond, zoned)
    if (payload == InlineDateTime.Absent) 0L else TermId.of(TermId.DateTime, payload)
  }

  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("dateTime")
}

private[mapped] object Times {
  /** Milliseconds since 1970, what is finer cut off. */
  def millis(ticks: Long, perSecond: Long): Long =
    if (perSecond >= 1000) Math.floorDiv(ticks, perSecond / 1000) else Math.multiplyExact(ticks, 1000L)

  /** The payload of an inline dateTime, where it fits. */
  def payload(ticks: Long, perSecond: Long, zoned: Boolean): Long = {
    if (perSecond > 1000 && Math.floorMod(ticks, perSecond / 1000) != 0) return InlineDateTime.Absent
    val instant = millis(ticks, perSecond)
    val fraction = Math.floorMod(instant, 1000L)
    val digits = if (fraction == 0) 0 else if (fraction % 100 == 0) 1 else if (fraction % 10 == 0) 2 else 3
    InlineDateTime.of(instant, if (zoned) InlineDateTime.Utc else InlineDateTime.NoZone, digits)
  }

  def text(ticks: Long, perSecond: Long, zoned: Boolean): String = {
    val seconds = Math.floorDiv(ticks, perSecond)
    val fraction = Math.floorMod(ticks, perSecond)
    val moment = java.time.LocalDateTime.ofEpochSecond(seconds, 0, java.time.ZoneOffset.UTC)
    val date = moment.toLocalDate.toString.stripPrefix("+")
    val clock = "%02d:%02d:%02d".formatLocal(java.util.Locale.ROOT, moment.getHour, moment.getMinute, moment.getSecond)
    val digits = perSecond.toString.length - 1
    val rest =
      if (fraction == 0) ""
      else "." + ("0" * (digits - fraction.toString.length) + fraction.toString).reverse.dropWhile(_ == '0').reverse
    s"${date}T$clock$rest${if (zoned) "Z" else ""}"
  }
}
