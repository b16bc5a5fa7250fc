package org.apache.spark.sql.cqels
package distributions

import java.math.{BigDecimal => JBigDecimal, MathContext}

/** Finitely many values, each with a probability: constants and observed samples. Values rise.
 *
 *  `masses` are the probabilities up to a factor. Whole ones, such as how often a value was observed, are added and compared
 *  as the whole numbers that they are. `even`: each stands for so many observations. `written`: the literal, if it is not
 *  made of the values.
 */
final class PointDistribution private[cqels] (val values: Array[Double], private val masses: Array[Double],
    private val even: Boolean, written: String) extends Distribution {
  import PointDistribution._

  /** One value: what a number is where a distribution is asked for. */
  def this(value: Double) = this(Array(value), PointDistribution.Certain, true, null)

  private lazy val total: Double = masses.foldLeft(0.0)(_ + _)
  private lazy val whole: Boolean = total <= MostCounted && masses.forall(m => m == math.rint(m))
  private lazy val cumulated: Cumulated = if (whole) Cumulated.whole(masses, total) else Cumulated.decimal(masses)

  /** The probabilities of the values. */
  lazy val weights: Array[Double] = { val by = DistributionFamilies.total(total); masses.map(_ / by) }

  /** Whether it is written as its one value is. */
  private[cqels] def isNumber: Boolean = values.length == 1 && written == null

  private[cqels] override def family: Int = if (values.length == 1) 0 else 1
  private[cqels] override def numbers: Long = values.length
  override def mean: Double = {
    val mean = weigh(v => v, Double.NegativeInfinity, Double.PositiveInfinity)
    if (Distribution.finite(mean)) mean else values.indices.foldLeft(0.0)((sum, i) => sum + values(i) * weights(i))
  }
  override def variance: Double = {
    val centre = mean
    weigh(v => { val d = v - centre; d * d }, 0.0, Double.PositiveInfinity)
  }
  override def lower: Double = values(0)
  override def upper: Double = values(values.length - 1)
  override def breaks: Array[Double] = values
  private[cqels] override def writable: Boolean = Distribution.finite(lower) && Distribution.finite(upper)

  override def cdf(x: Double): Double = upTo(before(x, 0.0, strictly = false))
  override def below(x: Double): Double = upTo(before(x, 0.0, strictly = true))
  override def above(x: Double): Double = from(before(x, 0.0, strictly = false))
  override def atLeast(x: Double): Double = from(before(x, 0.0, strictly = true))

  /** P(X + by <= x), or P(X + by < x), of sums as numbers have them. */
  private[cqels] def moved(by: Double, x: Double, strictly: Boolean): Double = upTo(before(x, by, strictly))

  /** P(X < Y), or P(X <= Y). */
  private[cqels] def less(other: PointDistribution, orEqual: Boolean): Double =
    if (other.values.length == 1) { if (orEqual) cdf(other.values(0)) else below(other.values(0)) }
    else if (values.length > 1 && whole && other.whole) {
      var sum = 0.0
      var i = 0
      while (i < values.length) {
        val count = other.before(values(i), 0.0, strictly = orEqual)
        sum += masses(i) * (if (count == 0) other.total else other.total - other.cumulated.masses(count - 1))
        i += 1
      }
      sum / (total * other.total)
    } else expected(if (orEqual) other.atLeast else other.above)

  /** E f(X) of a function with values from 0 to 1: exactly 1 where it is 1 for all values. */
  private[cqels] def expected(f: Double => Double): Double = weigh(f, 0.0, 1.0)

  /** Values with what is in proportion to their probabilities. */
  private[cqels] def each(f: (Double, Double) => Unit): Unit = values.indices.foreach(i => f(values(i), masses(i)))

  /** E f(X, Y) for f of a value's place, from 0 to 1. */
  private[cqels] def expected(other: PointDistribution)(f: (Int, Int) => Double): Double = {
    var sum = 0.0
    var i = 0
    while (i < values.length) {
      var inner = 0.0
      var j = 0
      while (j < other.values.length) { inner += other.masses(j) * f(i, j); j += 1 }
      sum += masses(i) * (inner / other.total)
      i += 1
    }
    math.min(1.0, math.max(0.0, sum / total))
  }

  private def weigh(f: Double => Double, least: Double, most: Double): Double =
    if (values.length == 1) math.min(most, math.max(least, f(values(0))))
    else {
      var sum = 0.0
      var i = 0
      while (i < values.length) { sum += masses(i) * f(values(i)); i += 1 }
      math.min(most, math.max(least, sum / total))
    }

  private def upTo(count: Int): Double = if (count == 0) 0.0 else if (count == values.length) 1.0 else cumulated.upTo(count - 1)
  private def from(count: Int): Double = if (count == 0) 1.0 else if (count == values.length) 0.0 else cumulated.after(count - 1)

  /** How many values are not greater than x when `by` is added to them, or less than x. */
  private def before(x: Double, by: Double, strictly: Boolean): Int = {
    var from = 0
    var to = values.length
    while (from < to) {
      val middle = (from + to) >>> 1
      val value = values(middle) + by
      if (value < x || !strictly && value == x) from = middle + 1 else to = middle
    }
    from
  }

  override def quantile(p: Double): Double = {
    var from = 0
    var to = values.length - 1
    while (from < to) {
      val middle = (from + to) >>> 1
      if (cumulated.upTo(middle) < p) from = middle + 1 else to = middle
    }
    values(from)
  }

  override def shifted(by: Double): Distribution = {
    val there = values.map(_ + by)
    if (rising(there)) new PointDistribution(there, masses, even, null) else merged(there, masses, even)
  }
  private[cqels] override def places: Array[Double] = values
  private[cqels] override def grain: Double = 0
  override def negated: Distribution = minus
  private[cqels] def minus: PointDistribution = new PointDistribution(values.reverse.map(0.0 - _), masses.reverse, even, null)

  /** The distribution of the sum with another one; null if it has too many values. */
  private[cqels] def plus(other: PointDistribution): PointDistribution = {
    val pairs = values.length.toLong * other.values.length
    if (pairs > MostPairs) return null
    val sums = new Array[Double](pairs.toInt)
    var i = 0
    while (i < sums.length) {
      sums(i) = values(i / other.values.length) + other.values(i % other.values.length) + 0.0 // there is one zero only
      i += 1
    }
    val rising = distinct(sums)
    if (rising.length > MostValues) return null
    val together = new Array[Double](rising.length)
    val (unit, otherUnit) = if (total * other.total <= MostCounted) (1.0, 1.0) else (total, other.total)
    i = 0
    while (i < sums.length) {
      val place = java.util.Arrays.binarySearch(rising, sums(i))
      if (place < 0) return null // not a number
      together(place) += masses(i / other.values.length) / unit * (other.masses(i % other.values.length) / otherUnit)
      i += 1
    }
    new PointDistribution(rising, together, even && other.even && total * other.total <= MostValues, null)
  }

  override lazy val literal: String =
    if (written != null) written
    else if (values.length == 1) Distribution.write("C", values(0))
    else if (even) Distribution.write("E", values.indices.flatMap(i => Seq.fill(masses(i).toInt)(values(i))): _*)
    else Distribution.write("P", values.indices.flatMap(i => Seq(values(i), weights(i))): _*)

  override def hashCode: Int = java.util.Arrays.hashCode(values) * 31 + java.util.Arrays.hashCode(masses)
  override def equals(other: Any): Boolean = other match {
    case o: PointDistribution => java.util.Arrays.equals(values, o.values) && o.sameMasses(masses)
    case _ => false
  }
  private def sameMasses(others: Array[Double]): Boolean = java.util.Arrays.equals(masses, others)
}

