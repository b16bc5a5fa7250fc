package org.apache.spark.sql.cqels
package columns

import java.math.{BigDecimal => JBigDecimal}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.{DateTimeException, Instant, LocalDate, ZoneOffset}

import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.rdf.{MalformedLine, NQuadsReader, NTriplesChars, SimpleLine}
import org.apache.spark.sql.cqels.terms.{TermCodec, TermText}

/** Reads the cells of a column as terms: N-Triples syntax, bare absolute IRIs but as objects, and as objects also numbers, booleans,
 *  moments and days, as literals of XSD's types.
 *
 *  `rdf12` and `accepts` as [[org.apache.spark.sql.cqels.rdf.NQuadsReader]] has them; blank nodes keep their labels.
 */
private[cqels] final class TermReader(rdf12: Boolean, accepts: Boolean) {
  import TermReader._

  private val reader = new NQuadsReader("", false, rdf12, accepts)

  /** Appends a term's canonical text, or what is wrong with the cell; tells which of both, or that the text stands in the
   *  column's bytes and nothing was appended.
   */
  def read(column: RowColumn, row: Int, role: Int, out: ByteSink): Byte = column match {
    case texts: TextColumn => readText(texts, row, role, out)
    case other =>
      val text = try lexical(other, row) catch { case _: DateTimeException => null }
      if (text == null) {
        out.append(s"${Names(role)} out of range".getBytes(UTF_8))
        Flawed
      } else if (role == Object) {
        appendLiteral(other, row, text, out)
        Term
      } else readSlowly(text, role, out)
  }

  private def readText(column: TextColumn, row: Int, role: Int, out: ByteSink): Byte = {
    val (bytes, from, until) = (column.bytes, column.from(row), column.until(row))
    if (SimpleLine.endOfIri(bytes, from, until) == until) AsItStands
    else if (role == Object && SimpleLine.endOfLiteral(bytes, from, until) == until) AsItStands
    else if (role != Object && isBareIri(bytes, from, until)) {
      out.appendByte('<')
      out.append(bytes, from, until - from)
      out.appendByte('>')
      Term
    } else readSlowly(column.text(row), role, out)
  }

  private def readSlowly(text: String, role: Int, out: ByteSink): Byte = {
    val term = try reader.parseTerm(text) catch { case _: MalformedLine => null }
    val quoted = term != null && term.startsWith("<<")
    if (term == null) out.append(s"${Names(role)} ${shown(text)} is not an RDF term in N-Triples syntax".getBytes(UTF_8))
    else if (allowed(role, term, quoted)) out.append(term.getBytes(UTF_8))
    else out.append(s"$term cannot be a ${Names(role)}".getBytes(UTF_8))
    if (term == null || !allowed(role, term, quoted)) Flawed
    else if (term.startsWith("_:") || quoted && term.contains("_:")) Scoped
    else Term
  }

  private def allowed(role: Int, term: String, quoted: Boolean): Boolean = role match {
    case Object => true
    case Subject => term.charAt(0) != '"' && !(quoted && rdf12)
    case Predicate => term.charAt(0) == '<' && !quoted
    case _ => term.charAt(0) != '"' && !quoted
  }
}

