package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, BigInteger}

import org.apache.spark.sql.cqels.terms.{TermCodec, TermText}

/** Casts by XPath's constructor functions (SPARQL 1.1, section 17.5); null is an error. */
object Casts {
  private val Integers: Map[String, (BigInteger, BigInteger)] = {
    def range(least: String, most: String) =
      (if (least.isEmpty) null else new BigInteger(least), if (most.isEmpty) null else new BigInteger(most))
    Map(
      "integer" -> range("", ""),
      "long" -> range("-9223372036854775808", "9223372036854775807"),
      "int" -> range("-2147483648", "2147483647"),
      "short" -> range("-32768", "32767"),
      "byte" -> range("-128", "127"),
      "nonNegativeInteger" -> range("0", ""),
      "positiveInteger" -> range("1", ""),
      "nonPositiveInteger" -> range("", "0"),
      "negativeInteger" -> range("", "-1"),
      "unsignedLong" -> range("0", "18446744073709551615"),
      "unsignedInt" -> range("0", "4294967295"),
      "unsignedShort" -> range("0", "65535"),
      "unsignedByte" -> range("0", "255"))
  }

  /** Whether a whole number is a value of xsd:integer or a type derived from it, by its local name. */
  private[functions] def holds(name: String, value: BigInteger): Boolean = {
    val (least, most) = Integers(name)
    (least == null || value.compareTo(least) >= 0) && (most == null || value.compareTo(most) <= 0)
  }

  /** Local names of the datatypes that can be cast to; `cast` takes a place in here. */
  val Targets: Array[String] =
    Array("string", "boolean", "decimal", "float", "double") ++ Integers.keys.toSeq.sorted ++ DateTimes.Types ++ Durations.Types

  def cast(room: Long, id: Long, target: Int): java.lang.Long = Targets(target) match {
    case "string" => string(room, id)
    case _ if !TermValues.isLiteral(id) || TermCodec.isLanguageString(id) => null
    case "boolean" => boolean(room, id)
    case "decimal" => decimal(room, id)
    case "float" => floating(room, id, Numbers.FloatRank)
    case "double" => floating(room, id, Numbers.DoubleRank)
    case name if Integers.contains(name) => integer(room, id, name)
    case name if DateTimes.Types.contains(name) => moment(room, id, DateTimes.Types.indexOf(name))
    case name => duration(room, id, Durations.Types.indexOf(name))
  }

  /** Numbers and booleans in canonical form, other literals by their lexical form. */
  private def string(room: Long, id: Long): java.lang.Long = {
    val truth = TermValues.truth(room, id)
    Numbers.rank(room, id) match {
      case _ if TermCodec.isBlank(id) || TermCodec.isQuoted(id) => null
      case 0 if truth != null => TermValues.string(room, truth.toString)
      case 0 => TermValues.str(room, id)
      case Numbers.IntegerRank => TermValues.string(room, Numbers.decimal(room, id).toBigInteger.toString)
      case Numbers.DecimalRank => TermValues.string(room, plain(Numbers.decimal(room, id)))
      case rank =>
        val x = Numbers.double(room, id)
        val size = math.abs(x)
        val text =
          if (x == 0) (if (1 / x < 0) "-0" else "0")
          else if (size >= 1e-6 && size < 1e6) plain(new JBigDecimal(if (rank == Numbers.FloatRank) x.toFloat.toString else x.toString))
          else TermValues.lexical(room, Numbers.floatingTerm(room, x, rank))
        TermValues.string(room, text)
    }
  }

  private def plain(value: JBigDecimal): String = if (value.signum == 0) "0" else value.stripTrailingZeros.toPlainString

  /** The lexical form of a string, without the white space around it; null for other terms. */
  private def text(room: Long, id: Long): String =
    if (TermCodec.isString(id)) {
      val lexical = TermValues.lexical(room, id)
      if (lexical.length <= Bounds.MostDigits) TermText.trimmed(lexical) else null
    } else null

