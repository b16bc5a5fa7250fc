package org.apache.spark.sql.cqels
package terms

import java.math.{BigDecimal => JBigDecimal}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.Arrays

import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.rdf.UnknownTermException

/** Terms whose whole meaning is in their id, and questions that an id alone can answer.
  *
  * A literal is inline when its lexical form can be printed back from the id exactly; all other
  * terms belong to the [[Dictionary]]. Inline literals are well-typed, so their values never fail.
  */
object TermCodec {

  final val Xsd = "http://www.w3.org/2001/XMLSchema#"

  /** What stands between the lexical form and the local name of an XSD datatype. */
  private val middle = ("\"^^<" + Xsd).getBytes(US_ASCII)

  private val trueBytes = "true".getBytes(US_ASCII)
  private val falseBytes = "false".getBytes(US_ASCII)

  private final val ValueBits = 54
  private final val ValueMask = (1L << ValueBits) - 1

  /** An integer-derived datatype and the values it allows, as far as 54 bits go. */
  private final class Derived(val name: String, val least: Long, val most: Long)

  private val derived: Array[Derived] = Array(
    new Derived("long", Long.MinValue, Long.MaxValue),
    new Derived("int", Int.MinValue, Int.MaxValue),
    new Derived("short", Short.MinValue, Short.MaxValue),
    new Derived("byte", Byte.MinValue, Byte.MaxValue),
    new Derived("nonNegativeInteger", 0, Long.MaxValue),
    new Derived("positiveInteger", 1, Long.MaxValue),
    new Derived("nonPositiveInteger", Long.MinValue, 0),
    new Derived("negativeInteger", Long.MinValue, -1),
    new Derived("unsignedLong", 0, Long.MaxValue),
    new Derived("unsignedInt", 0, 0xffffffffL),
    new Derived("unsignedShort", 0, 0xffff),
    new Derived("unsignedByte", 0, 0xff)
  )

  /** Local names of the inline datatypes; a name's number is its kind, or 16 + its derived
    * subtype.
    */
  private val names: Array[Array[Byte]] = {
    val all = new Array[Array[Byte]](16 + derived.length)
    all(TermId.Integer) = "integer".getBytes(US_ASCII)
    all(TermId.Decimal) = "decimal".getBytes(US_ASCII)
    all(TermId.Double) = "double".getBytes(US_ASCII)
    all(TermId.Float) = "float".getBytes(US_ASCII)
    all(TermId.Boolean) = "boolean".getBytes(US_ASCII)
    all(TermId.DateTime) = "dateTime".getBytes(US_ASCII)
    derived.indices.foreach(i => all(16 + i) = derived(i).name.getBytes(US_ASCII))
    all
  }

  private val longestName = names.filter(_ != null).map(_.length).max

  private val namesByLength: Array[Array[Int]] = Array.tabulate(longestName + 1) { length =>
    names.indices.filter(n => names(n) != null && names(n).length == length).toArray
  }

  // ---- kinds -----------------------------------------------------------------------------------

  def kind(id: Long): Int = TermId.kind(id)

  def isInline(id: Long): Boolean = TermId.isInline(id)

  def isIri(id: Long): Boolean = TermId.kind(id) == TermId.Iri

  def isBlank(id: Long): Boolean = TermId.kind(id) == TermId.BlankNode

  def isQuoted(id: Long): Boolean = id < 0

  def isLiteral(id: Long): Boolean = id >= (TermId.StringLiteral.toLong << TermId.PayloadBits)

  def isString(id: Long): Boolean = TermId.kind(id) == TermId.StringLiteral

  def isLanguageString(id: Long): Boolean = TermId.kind(id) == TermId.LanguageLiteral

  def isBoolean(id: Long): Boolean = TermId.kind(id) == TermId.Boolean

  def isDateTime(id: Long): Boolean = TermId.kind(id) == TermId.DateTime

  /** True for inline numbers; a number whose lexical form is not canonical is a dictionary
    * literal.
    */
  def isNumeric(id: Long): Boolean = numericRank(id) > 0

  /** Place in the order of numeric type promotion: 1 integer, 2 decimal, 3 float, 4 double, else
    * 0.
    */
  def numericRank(id: Long): Int = TermId.kind(id) match {
    case TermId.Integer | TermId.DerivedInteger => 1
    case TermId.Decimal => 2
    case TermId.Float => 3
    case TermId.Double => 4
    case _ => 0
  }

