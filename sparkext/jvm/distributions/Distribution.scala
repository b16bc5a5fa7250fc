package org.apache.spark.sql.cqels
package distributions

import org.apache.spark.sql.cqels.functions.Bounds

/** The probability distribution of one real number: what an `rspu:distribution` literal stands for. Immutable.
 *
 *  A value is either one of finitely many points ([[PointDistribution]]) or has no point of positive probability.
 */
abstract class Distribution extends Serializable {
  def mean: Double
  def variance: Double

  /** P(X <= x). */
  def cdf(x: Double): Double

  /** P(X < x). */
  def below(x: Double): Double = cdf(x)

  /** P(X > x) and P(X >= x), where they may be had more exactly than by subtracting from 1. */
  def above(x: Double): Double = 1 - cdf(x)
  def atLeast(x: Double): Double = 1 - below(x)

  /** The least x with cdf(x) >= p, for 0 < p < 1. */
  def quantile(p: Double): Double

  /** The least and the greatest possible value; infinite where there is none. */
  def lower: Double
  def upper: Double

  /** Values between which the cdf is smooth, in order: ends of the support and kinks, as far as they are finite. */
  def breaks: Array[Double]

  /** Probabilities at which the quantile leaps or has a kink, beside 0 and 1. */
  private[cqels] def steps: Array[Double] = Distribution.Smooth

  /** The distribution of X + by. */
  def shifted(by: Double): Distribution

  /** The parameters that move with it, and how wide it is where it is densest: what they are off by makes that part of it an
   *  error of probabilities.
   */
  private[cqels] def places: Array[Double]
  private[cqels] def grain: Double

  /** The distribution of -X, or null where the families have none. */
  def negated: Distribution = null

  /** Whether its literal can be read again: its parameters are numbers, and those that must rise do so. */
  private[cqels] def writable: Boolean

  /** The number of the family, as calls are priced: 0 a number, 1 points, 2 normal ... (`CallCode`). */
  private[cqels] def family: Int

  /** How many numbers it holds, beside the parameters of a family. */
  private[cqels] def numbers: Long = 0L

  /** The text of the literal. */
  def literal: String

  override def toString: String = literal
}

object Distribution {
  final val Datatype = "http://w3id.org/rsp/rspu#distribution"

  /** Reads a literal's text: a family's name, short or long, and its parameters in brackets.
   *
   *  Returns null for what is none: an unknown name, a wrong number of parameters, a parameter that is no number or
   *  outside of its range, sums more than `DistributionSum.MostLevels` deep, a text of more than `Bounds.MostDistribution`
   *  characters.
   */
  def parse(text: String): Distribution = if (text.length > Bounds.MostDistribution || tooDeep(text)) null else read(text)

  private def tooDeep(text: String): Boolean = {
    var depth = 0
    var i = 0
    while (i < text.length && depth <= DistributionSum.MostLevels + 1) {
      val char = text.charAt(i)
      if (char == '(') depth += 1 else if (char == ')') depth -= 1
      i += 1
    }
    i < text.length
  }

  private[cqels] def read(text: String): Distribution = {
    val open = text.indexOf('(')
    if (open <= 0 || !text.trim.endsWith(")")) return null
    val name = text.substring(0, open).trim
    val inside = text.substring(open + 1, text.lastIndexOf(')'))
    if (DistributionSum.Names.contains(name)) DistributionSum.parse(name, inside)
    else {
      val parameters = numbers(inside)
      if (parameters == null) null else DistributionFamilies.make(name, parameters)
    }
  }

  private def numbers(text: String): Array[Double] = {
    val parts = text.split(",", -1)
    val values = new Array[Double](parts.length)
    var i = 0
    while (i < parts.length) {
      val part = parts(i).trim
      if (part.isEmpty || !Number.matcher(part).matches) return null
      values(i) = part.toDouble
      if (values(i).isInfinite) return null
      i += 1
    }
    values
  }

  // Double.parseDouble also takes hexadecimal numbers, "NaN" and a trailing d or f. Digits are taken for good: a long text
  // that is no number would be tried for each of them.
  private val Number = java.util.regex.Pattern.compile("[+-]?([0-9]++(\\.[0-9]*+)?|\\.[0-9]++)([eE][+-]?[0-9]++)?")

  private[cqels] val Smooth = new Array[Double](0)

  private[cqels] def finite(x: Double): Boolean = !x.isNaN && !x.isInfinite

  /** Where x lies between a and b, 0 at a and 1 at b, also where b - a is beyond the range of numbers. */
  private[cqels] def share(x: Double, a: Double, b: Double): Double = {
    val width = b - a
    if (width.isInfinite) (x / 2 - a / 2) / (b / 2 - a / 2) else (x - a) / width
  }

  /** The number that lies there. */
  private[cqels] def between(a: Double, b: Double, share: Double): Double = {
    val width = b - a
    if (width.isInfinite) a * (1 - share) + b * share else a + share * width
  }

  /** What the sum of two numbers is off by (Knuth's two-sum). */
  private[cqels] def rounding(a: Double, b: Double): Double = {
    val sum = a + b
    val second = sum - a
    (a - (sum - second)) + (b - second)
  }

  /** A literal from a name and parameters, numbers without needless digits: "N(19.7, 1)". */
  def write(name: String, parameters: Double*): String = parameters.map(plain).mkString(name + "(", ", ", ")")

  private def plain(x: Double): String =
    if (x == math.rint(x) && math.abs(x) < 1e15) (if (x == 0) "0" else x.toLong.toString) else x.toString
}