  private def boolean(room: Long, id: Long): java.lang.Long = {
    val known = TermValues.truth(room, id)
    if (known != null) TermCodec.booleanId(known)
    else if (Numbers.rank(room, id) > 0) TermCodec.booleanId(Numbers.isTrue(room, id))
    else text(room, id) match {
      case "true" | "1" => TermCodec.booleanId(true)
      case "false" | "0" => TermCodec.booleanId(false)
      case _ => null
    }
  }

  /** 1 and 0 for booleans, exact values for finite numbers, null for others. */
  private def exact(room: Long, id: Long): JBigDecimal = {
    val truth = TermValues.truth(room, id)
    if (truth != null) (if (truth) JBigDecimal.ONE else JBigDecimal.ZERO)
    else Numbers.rank(room, id) match {
      case 0 => null
      case rank if rank >= Numbers.FloatRank =>
        val x = Numbers.double(room, id)
        if (x.isNaN || x.isInfinite) null
        else new JBigDecimal(if (rank == Numbers.FloatRank) x.toFloat.toString else x.toString)
      case _ => Numbers.decimal(room, id)
    }
  }

  private def decimal(room: Long, id: Long): java.lang.Long = {
    val written = text(room, id)
    val value =
      if (written == null) exact(room, id)
      else if (Numbers.isForm(written, Numbers.DecimalRank)) new JBigDecimal(written)
      else null
    if (value == null) null else Numbers.decimalTerm(room, value)
  }

  private def floating(room: Long, id: Long, rank: Int): java.lang.Long = {
    val written = text(room, id)
    val truth = TermValues.truth(room, id)
    if (written != null) {
      if (Numbers.isForm(written, rank)) Numbers.floatingTerm(room, Numbers.parseFloating(written, rank), rank) else null
    } else if (truth != null) Numbers.floatingTerm(room, if (truth) 1 else 0, rank)
    else if (Numbers.rank(room, id) == 0) null
    else Numbers.floatingTerm(room, rounded(Numbers.double(room, id), rank), rank)
  }

  private def rounded(x: Double, rank: Int): Double = if (rank == Numbers.FloatRank) x.toFloat.toDouble else x

  private def integer(room: Long, id: Long, name: String): java.lang.Long = {
    val written = text(room, id)
    val value =
      if (written != null) { if (Numbers.isForm(written, Numbers.IntegerRank)) new BigInteger(written) else null }
      else { val v = exact(room, id); if (v == null) null else v.toBigInteger } // towards zero
    if (value == null || !holds(name, value)) null
    else if (name == "integer") Numbers.integerTerm(room, value)
    else TermConstructors.literal(room, value.toString, TermCodec.Xsd + name)
  }

  private def moment(room: Long, id: Long, kind: Int): java.lang.Long = {
    val written = text(room, id)
    if (written != null) {
      if (DateTimes.parse(kind, written) == null) null else TermConstructors.literal(room, written, TermCodec.Xsd + DateTimes.Types(kind))
    } else {
      val m = DateTimes.of(room, id)
      if (m == null) null
      else if (m.kind == kind) id
      else {
        // A dateTime gives all other types, a date those of its parts, and a dateTime's date starts at midnight.
        val holds = m.kind == DateTimes.DateTime || (m.kind == DateTimes.DateOnly && kind != DateTimes.TimeOnly)
        if (holds) DateFunctions.momentTerm(room, kind, m) else null
      }
    }
  }

  private def duration(room: Long, id: Long, kind: Int): java.lang.Long = {
    val written = text(room, id)
    if (written != null) {
      if (Durations.parse(kind, written) == null) null else TermConstructors.literal(room, written, TermCodec.Xsd + Durations.Types(kind))
    } else {
      val d = Durations.of(room, id)
      if (d == null) null
      else DateFunctions.durationTerm(room, kind match {
        case Durations.YearMonth => new Duration(kind, d.months, JBigDecimal.ZERO)
        case Durations.DayTime => new Duration(kind, 0, d.seconds)
        case _ => new Duration(kind, d.months, d.seconds)
      })
    }
  }
}