object PointDistribution {
  /** The most values that a sum of points is kept as, and the most pairs that are added for it. */
  private[cqels] final val MostValues = 10000
  private final val MostPairs = 1000000
  private final val MostCounted = 9007199254740992.0 // whole numbers up to here are doubles
  private val Certain = Array(1.0)

  /** One value with a literal of its own. */
  private[cqels] def called(value: Double, literal: String): PointDistribution =
    new PointDistribution(Array(value), Certain, false, literal)

  /** Points in any order; equal values are put together. Written as C(v), E(v, ...) or P(v, w, ...). */
  def of(values: Array[Double], masses: Array[Double]): PointDistribution = {
    val order = values.indices.sortBy(values(_))
    val even = masses.forall(_ == masses(0))
    merged(order.map(values(_)).toArray, if (even) Array.fill(masses.length)(1.0) else order.map(masses(_)).toArray, even)
  }

  /** Points in order. */
  private def merged(values: Array[Double], masses: Array[Double], even: Boolean): PointDistribution = {
    val points = new scala.collection.mutable.ArrayBuffer[Double]()
    val together = new scala.collection.mutable.ArrayBuffer[Double]()
    values.indices.foreach { i =>
      if (points.nonEmpty && points.last == values(i)) together(together.length - 1) += masses(i)
      else { points += values(i); together += masses(i) }
    }
    new PointDistribution(points.toArray, together.toArray, even, null)
  }

  private def rising(values: Array[Double]): Boolean = {
    var i = 1
    while (i < values.length && values(i - 1) < values(i)) i += 1
    i >= values.length
  }

  private def distinct(values: Array[Double]): Array[Double] = {
    val sorted = values.clone()
    java.util.Arrays.sort(sorted)
    var kept = 1
    var i = 1
    while (i < sorted.length) {
      if (sorted(i) != sorted(kept - 1)) { sorted(kept) = sorted(i); kept += 1 }
      i += 1
    }
    java.util.Arrays.copyOf(sorted, kept)
  }

  /** What lies up to each value: masses where they are whole, and the shares up to it and after it. */
  private final class Cumulated(val masses: Array[Double], val upTo: Array[Double], val after: Array[Double]) extends Serializable

  private object Cumulated {
    private final val MostDecimal = 1000

    def whole(masses: Array[Double], total: Double): Cumulated = {
      val sums = running(masses)
      new Cumulated(sums, sums.map(_ / total), sums.map(s => (total - s) / total))
    }

    /** Weights such as 0.1 are added as the decimal numbers they are written as, if they are not too many. */
    def decimal(masses: Array[Double]): Cumulated =
      if (masses.length > MostDecimal) {
        val sums = running(masses)
        val shares = sums.map(_ / sums(sums.length - 1))
        new Cumulated(sums, shares, shares.map(1 - _))
      } else {
        val sums = masses.map(m => JBigDecimal.valueOf(m)).scanLeft(JBigDecimal.ZERO)(_ add _).tail
        val total = sums.last
        def share(part: JBigDecimal): Double = part.divide(total, MathContext.DECIMAL128).doubleValue
        new Cumulated(null, sums.map(share), sums.map(s => share(total.subtract(s))))
      }

    private def running(masses: Array[Double]): Array[Double] = masses.scanLeft(0.0)(_ + _).tail
  }
}
