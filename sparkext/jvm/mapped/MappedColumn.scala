package org.apache.spark.sql.cqels
package mapped

import java.math.{BigDecimal => JBigDecimal}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}

import org.apache.arrow.vector._
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

  /** The column of an Arrow vector of texts 64-bit integers, doubles, booleans or timestamps, or of codes of those in `distinct`.
   *  With `mixed`, texts have their datatypes with them.
   */
  def of(vector: FieldVector, distinct: FieldVector, mixed: Boolean): MappedColumn = vector match {
    case indexes: IntVector => new CodedColumn(indexes, of(distinct, null, mixed), distinct.getValueCount)
    case texts: VarCharVector => if (mixed) new MixedTexts(texts) else new Texts(texts)
    case whole: BigIntVector => new Integers(whole)
    case double: Float8Vector => new Doubles(double)
    case truth: BitVector => new Booleans(truth)
    case time: TimeStampVector => new Times(time)
    case other => throw new IllegalArgumentException(s"no mapped rows of ${other.getField}")
  }
}

private[mapped] final class Texts(vector: VarCharVector) extends MappedColumn {
  def isNull(row: Int): Boolean = vector.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = out.append(vector.get(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = ()
}

/** Lexical forms of several datatypes: after each stand a character 0 and the IRI of its datatype, which is empty for plain texts. */
private[mapped] final class MixedTexts(vector: VarCharVector) extends MappedColumn {
  def isNull(row: Int): Boolean = vector.isNull(row)

  def appendLexical(row: Int, out: ByteSink): Unit = {
    val text = vector.get(row)
    out.append(text, 0, end(text))
  }

  override def appendPlain(row: Int, out: ByteSink): Unit = {
    val text = vector.get(row)
    val number = new String(text, 0, end(text), UTF_8)
    if (datatype(text) == TermCodec.Xsd + "double" && number.contains('E')) Doubles.appendPlain(new JBigDecimal(number), out)
    else out.append(text, 0, end(text))
  }

  def appendSuffix(row: Int, out: ByteSink): Unit = {
    val iri = datatype(vector.get(row))
    if (iri.nonEmpty) out.append(s"^^<$iri>".getBytes(UTF_8))
  }

  private def datatype(text: Array[Byte]): String = { val from = end(text) + 1; new String(text, from, text.length - from, UTF_8) }

  /** Where the lexical form ends; it may have the character itself. */
  private def end(text: Array[Byte]): Int = { var at = text.length - 1; while (text(at) != 0) at -= 1; at }
}

/** Values by code: each distinct one stands in `values` once. */
private[mapped] final class CodedColumn(indexes: IntVector, values: MappedColumn, override val codes: Int) extends MappedColumn {
  def isNull(row: Int): Boolean = indexes.isNull(row) || values.isNull(indexes.get(row))
  override def code(row: Int): Int = indexes.get(row)
  def appendLexical(row: Int, out: ByteSink): Unit = values.appendLexical(indexes.get(row), out)
  override def appendPlain(row: Int, out: ByteSink): Unit = values.appendPlain(indexes.get(row), out)
  override def naturalId(row: Int): Long = values.naturalId(indexes.get(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = values.appendSuffix(indexes.get(row), out)
}

private[mapped] final class Integers(vector: BigIntVector) extends MappedColumn {
  def isNull(row: Int): Boolean = vector.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = out.appendLong(vector.get(row))
  override def naturalId(row: Int): Long = TermCodec.integerId(vector.get(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("integer")
}

private[mapped] final class Booleans(vector: BitVector) extends MappedColumn {
  def isNull(row: Int): Boolean = vector.isNull(row)
  override def codes: Int = 2
  override def code(row: Int): Int = vector.get(row)
  def appendLexical(row: Int, out: ByteSink): Unit = out.appendAscii(if (vector.get(row) != 0) "true" else "false")
  override def naturalId(row: Int): Long = TermCodec.booleanId(vector.get(row) != 0)
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("boolean")
}

/** Doubles in their canonical form: "2.15E1". */
private[mapped] final class Doubles(vector: Float8Vector) extends MappedColumn {
  def isNull(row: Int): Boolean = vector.isNull(row)
  def appendLexical(row: Int, out: ByteSink): Unit = Doubles.append(vector.get(row), out)
  override def appendPlain(row: Int, out: ByteSink): Unit = {
    val value = vector.get(row)
    if (value.isNaN || value.isInfinite) Doubles.append(value, out)
    else Doubles.appendPlain(new JBigDecimal(java.lang.Double.toString(value)), out)
  }
  override def naturalId(row: Int): Long = TermCodec.doubleIdOrZero(vector.get(row))
  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("double")
}

private[mapped] object Doubles {
  def appendPlain(value: JBigDecimal, out: ByteSink): Unit =
    if (value.signum == 0) out.appendByte('0') else out.appendAscii(value.stripTrailingZeros.toPlainString)

  def append(value: Double, out: ByteSink): Unit = {
    val payload = InlineNumbers.ofDouble(value)
    if (payload != InlineNumbers.Absent) InlineNumbers.appendDouble(payload, out)
    else {
      // More digits than fit into an id.
      val decimal = new JBigDecimal(java.lang.Double.toString(value)).stripTrailingZeros
      val digits = decimal.unscaledValue.abs.toString
      if (decimal.signum < 0) out.appendByte('-')
      out.appendAscii(digits.substring(0, 1) + "." + (if (digits.length > 1) digits.substring(1) else "0"))
      out.appendAscii("E" + (digits.length - 1 - decimal.scale))
    }
  }
}

/** Instants, which are written in UTC, and times of the day and year without a zone; no more digits of a second than they need. */
private[mapped] final class Times(vector: TimeStampVector) extends MappedColumn {
  private val (perSecond, zoned) = Times.unit(vector)

  def isNull(row: Int): Boolean = vector.isNull(row)

  def appendLexical(row: Int, out: ByteSink): Unit = {
    val ticks = vector.get(row)
    val payload = Times.payload(ticks, perSecond, zoned)
    if (payload != InlineDateTime.Absent) InlineDateTime.append(payload, out)
    else out.append(Times.text(ticks, perSecond, zoned).getBytes(US_ASCII))
  }

  override def naturalId(row: Int): Long = {
    val payload = Times.payload(vector.get(row), perSecond, zoned)
    if (payload == InlineDateTime.Absent) 0L else TermId.of(TermId.DateTime, payload)
  }

  def appendSuffix(row: Int, out: ByteSink): Unit = out.append(suffix)
  private val suffix = MappedColumn.xsd("dateTime")
}

private[mapped] object Times {
  def unit(vector: TimeStampVector): (Long, Boolean) = vector match {
    case _: TimeStampSecVector => (1L, false)
    case _: TimeStampSecTZVector => (1L, true)
    case _: TimeStampMilliVector => (1000L, false)
    case _: TimeStampMilliTZVector => (1000L, true)
    case _: TimeStampMicroVector => (1000000L, false)
    case _: TimeStampMicroTZVector => (1000000L, true)
    case _: TimeStampNanoVector => (1000000000L, false)
    case _: TimeStampNanoTZVector => (1000000000L, true)
    case other => throw new IllegalArgumentException(s"no times of ${other.getField}")
  }

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
    val clock = f"${moment.getHour}%02d:${moment.getMinute}%02d:${moment.getSecond}%02d"
    val digits = perSecond.toString.length - 1
    val rest =
      if (fraction == 0) ""
      else "." + ("0" * (digits - fraction.toString.length) + fraction.toString).reverse.dropWhile(_ == '0').reverse
    s"${date}T$clock$rest${if (zoned) "Z" else ""}"
  }
}
