package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, RoundingMode}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.terms.{TermCodec, TermId, TermText}

/** The SPARQL value of a term by its id (SPARQL 1.1, section 17): numbers and dates from the id itself, texts from the
 *  engine's dictionary. A type error is null, which Spark's three-valued logic treats as SPARQL treats errors.
 *
 *  One object per engine; expressions name it by `room`, so that a plan can be shipped without its dictionary.
 */
object TermValues {
  private val dictionaries = new ConcurrentHashMap[Long, Dictionary]()

  /** The engines that read RDF 1.2, and SPARQL 1.2 where it says otherwise than SPARQL 1.1. */
  private val rdf12 = ConcurrentHashMap.newKeySet[Long]()
  def readRdf12(room: Long): Unit = rdf12.add(room)
  private[cqels] def readsRdf12(room: Long): Boolean = rdf12.contains(room)

  def register(room: Long, dictionary: Dictionary): Unit = dictionaries.put(room, dictionary)
  def unregister(room: Long): Unit = {
    dictionaries.remove(room)
    rdf12.remove(room)
    DateFunctions.forget(room)
    RegexFunctions.forget(room)
  }

  private[cqels] def dictionary(room: Long): Dictionary = {
    val d = dictionaries.get(room)
    if (d == null) throw new IllegalStateException("texts of terms are at the driver only: this plan must run there")
    d
  }

  // -- comparison -----------------------------------------------------------------------------------------------

  /** `a = b`: value equality where both types are known, the same term otherwise; null when it cannot be told. */
  def equal(room: Long, a: Long, b: Long): java.lang.Boolean =
    if (a == b) { if (isNaN(room, a)) false else true }
    else if (TermCodec.isQuoted(a)) { if (TermCodec.isQuoted(b)) TripleFunctions.equal(room, a, b) else false }
    else if (isLiteral(a) && isLiteral(b)) literalEqual(room, a, b)
    else false

  private def literalEqual(room: Long, a: Long, b: Long): java.lang.Boolean = {
    val order = compareKnown(room, a, b)
    if (order == Undecided) null
    else if (order != Incomparable) order == 0
    // A language-tagged string is no value of any other type.
    else if (TermCodec.isLanguageString(a) || TermCodec.isLanguageString(b)) false
    // Two different literals of which one has a datatype we cannot value: neither equal nor known to differ.
    else if (isKnown(room, a) && isKnown(room, b)) false
    else null
  }

  /** `operand IN (choices)`: true when one is equal, else an error when one could not be told. */
  def among(room: Long, operand: Long, choices: ArrayData): java.lang.Boolean = {
    var known = true
    var i = 0
    while (i < choices.numElements()) {
      val same = if (choices.isNullAt(i)) null else equal(room, operand, choices.getLong(i))
      if (same == null) known = false
      else if (same) return true
      i += 1
    }
    if (known) false else null
  }

  def less(room: Long, a: Long, b: Long): java.lang.Boolean = decide(compareKnown(room, a, b))(_ < 0)
  def lessOrEqual(room: Long, a: Long, b: Long): java.lang.Boolean =
    decide(compareKnown(room, a, b))(_ <= 0)

  private def decide(order: Int)(test: Int => Boolean): java.lang.Boolean =
    if (order == Incomparable || order == Undecided || order == Different) null
    else if (order == Unordered) false
    else test(order)

  // What is said in place of an order: no common values; perhaps equal; surely not; NaN.
  private[cqels] final val Incomparable = Int.MinValue
  private[cqels] final val Undecided = Int.MinValue + 1
  private[cqels] final val Different = Int.MaxValue - 1
  private final val Unordered = Int.MaxValue