  /** The datatype IRI (without angle brackets) as far as the id tells it, null for the rest. */
  def datatypeIri(id: Long): String = TermId.kind(id) match {
    case TermId.StringLiteral => Xsd + "string"
    case _ if isInline(id) => Xsd + new String(names(nameOf(id)), US_ASCII)
    case _ => null
  }

  private def nameOf(id: Long): Int = {
    val kind = TermId.kind(id)
    if (kind == TermId.DerivedInteger) 16 + subtype(id) else kind
  }

  private def subtype(id: Long): Int = (TermId.payload(id) >>> ValueBits).toInt

  // ---- text to id and back ---------------------------------------------------------------------

  /** The inline id of a canonical text, 0 when the term needs a dictionary. */
  def inlineId(canonicalText: String): Long = {
    val length = canonicalText.length
    val candidate = length >= middle.length + 4 && canonicalText.charAt(0) == '"' &&
      canonicalText.charAt(length - 1) == '>'
    if (!candidate) 0L
    else {
      val utf8 = canonicalText.getBytes(UTF_8)
      inlineId(utf8, 0, utf8.length)
    }
  }

  def inlineId(utf8: Array[Byte], from: Int, until: Int): Long = {
    if (until - from < middle.length + 4 || utf8(from) != '"' || utf8(until - 1) != '>') return 0L
    var name = until - 2
    val least = math.max(from, name - longestName)
    while (name > least && utf8(name) != '#') name -= 1
    name += 1
    val quote = name - middle.length
    if (quote <= from || !Arrays.equals(utf8, quote, name, middle, 0, middle.length)) return 0L
    val length = until - 1 - name
    if (length > longestName) return 0L
    val candidates = namesByLength(length)
    var i = 0
    while (i < candidates.length) {
      val candidate = names(candidates(i))
      if (Arrays.equals(utf8, name, until - 1, candidate, 0, length))
        return ofLexical(candidates(i), utf8, from + 1, quote)
      i += 1
    }
    0L
  }

  private def ofLexical(name: Int, a: Array[Byte], from: Int, until: Int): Long = name match {
    case TermId.Integer =>
      val value = InlineNumbers.parseInteger(a, from, until)
      if (value == InlineNumbers.Absent) 0L else integerId(value)
    case TermId.Decimal => orZero(name, InlineNumbers.parseDecimal(a, from, until))
    case TermId.Double | TermId.Float => orZero(name, InlineNumbers.parseDouble(a, from, until))
    case TermId.DateTime => orZero(name, InlineDateTime.parse(a, from, until))
    case TermId.Boolean =>
      if (Arrays.equals(a, from, until, trueBytes, 0, 4)) booleanId(true)
      else if (Arrays.equals(a, from, until, falseBytes, 0, 5)) booleanId(false)
      else 0L
    case _ =>
      val value = InlineNumbers.parseInteger(a, from, until)
      if (value == InlineNumbers.Absent) 0L else derivedId(name - 16, value)
  }

  private def orZero(kind: Int, payload: Long): Long =
    if (payload == Long.MinValue) 0L else TermId.of(kind, payload)

  private def derivedId(subtype: Int, value: Long): Long = {
    val fits = value << (64 - ValueBits) >> (64 - ValueBits) == value
    if (!fits || value < derived(subtype).least || value > derived(subtype).most) 0L
    else TermId.of(TermId.DerivedInteger, (subtype.toLong << ValueBits) | (value & ValueMask))
  }

  /** Writes the canonical text of an inline id; throws UnknownTermException for any other id. */
  def appendInline(id: Long, out: ByteSink): Unit = {
    out.appendByte('"')
    appendLexical(id, out)
    out.append(middle)
    out.append(names(nameOf(id)))
    out.appendByte('>')
  }

  /** Writes the lexical form of an inline id alone, as SPARQL's STR() gives it. */
  def appendLexical(id: Long, out: ByteSink): Unit = TermId.kind(id) match {
    case TermId.Integer | TermId.DerivedInteger => out.appendLong(integerValue(id))
    case TermId.Decimal => InlineNumbers.appendDecimal(TermId.payload(id), out)
    case TermId.Double | TermId.Float => InlineNumbers.appendDouble(TermId.payload(id), out)
    case TermId.Boolean => out.appendAscii(if (booleanValue(id)) "true" else "false")
    case TermId.DateTime => InlineDateTime.append(TermId.payload(id), out)
    case _ => throw new UnknownTermException(id)
  }

