package org.apache.spark.sql.cqels
package distributions

/** Probabilities that compare independent numbers (uncertainty paper, Definitions 5 to 7).
 *
 *  Closed forms where there are any: normal with normal, points with everything, a distribution with itself. Else one integral over the quantiles u of
 *  one side, P(X < Y) = integral over (0, 1) of P(X < quantile of Y at u), to 1e-6.
 */
object Probabilities {
  /** P(x < y). */
  def less(x: Distribution, y: Distribution): Double = (x, y) match {
    case (a: PointDistribution, b: PointDistribution) => a.less(b, orEqual = false)
    case (a: PointDistribution, _) => a.expected(asked(y, a.values.length).above)
    case (_, b: PointDistribution) => b.expected(asked(x, b.values.length).below)
    case (a: DistributionSum, _) if a.exact => less(a.points, y)
    case (_, b: DistributionSum) if b.exact => less(x, b.points)
    case (Normal(m, v), Normal(n, w)) => StandardNormal.below(m - n, v, w)
    case _ if x == y => 0.5
    case _ =>
      val origin = DistributionSum.origin(x)
      if (origin == 0) near(x, y) else near(x.shifted(-origin), y.shifted(-origin))
  }

  // What was far away may have the digits now by which its ends lie apart.
  private def near(x: Distribution, y: Distribution): Double = (x, y) match {
    case (Normal(m, v), Normal(n, w)) => StandardNormal.below(m - n, v, w)
    case _ => if (x.upper <= y.lower) 1.0 else if (x.lower >= y.upper) 0.0 else integral(x, y)
  }

  private def integral(x: Distribution, y: Distribution): Double =
    if (quantileCost(y) <= quantileCost(x)) overQuantiles(y, x)(x.below) else 1 - overQuantiles(x, y)(y.cdf)

  def less(x: Distribution, k: Double): Double = x.below(k)
  def lessOrEqual(x: Distribution, k: Double): Double = x.cdf(k)
  def greater(x: Distribution, k: Double): Double = x.above(k)
  def greaterOrEqual(x: Distribution, k: Double): Double = x.atLeast(k)

  /** P(x > y). */
  def greater(x: Distribution, y: Distribution): Double = y match {
    case p: PointDistribution if p.values.length == 1 => greater(x, p.values(0))
    case _ => less(y, x)
  }

  /** P(x >= y). */
  def greaterOrEqual(x: Distribution, y: Distribution): Double = y match {
    case p: PointDistribution if p.values.length == 1 => greaterOrEqual(x, p.values(0))
    case _ => lessOrEqual(y, x)
  }

  /** P(x <= y): more than P(x < y) only where both have points in common. */
  def lessOrEqual(x: Distribution, y: Distribution): Double = (x, y) match {
    case (a: PointDistribution, b: PointDistribution) => a.less(b, orEqual = true)
    case (a: PointDistribution, _) => a.expected(asked(y, a.values.length).atLeast)
    case (_, b: PointDistribution) => b.expected(asked(x, b.values.length).cdf)
    case (a: DistributionSum, _) if a.exact => lessOrEqual(a.points, y)
    case (_, b: DistributionSum) if b.exact => lessOrEqual(x, b.points)
    case _ => less(x, y)
  }

  /** P(low < x < high); with low not below high as numbers, 0. */
  def between(x: Distribution, low: Distribution, high: Distribution): Double = (x, low, high) match {
    case (a: PointDistribution, _, _) =>
      val (from, to) = (asked(low, a.values.length), asked(high, a.values.length))
      a.expected(v => from.below(v) * to.above(v))
    case (a: DistributionSum, _, _) if a.exact => between(a.points, low, high)
    case (_, a: PointDistribution, b: PointDistribution) =>
      val known = asked(x, a.values.length + b.values.length)
      val (upTo, below) = (a.values.map(known.cdf), b.values.map(known.below))
      a.expected(b)((i, j) => if (a.values(i) < b.values(j)) below(j) - upTo(i) else 0.0)
    case _ =>
      val origin = DistributionSum.origin(x)
      if (origin == 0) inside(x, low, high) else inside(x.shifted(-origin), low.shifted(-origin), high.shifted(-origin))
  }

  private def inside(x: Distribution, low: Distribution, high: Distribution): Double = {
    val cuts = (low.breaks ++ high.breaks).map(x.cdf) ++ x.steps
    val (from, to) = (listed(low), listed(high))
    Quadrature.unit(cuts) { u => val v = x.quantile(u); from.below(v) * (1 - to.cdf(v)) }
  }

  // Sums of points are made points, and other sums tables, where that is less than to compute them for so many values.
  private def asked(d: Distribution, values: Int): Distribution =
    if (values < Many) d else listed(d) match { case sum: DistributionSum => DistributionSum.quick(sum); case other => other }

  private def listed(d: Distribution): Distribution = d match { case sum: DistributionSum if sum.exact => sum.points; case _ => d }

  private final val Many = 1000

  /** E f(Y) where f is smooth between the breaks of `other`. */
  private[cqels] def overQuantiles(y: Distribution, other: Distribution)(f: Double => Double): Double =
    Quadrature.unit(other.breaks.map(y.cdf) ++ y.steps)(u => f(y.quantile(u)))

  // Some quantiles are a search of their own.
  private def quantileCost(d: Distribution): Int = d match {
    case _: DistributionSum => 3
    case _: Gamma | _: Beta => 2
    case _ => 1
  }
}