  private[cqels] def compareKnown(room: Long, a: Long, b: Long): Int = {
    val na = Numbers.rank(room, a)
    if (a < 0) { if (b < 0) TripleFunctions.compare(room, a, b) else Incomparable }
    else if (na > 0) {
      val nb = Numbers.rank(room, b)
      if (nb > 0) compareNumbers(room, a, na, b, nb) else Incomparable
    } else if (TermCodec.isString(a)) {
      if (TermCodec.isString(b)) sign(compareText(lexical(room, a), lexical(room, b))) else Incomparable
    } else if (truth(room, a) != null) {
      val other = truth(room, b)
      if (other != null) java.lang.Boolean.compare(truth(room, a), other) else Incomparable
    } else if (TermCodec.isDateTime(a) && TermCodec.isDateTime(b) && TermCodec.dateTimeHasZone(a) == TermCodec.dateTimeHasZone(b))
      java.lang.Long.compare(TermCodec.dateTimeMillis(a), TermCodec.dateTimeMillis(b))
    else compareTimes(room, a, b)
  }

  private def compareTimes(room: Long, a: Long, b: Long): Int = {
    val moment = DateTimes.of(room, a)
    if (moment != null) {
      val other = DateTimes.of(room, b)
      if (other == null) Incomparable else DateTimes.compare(moment, other)
    } else {
      val duration = Durations.of(room, a)
      val other = if (duration == null) null else Durations.of(room, b)
      if (other == null) Incomparable else Durations.compare(duration, other)
    }
  }

  /** The value of a boolean, "1" and "0" included; null for other terms. */
  private[cqels] def truth(room: Long, id: Long): java.lang.Boolean =
    if (TermCodec.isBoolean(id)) TermCodec.booleanValue(id)
    else if (TermId.kind(id) != TermId.TypedLiteral) null
    else Numbers.boolean(text(room, id))

  private def compareNumbers(room: Long, a: Long, rankA: Int, b: Long, rankB: Int): Int =
    if (rankA == Numbers.IntegerRank && rankB == Numbers.IntegerRank && TermCodec.isInline(a) && TermCodec.isInline(b))
      java.lang.Long.compare(TermCodec.integerValue(a), TermCodec.integerValue(b))
    else if (math.max(rankA, rankB) >= Numbers.FloatRank) {
      val x = Numbers.promoted(room, a, math.max(rankA, rankB))
      val y = Numbers.promoted(room, b, math.max(rankA, rankB))
      if (x.isNaN || y.isNaN) Unordered else if (x < y) -1 else if (x > y) 1 else 0
    } else sign(Numbers.decimal(room, a).compareTo(Numbers.decimal(room, b)))

  // Code points, as SPARQL orders strings; UTF-16 units would misplace characters beyond U+FFFF.
  private def compareText(a: String, b: String): Int = {
    var i = 0
    while (i < a.length && i < b.length) {
      val x = a.charAt(i)
      val y = b.charAt(i)
      if (x != y) return if (x.isSurrogate == y.isSurrogate) x - y else if (x.isSurrogate) 1 else -1
      i += 1
    }
    a.length - b.length
  }

  private def sign(n: Int): Int = Integer.signum(n)
  private def isKnown(room: Long, id: Long): Boolean =
    TermCodec.isString(id) || Numbers.rank(room, id) > 0 || truth(room, id) != null || DateTimes.of(room, id) != null || Durations.of(room, id) != null
  private def isNaN(room: Long, id: Long): Boolean =
    TermId.kind(id) >= TermId.TypedLiteral && Numbers.rank(room, id) >= Numbers.FloatRank && Numbers.double(room, id).isNaN

  /** The total order of ORDER BY: unbound, blank nodes, IRIs, literals, quoted triples; by value where values compare. */
  def order(room: Long, a: Long, b: Long): Int = {
    val ka = orderClass(a)
    val kb = orderClass(b)
    if (ka != kb) Integer.compare(ka, kb)
    else if (a == b) 0
    else if (ka == 3) {
      val classes = literalClass(room, a)
      val difference = Integer.compare(classes, literalClass(room, b))
      if (difference != 0) difference
      else {
        val known = orderWithin(room, classes, a, b)
        if (known != 0) known else orderAsText(room, a, b)
      }
    } else if (ka == 4) TripleFunctions.order(room, a, b)
    else orderAsText(room, a, b)
  }