private[cqels] object TermReader {
  final val Subject = 0
  final val Predicate = 1
  final val Object = 2
  final val Graph = 3
  val Names: Array[String] = Array("subject", "predicate", "object", "graph")

  // What a cell is.
  final val Unread: Byte = 0
  final val AsItStands: Byte = 1
  final val Term: Byte = 2
  /** A blank node, or a term with one in it: another one in each element. */
  final val Scoped: Byte = 3
  final val Flawed: Byte = 4

  private def isBareIri(bytes: Array[Byte], from: Int, until: Int): Boolean = {
    var i = SimpleLine.endOfBareIri(bytes, from, until)
    // Beyond ASCII every character may follow.
    while (i >= 0 && i < until && { val c = bytes(i); c < 0 || NTriplesChars.inIri(c) }) i += 1
    i == until
  }

  private def appendLiteral(column: RowColumn, row: Int, text: String, out: ByteSink): Unit = {
    out.appendByte('"')
    out.append(text.getBytes(UTF_8))
    out.appendAscii("\"^^<" + TermCodec.Xsd)
    out.appendAscii(column match {
      case _: LongColumn => "integer"
      case _: DoubleColumn => "double"
      case _: BooleanColumn => "boolean"
      case decimals: DecimalColumn => if (decimals.values(row).scale <= 0) "integer" else "decimal"
      case _: TimestampColumn => "dateTime"
      case _: DateColumn => "date"
      case _: TextColumn | _: CodedColumn => throw new IllegalArgumentException(column.name)
    })
    out.appendByte('>')
  }

  /** The lexical form of a value in its XSD datatype; numbers as Python writes them. */
  def lexical(column: RowColumn, row: Int): String = column match {
    case texts: TextColumn => texts.text(row)
    case numbers: LongColumn => numbers.values(row).toString
    case numbers: DoubleColumn => ofDouble(numbers.values(row), numbers.single)
    case truths: BooleanColumn => truths.value(row).toString
    case decimals: DecimalColumn => decimals.values(row).toPlainString
    case moments: TimestampColumn => ofMoment(moments, row)
    case dates: DateColumn => LocalDate.ofEpochDay(dates.days(row)).toString.stripPrefix("+")
    case coded: CodedColumn => lexical(coded.values, coded.code(row))
  }

  private def ofDouble(value: Double, single: Boolean): String =
    if (value.isNaN) "NaN"
    else if (value.isInfinite) if (value > 0) "INF" else "-INF"
    else if (value == 0) if (1 / value < 0) "-0.0" else "0.0"
    else {
      val shortest = new JBigDecimal(if (single) value.toFloat.toString else value.toString).stripTrailingZeros
      val digits = shortest.unscaledValue.abs.toString
      val exponent = digits.length - 1 - shortest.scale
      if (exponent >= -4 && exponent < 16) {
        val plain = shortest.toPlainString
        if (plain.indexOf('.') < 0) plain + ".0" else plain
      } else {
        val mantissa = if (digits.length == 1) digits else s"${digits.charAt(0)}.${digits.substring(1)}"
        val size = math.abs(exponent)
        s"${if (value < 0) "-" else ""}${mantissa}e${if (exponent < 0) "-" else "+"}${if (size < 10) "0" else ""}$size"
      }
    }

  private def ofMoment(moments: TimestampColumn, row: Int): String = {
    val ticks = moments.values(row)
    val second = Math.floorDiv(ticks, moments.perSecond)
    val nanos = Math.floorMod(ticks, moments.perSecond) * (1000000000L / moments.perSecond)
    val local = Instant.ofEpochSecond(second, nanos).atOffset(ZoneOffset.UTC).toLocalDateTime
    val date = java.time.format.DateTimeFormatter.ISO_LOCAL_DATE_TIME
    // Years of five digits have a sign in Java and none in XML Schema.
    date.format(if (nanos == 0) local.withNano(0) else local).stripPrefix("+") + (if (moments.zone == null) "" else "Z")
  }

  /** A text in quotation marks, as Python shows it. */
  private def shown(text: String): String = {
    val mark = if (text.indexOf('\'') >= 0 && text.indexOf('"') < 0) '"' else '\''
    val out = new java.lang.StringBuilder(text.length + 2).append(mark)
    text.foreach {
      case '\\' => out.append("\\\\")
      case '\n' => out.append("\\n")
      case '\r' => out.append("\\r")
      case '\t' => out.append("\\t")
      case c if c == mark => out.append('\\').append(c)
      case c if c < ' ' || c == 0x7f => out.append(f"\\x${c.toInt}%02x")
      case c => out.append(c)
    }
    out.append(mark).toString
  }
}