  def inlineText(id: Long): String = {
    val sink = new ByteSink()
    appendInline(id, sink)
    sink.text
  }

  /** The dictionary id of a canonical text, see [[TermId.hashId]]. */
  def hashId(kind: Int, utf8: Array[Byte], salt: Int, bits: Int = 58): Long =
    TermId.hashId(kind, utf8, salt, bits)

  // ---- values of inline ids --------------------------------------------------------------------

  /** The value of a number, NaN when the id is not an inline number. */
  def doubleValue(id: Long): Double = TermId.kind(id) match {
    case TermId.Integer | TermId.DerivedInteger => integerValue(id).toDouble
    case TermId.Decimal => InlineNumbers.decimalAsDouble(TermId.payload(id))
    case TermId.Double => InlineNumbers.doubleValue(TermId.payload(id))
    case TermId.Float => InlineNumbers.floatValue(TermId.payload(id)).toDouble
    case _ => Double.NaN
  }

  /** The exact value of an integer or decimal, the shortest decimal of a finite float or double,
    * else null.
    */
  def decimalValue(id: Long): JBigDecimal = TermId.kind(id) match {
    case TermId.Integer | TermId.DerivedInteger => JBigDecimal.valueOf(integerValue(id))
    case TermId.Decimal => InlineNumbers.decimalValue(TermId.payload(id))
    case TermId.Double | TermId.Float =>
      val value = doubleValue(id)
      if (value.isNaN || value.isInfinite) null
      else if (TermId.kind(id) == TermId.Float) new JBigDecimal(value.toFloat.toString)
      else new JBigDecimal(value.toString)
    case _ => null
  }

  /** The value of an inline xsd:integer or a type derived from it; 0 for other ids. */
  def integerValue(id: Long): Long = TermId.kind(id) match {
    case TermId.Integer => TermId.signedPayload(id, TermId.PayloadBits)
    case TermId.DerivedInteger => TermId.signedPayload(id, ValueBits)
    case _ => 0L
  }

  def booleanValue(id: Long): Boolean = id == TermId.of(TermId.Boolean, 1)

  /** Milliseconds since 1970 of an inline dateTime; without a zone the wall clock is read as UTC.
    */
  def dateTimeMillis(id: Long): Long = InlineDateTime.millis(TermId.payload(id))

  def dateTimeHasZone(id: Long): Boolean =
    InlineDateTime.zone(TermId.payload(id)) != InlineDateTime.NoZone

  /** The offset from UTC that an inline dateTime is written with, 0 without a zone. */
  def dateTimeOffsetMinutes(id: Long): Int =
    InlineDateTime.offsetMinutes(InlineDateTime.zone(TermId.payload(id)))

  // ---- ids of computed values ------------------------------------------------------------------

  /** The id of an xsd:integer, 0 outside -2^57 until 2^57. */
  def integerId(v: Long): Long =
    if (v << 6 >> 6 == v) TermId.of(TermId.Integer, v) else 0L

  def booleanId(b: Boolean): Long = TermId.of(TermId.Boolean, if (b) 1 else 0)

  /** The id of a double in canonical form ("2.15E1"), 0 when its digits do not fit. */
  def doubleIdOrZero(d: Double): Long = orZero(TermId.Double, InlineNumbers.ofDouble(d))

  def floatIdOrZero(f: Float): Long = orZero(TermId.Float, InlineNumbers.ofFloat(f))

  /** The id of a decimal in canonical form (no trailing zeros, no point when whole), 0 when it
    * does not fit.
    */
  def decimalIdOrZero(d: JBigDecimal): Long = orZero(TermId.Decimal, InlineNumbers.ofDecimal(d))

  /** The id of an instant written in UTC ("Z") with milliseconds only when there are any, or 0. */
  def dateTimeIdOrZero(millis: Long): Long = {
    val digits = if (millis % 1000 == 0) 0 else 3
    orZero(TermId.DateTime, InlineDateTime.of(millis, InlineDateTime.Utc, digits))
  }

  /** The id of an instant written in UTC with milliseconds always, as times of elements are, or 0. */
  def elementTimeIdOrZero(millis: Long): Long = orZero(TermId.DateTime, InlineDateTime.of(millis, InlineDateTime.Utc, 3))
}
