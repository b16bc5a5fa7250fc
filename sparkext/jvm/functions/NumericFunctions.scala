package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, RoundingMode}
import java.util.concurrent.ThreadLocalRandom

import org.apache.spark.sql.cqels.terms.{TermCodec, TermId}

/** SPARQL's functions on numbers (SPARQL 1.1, section 17.4.4); the result has the argument's type, null is an error. */
object NumericFunctions {
  private val Half = new JBigDecimal("0.5")

  def absolute(room: Long, id: Long): java.lang.Long = change(room, id)(_.abs, x => math.abs(x))

  /** Half rounds towards positive infinity, as XPath's fn:round has it. */
  def round(room: Long, id: Long): java.lang.Long =
    change(room, id)(_.add(Half).setScale(0, RoundingMode.FLOOR), round)

  def ceiling(room: Long, id: Long): java.lang.Long = change(room, id)(_.setScale(0, RoundingMode.CEILING), math.ceil)
  def floor(room: Long, id: Long): java.lang.Long = change(room, id)(_.setScale(0, RoundingMode.FLOOR), math.floor)

  private def change(room: Long, id: Long)(exact: JBigDecimal => JBigDecimal, floating: Double => Double): java.lang.Long =
    Numbers.rank(room, id) match {
      case 0 => null
      case Numbers.IntegerRank if TermCodec.kind(id) == TermId.Integer && TermCodec.integerValue(id) >= 0 => id
      case Numbers.IntegerRank => Numbers.integerTerm(room, exact(Numbers.decimal(room, id)).toBigInteger)
      case Numbers.DecimalRank => Numbers.decimalTerm(room, exact(Numbers.decimal(room, id)))
      case rank => Numbers.floatingTerm(room, floating(Numbers.double(room, id)), rank)
    }

  private[cqels] def round(x: Double): Double = {
    val below = math.floor(x)
    // Not floor(x + 0.5), which is 1 for the number just below 0.5; and -0.3 becomes -0.
    if (x - below >= 0.5) math.copySign(below + 1, x) else below
  }

  /** +x is x for numbers and an error for everything else. */
  def plus(room: Long, id: Long): java.lang.Long = if (Numbers.rank(room, id) > 0) id else null

  /** A double in [0, 1), another one for each row. */
  def random(room: Long): java.lang.Long =
    Numbers.floatingTerm(room, ThreadLocalRandom.current().nextDouble(), Numbers.DoubleRank)
}