  /** By what is written, without the brackets or quotes, which would come between a term and a longer one. */
  private def orderAsText(room: Long, a: Long, b: Long): Int = {
    val written = compareText(lexical(room, a), lexical(room, b))
    if (written != 0) written else compareText(text(room, a), text(room, b))
  }

  private def orderClass(id: Long): Int =
    if (id == 0) 0 else if (TermCodec.isBlank(id)) 1 else if (TermCodec.isIri(id)) 2 else if (TermCodec.isQuoted(id)) 4 else 3

  private def literalClass(room: Long, id: Long): Int =
    if (Numbers.rank(room, id) > 0) 0 else if (TermCodec.isString(id)) 1 else if (TermCodec.isLanguageString(id)) 2
    else if (truth(room, id) != null) 3
    else {
      val moment = DateTimes.of(room, id)
      if (moment != null) FirstMoment + moment.kind
      else if (Durations.of(room, id) != null) LastKnown
      else LastKnown + 1
    }

  private final val FirstMoment = 4
  private final val LastKnown = 20

  /** The order of two literals of one class by their values, total where `<` is not. */
  private def orderWithin(room: Long, literals: Int, a: Long, b: Long): Int = literals match {
    case 0 => Numbers.compareExact(room, a, b)
    case 1 => compareText(lexical(room, a), lexical(room, b))
    case 2 => 0
    case 3 => java.lang.Boolean.compare(truth(room, a), truth(room, b))
    case LastKnown => Durations.order(Durations.of(room, a), Durations.of(room, b))
    case n if n < LastKnown => DateTimes.of(room, a).instant.compareTo(DateTimes.of(room, b).instant)
    case _ => 0
  }

  /** The lesser (or greater) of two terms in that order: what MIN and MAX keep. */
  def extreme(room: Long, greatest: Boolean, a: Long, b: Long): Long =
    if ((order(room, a, b) >= 0) == greatest) a else b

  // -- logic and tests ------------------------------------------------------------------------------------------

  /** Effective boolean value (section 17.2.2); null for what has none, in SPARQL 1.2 also language-tagged and ill-typed ones. */
  def effectiveBoolean(room: Long, id: Long): java.lang.Boolean =
    if (TermCodec.isBoolean(id)) TermCodec.booleanValue(id)
    else if (Numbers.rank(room, id) > 0) Numbers.isTrue(room, id)
    else if (TermCodec.isString(id)) lexical(room, id).nonEmpty
    else if (TermCodec.isLanguageString(id)) { if (readsRdf12(room)) null else lexical(room, id).nonEmpty }
    else if (TermId.kind(id) != TermId.TypedLiteral) null
    else {
      val value = truth(room, id)
      if (value == null && !readsRdf12(room) && Numbers.illTyped(text(room, id))) false else value
    }

  /** IF where the test must not be looked at twice; 0 stands for an error of the branch. */
  def choose(test: Boolean, yes: Long, no: Long): java.lang.Long = {
    val chosen = if (test) yes else no
    if (chosen == 0) null else chosen
  }

  def booleanTerm(b: Boolean): Long = TermCodec.booleanId(b)
  def isIri(id: Long): Boolean = TermCodec.isIri(id)
  def isBlank(id: Long): Boolean = TermCodec.isBlank(id)
  def isLiteral(id: Long): Boolean = id > 0 && TermCodec.isLiteral(id)
  def isNumeric(room: Long, id: Long): Boolean = Numbers.rank(room, id) > 0

  // -- accessors ------------------------------------------------------------------------------------------------

  def text(room: Long, id: Long): String = if (TermCodec.isInline(id)) TermCodec.inlineText(id) else dictionary(room).text(id)

  /** The lexical form of a literal, the IRI of an IRI. */
  def lexical(room: Long, id: Long): String = TermText.lexical(text(room, id))

  def str(room: Long, id: Long): java.lang.Long =
    if (TermCodec.isString(id)) id
    else if (TermCodec.isIri(id) || isLiteral(id)) string(room, lexical(room, id))
    else null

