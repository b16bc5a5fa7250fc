package org.apache.spark.sql.cqels

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

  /** The least x with cdf(x) >= p, for 0 < p < 1. */
  def quantile(p: Double): Double

  /** The least and the greatest possible value; infinite where there is none. */
  def lower: Double
  def upper: Double

  /** Values between which the cdf is smooth, in order: ends of the support and kinks, as far as they are finite. */
  def breaks: Array[Double]

  /** The distribution of X + by. */
  def shifted(by: Double): Distribution

  /** The distribution of -X, or null where the families have none. */
  def negated: Distribution = null

  /** The number of the family, as calls are priced: 0 a number, 1 points, 2 normal ... (`CallCode`). */
  private[cqels] def family: Int

  /** The text of the literal. */
  def literal: String

  override def toString: String = literal
}

object Distribution {
  final val Datatype = "http://w3id.org/rsp/rspu#distribution"

  /** Reads a literal's text: a family's name, short or long, and its parameters in brackets.
   *
   *  Returns null for what is none: an unknown name, a wrong number of parameters, a parameter that is no number or
   *  outside of its range.
   */
  def parse(text: String): Distribution = {
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

  // Double.parseDouble also takes hexadecimal numbers, "NaN" and a trailing d or f.
  private val Number = java.util.regex.Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?")

  /** A literal from a name and parameters, numbers without needless digits: "N(19.7, 1)". */
  def write(name: String, parameters: Double*): String = parameters.map(plain).mkString(name + "(", ", ", ")")

  private def plain(x: Double): String =
    if (x == math.rint(x) && math.abs(x) < 1e15) (if (x == 0) "0" else x.toLong.toString) else x.toString
}

/** Finitely many values, each with a probability: constants and observed samples. Values rise. */
final class PointDistribution(val values: Array[Double], val weights: Array[Double], written: String) extends Distribution {
  private lazy val cumulated: Array[Double] = weights.scanLeft(0.0)(_ + _).tail

  /** One value: what a number is where a distribution is asked for. */
  def this(value: Double) = this(Array(value), PointDistribution.Certain, null)

  private[cqels] override def family: Int = if (values.length == 1) 0 else 1
  override def literal: String = if (written == null) Distribution.write("C", values(0)) else written
  override def mean: Double = values.indices.foldLeft(0.0)((sum, i) => sum + values(i) * weights(i))
  override def variance: Double = {
    val centre = mean
    values.indices.foldLeft(0.0) { (sum, i) => val d = values(i) - centre; sum + weights(i) * d * d }
  }
  override def lower: Double = values(0)
  override def upper: Double = values(values.length - 1)
  override def breaks: Array[Double] = values

  override def cdf(x: Double): Double = upTo(firstAbove(x, strictly = true))
  override def below(x: Double): Double = upTo(firstAbove(x, strictly = false))

  private def upTo(count: Int): Double = if (count == 0) 0.0 else if (count == values.length) 1.0 else cumulated(count - 1)

  /** How many values come before the first that is greater than x (or not less, if not `strictly`). */
  private def firstAbove(x: Double, strictly: Boolean): Int = {
    var from = 0
    var to = values.length
    while (from < to) {
      val middle = (from + to) >>> 1
      if (values(middle) < x || strictly && values(middle) == x) from = middle + 1 else to = middle
    }
    from
  }

  override def quantile(p: Double): Double = {
    var i = 0
    while (i < values.length - 1 && cumulated(i) < p) i += 1
    values(i)
  }

  override def shifted(by: Double): Distribution = PointDistribution.of(values.map(_ + by), weights)
  override def negated: Distribution = PointDistribution.of(values.reverse.map(-_), weights.reverse)

  override def hashCode: Int = java.util.Arrays.hashCode(values) * 31 + java.util.Arrays.hashCode(weights)
  override def equals(other: Any): Boolean = other match {
    case o: PointDistribution => java.util.Arrays.equals(values, o.values) && java.util.Arrays.equals(weights, o.weights)
    case _ => false
  }
}

object PointDistribution {
  private val Certain = Array(1.0)

  /** Points with weights that add up to 1; equal values are put together. Written as C(v), E(v, ...) or P(v, w, ...). */
  def of(values: Array[Double], weights: Array[Double]): PointDistribution = {
    val order = values.indices.sortBy(values(_))
    val merged = new scala.collection.mutable.ArrayBuffer[(Double, Double)]()
    order.foreach { i =>
      if (merged.nonEmpty && merged.last._1 == values(i)) merged(merged.length - 1) = (values(i), merged.last._2 + weights(i))
      else merged += ((values(i), weights(i)))
    }
    val points = merged.map(_._1).toArray
    val shares = merged.map(_._2).toArray
    val literal =
      if (points.length == 1) Distribution.write("C", points(0))
      else if (weights.forall(_ == weights(0))) Distribution.write("E", values.sorted.toIndexedSeq: _*)
      else Distribution.write("P", points.indices.flatMap(i => Seq(points(i), shares(i))): _*)
    new PointDistribution(points, shares, literal)
  }
}
