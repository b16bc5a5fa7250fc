package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, BigInteger}

import org.apache.spark.sql.cqels.terms.{TermCodec, TermId, TermText}

/** Numeric terms whether they live in their id or, too long or not canonical, in the dictionary ("007"^^xsd:integer). */
private[cqels] object Numbers {
  val IntegerRank = 1
  val DecimalRank = 2
  val FloatRank = 3
  val DoubleRank = 4

  /** Numeric promotion rank: 0 not numeric, then integer, decimal, float, double. */
  def rank(room: Long, id: Long): Int =
    if (id <= 0) 0
    else if (TermCodec.isInline(id)) TermCodec.numericRank(id)
    else if (TermId.kind(id) != TermId.TypedLiteral) 0
    else {
      val text = TermValues.text(room, id)
      val rank = rankOf(TermText.datatype(text))
      // Nobody computes with more digits than that; the longer the numbers, the longer it takes, without end.
      if (rank == 0 || (rank < FloatRank && text.length > Bounds.MostWritten) || illTyped(text)) 0 else rank
    }

  private val Xsd = "http://www.w3.org/2001/XMLSchema#"
  private val AnyInteger = Xsd + "integer"
  private val IntegerTypes = Set("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger",
    "nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte").map(Xsd + _)

  private def rankOf(datatype: String): Int =
    if (IntegerTypes(datatype)) IntegerRank
    else if (datatype == Xsd + "decimal") DecimalRank
    else if (datatype == Xsd + "float") FloatRank
    else if (datatype == Xsd + "double") DoubleRank
    else 0

  /** Whether the text is of a numeric or boolean type but stands for none of its values. */
  def illTyped(text: String): Boolean = {
    val datatype = TermText.datatype(text)
    val rank = rankOf(datatype)
    if (rank == 0) datatype == Xsd + "boolean" && boolean(text) == null
    else {
      val lexical = TermText.trimmed(TermText.lexical(text))
      !isForm(lexical, rank) || (rank == IntegerRank && datatype != AnyInteger && lexical.length <= Bounds.MostDigits &&
        !Casts.holds(datatype.substring(Xsd.length), new BigInteger(lexical)))
    }
  }

  private val integerForm = "[+-]?[0-9]+".r.pattern
  private val decimalForm = "[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)".r.pattern
  private val floatingForm = "[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN".r.pattern

  /** Whether a text without white space around it is a lexical form of a numeric type. */
  def isForm(lexical: String, rank: Int): Boolean =
    (if (rank == IntegerRank) integerForm else if (rank == DecimalRank) decimalForm else floatingForm).matcher(lexical).matches

  /** The value of a boolean that is not in its id ("1", "0"); null for other texts. */
  def boolean(text: String): java.lang.Boolean =
    if (TermText.datatype(text) != Xsd + "boolean") null
    else TermText.trimmed(TermText.lexical(text)) match {
      case "true" | "1" => true
      case "false" | "0" => false
      case _ => null
    }

  def double(room: Long, id: Long): Double =
    if (TermCodec.isInline(id)) TermCodec.doubleValue(id)
    else {
      val text = TermValues.text(room, id)
      parseFloating(TermText.trimmed(TermText.lexical(text)), rankOf(TermText.datatype(text)))
    }

  /** The value as float or double arithmetic takes it: every operand is promoted to the highest type among them. */
  def promoted(room: Long, id: Long, rank: Int): Double = {
    val value = double(room, id)
    if (rank == FloatRank) value.toFloat.toDouble else value
  }

  /** Whether a number is neither zero nor NaN; a decimal may be nearer to zero than doubles are. */
  def isTrue(room: Long, id: Long): Boolean =
    if (!TermCodec.isInline(id) && rank(room, id) == DecimalRank) decimal(room, id).signum != 0
    else { val value = double(room, id); !(value == 0 || value.isNaN) }

  /** The value of a lexical form, of the nearest float or, of other types, double: by way of a double a float would be rounded twice. */
  private[cqels] def parseFloating(lexical: String, rank: Int): Double = lexical match {
    case "INF" | "+INF" => Double.PositiveInfinity
    case "-INF" => Double.NegativeInfinity
    case "NaN" => Double.NaN
    case other => if (rank == FloatRank) other.toFloat.toDouble else other.toDouble
  }

  def decimal(room: Long, id: Long): JBigDecimal =
    if (TermCodec.isInline(id)) TermCodec.decimalValue(id) else new JBigDecimal(TermText.trimmed(TermValues.lexical(room, id)))

  /** Compares numbers of any types by their exact values, NaN last: unlike `<`, which promotes to doubles, always transitive. */
  def compareExact(room: Long, a: Long, b: Long): Int = {
    val x = double(room, a)
    val y = double(room, b)
    if (x.isInfinite && x == y) compareEndless(room, a, b, x)
    // Only values that are close as doubles may be in another order exactly.
    else if (x.isNaN || y.isNaN || x.isInfinite || y.isInfinite || math.abs(x - y) > math.abs(x) * 1e-9) java.lang.Double.compare(x, y)
    else exact(room, a, x).compareTo(exact(room, b, y))
  }

  /** Of two numbers that are infinite as doubles: integers and decimals are so by their size alone, and within the true ones. */
  private def compareEndless(room: Long, a: Long, b: Long, end: Double): Int = {
    val (infinite, other) = (rank(room, a) >= FloatRank, rank(room, b) >= FloatRank)
    if (!infinite && !other) decimal(room, a).compareTo(decimal(room, b))
    else if (infinite == other) 0
    else if (infinite == (end > 0)) 1
    else -1
  }

  private def exact(room: Long, id: Long, value: Double): JBigDecimal =
    if (rank(room, id) >= FloatRank) new JBigDecimal(value) else decimal(room, id)

  def integerTerm(room: Long, value: Long): Long = {
    val inline = TermCodec.integerId(value)
    if (inline != 0) inline else encodeInteger(room, value.toString)
  }

  def integerTerm(room: Long, value: BigInteger): Long =
    if (value.bitLength < 64) integerTerm(room, value.longValue) else encodeInteger(room, value.toString)

  private def encodeInteger(room: Long, digits: String): Long = TermValues.encode(room, s""""$digits"^^<${Xsd}integer>""")

  def decimalTerm(room: Long, value: JBigDecimal): Long = {
    val plain = if (value.signum == 0) JBigDecimal.ZERO else value.stripTrailingZeros
    val scaled = if (plain.scale < 1) plain.setScale(1) else plain
    TermValues.encode(room, s""""${scaled.toPlainString}"^^<${Xsd}decimal>""")
  }

  def floatingTerm(room: Long, value: Double, rank: Int): Long =
    if (rank == FloatRank) {
      val inline = TermCodec.floatIdOrZero(value.toFloat)
      if (inline != 0) inline else TermValues.encode(room, s""""${canonical(value.toFloat.toString)}"^^<${Xsd}float>""")
    } else {
      val inline = TermCodec.doubleIdOrZero(value)
      if (inline != 0) inline else TermValues.encode(room, s""""${canonical(value.toString)}"^^<${Xsd}double>""")
    }

  /** XSD's canonical form of what Java prints: one digit before the point, an exponent always. */
  private def canonical(java: String): String = java match {
    case "Infinity" => "INF"
    case "-Infinity" => "-INF"
    case "NaN" => "NaN"
    case number =>
      val value = new JBigDecimal(number)
      if (value.signum == 0) (if (number.startsWith("-")) "-0.0E0" else "0.0E0")
      else {
        val digits = value.unscaledValue.abs.toString
        val exponent = digits.length - 1 - value.scale
        val tail = digits.substring(1).reverse.dropWhile(_ == '0').reverse
        s"${if (value.signum < 0) "-" else ""}${digits.charAt(0)}.${if (tail.isEmpty) "0" else tail}E$exponent"
      }
  }

  /** Whole numbers from a comma-separated text. */
  def list(text: String): Array[Long] = if (text.isEmpty) Array.emptyLongArray else text.split(',').map(_.toLong)

  /** Adds exactly while all terms are integers or decimals, in doubles from the first float or double on. */
  final class Sum {
    private var exact = JBigDecimal.ZERO
    private var small = 0L
    private var floating = 0.0
    private var rankSoFar = IntegerRank

    def add(room: Long, id: Long): Unit = {
      val r = rank(room, id)
      if (rankSoFar < FloatRank && r >= FloatRank) floating = total.doubleValue
      rankSoFar = math.max(rankSoFar, r)
      if (rankSoFar >= FloatRank) floating += double(room, id)
      else if (r == IntegerRank && TermCodec.isInline(id) && math.abs(small) < (1L << 60)) small += TermCodec.integerValue(id)
      else exact = exact.add(decimal(room, id))
    }

    private def total: JBigDecimal = exact.add(JBigDecimal.valueOf(small))

    def term(room: Long): Long =
      if (rankSoFar >= FloatRank) floatingTerm(room, floating, rankSoFar)
      else if (rankSoFar == IntegerRank) integerTerm(room, total.toBigInteger)
      else decimalTerm(room, total)
  }
}

/** What one call of a function may make or take at most: beyond that it is an error, as for values that do not fit. */
private[cqels] object Bounds {
  /** Characters of a text that a function makes. */
  final val MostText = 1 << 26
  /** Digits of an integer or a decimal that is computed with. */
  final val MostDigits = 10000
  /** Characters of a number, a time or a duration that is computed with: digits and what stands beside them. */
  final val MostWritten = MostDigits + 100
  /** Characters of a distribution. */
  final val MostDistribution = 1 << 20
  /** Quoted triples within one that TRIPLE makes. */
  final val MostTriples = 1000

  private final val MostBits = (MostDigits * 3.3219280948873626).toInt

  def fits(value: BigInteger): Boolean = value.bitLength <= MostBits
  def fits(value: JBigDecimal): Boolean = value.scale <= MostDigits && value.scale >= -MostDigits && value.precision <= MostDigits
}