  def lang(room: Long, id: Long): java.lang.Long =
    if (!isLiteral(id)) null
    else string(room, if (TermCodec.isLanguageString(id)) TermText.language(text(room, id)) else "")

  def datatype(room: Long, id: Long): java.lang.Long =
    if (!isLiteral(id)) null else dictionary(room).encode("<" + TermText.datatype(text(room, id)) + ">")

  def string(room: Long, value: String): Long = dictionary(room).encode(TermText.quote(value))
  def integer(value: Long): Long = TermCodec.integerId(value)

  // -- arithmetic -----------------------------------------------------------------------------------------------

  def add(room: Long, a: Long, b: Long): java.lang.Long = arithmetic(room, '+', a, b)
  def subtract(room: Long, a: Long, b: Long): java.lang.Long = arithmetic(room, '-', a, b)
  def multiply(room: Long, a: Long, b: Long): java.lang.Long = arithmetic(room, '*', a, b)
  def divide(room: Long, a: Long, b: Long): java.lang.Long = arithmetic(room, '/', a, b)
  def negate(room: Long, a: Long): java.lang.Long = arithmetic(room, '*', MinusOne, a) // 0 - a would lose the sign of zero

  private val MinusOne = TermCodec.integerId(-1)

  private def arithmetic(room: Long, operator: Char, a: Long, b: Long): java.lang.Long = {
    val rankA = Numbers.rank(room, a)
    val rankB = Numbers.rank(room, b)
    val rank = math.max(rankA, rankB)
    if (rankA == 0 || rankB == 0) TimeArithmetic.compute(room, operator, a, b)
    else if (rank == Numbers.IntegerRank && operator != '/' && TermCodec.isInline(a) && TermCodec.isInline(b))
      integers(room, operator, TermCodec.integerValue(a), TermCodec.integerValue(b))
    else if (rank >= Numbers.FloatRank) {
      val x = Numbers.promoted(room, a, rank)
      val y = Numbers.promoted(room, b, rank)
      val z = operator match { case '+' => x + y; case '-' => x - y; case '*' => x * y; case _ => x / y }
      Numbers.floatingTerm(room, z, rank)
    } else operator match {
      case '/' => divideExact(room, Numbers.decimal(room, a), Numbers.decimal(room, b))
      case _ if rank == Numbers.IntegerRank =>
        val x = Numbers.decimal(room, a).toBigInteger
        val y = Numbers.decimal(room, b).toBigInteger
        val z = operator match { case '+' => x.add(y); case '-' => x.subtract(y); case _ => x.multiply(y) }
        if (Bounds.fits(z)) Numbers.integerTerm(room, z) else null
      case _ =>
        val x = Numbers.decimal(room, a)
        val y = Numbers.decimal(room, b)
        val z = operator match { case '+' => x.add(y); case '-' => x.subtract(y); case _ => x.multiply(y) }
        if (Bounds.fits(z)) Numbers.decimalTerm(room, z) else null
    }
  }

  // Values in ids have 58 bits: their sum cannot overflow, their product can.
  private def integers(room: Long, operator: Char, x: Long, y: Long): Long = operator match {
    case '+' => Numbers.integerTerm(room, x + y)
    case '-' => Numbers.integerTerm(room, x - y)
    case _ =>
      val low = x * y
      if (Math.multiplyHigh(x, y) == low >> 63) Numbers.integerTerm(room, low)
      else Numbers.integerTerm(room, java.math.BigInteger.valueOf(x).multiply(java.math.BigInteger.valueOf(y)))
  }

  private def divideExact(room: Long, x: JBigDecimal, y: JBigDecimal): java.lang.Long =
    if (y.signum == 0) null
    else {
      val z = try x.divide(y) catch { case _: ArithmeticException => x.divide(y, 18, RoundingMode.HALF_EVEN) }
      if (Bounds.fits(z)) Numbers.decimalTerm(room, z) else null
    }

  private[cqels] def encode(room: Long, canonicalText: String): Long = dictionary(room).encode(canonicalText)
}
