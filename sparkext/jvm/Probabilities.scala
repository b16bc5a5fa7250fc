package org.apache.spark.sql.cqels

import org.apache.commons.math3.special.Erf

/** Probabilities that compare independent numbers (uncertainty paper, Definitions 5 to 7).
 *
 *  Closed forms where there are any: normal with normal, points with everything, a distribution with itself. Else one integral over the quantiles u of
 *  one side, P(X < Y) = integral over (0, 1) of P(X < quantile of Y at u), to 1e-6.
 */
object Probabilities {
  /** P(x < y). */
  def less(x: Distribution, y: Distribution): Double = (x, y) match {
    case (a: PointDistribution, _) => weigh(a)(v => 1 - y.cdf(v))
    case (_, b: PointDistribution) => weigh(b)(x.below)
    case (Normal(m, v), Normal(n, w)) => 0.5 * Erf.erfc((m - n) / math.sqrt(2 * (v + w)))
    case _ if x == y => 0.5
    case _ =>
      if (x.upper <= y.lower) 1.0
      else if (x.lower >= y.upper) 0.0
      else if (quantileCost(y) <= quantileCost(x)) overQuantiles(y, x)(x.below)
      else 1 - overQuantiles(x, y)(y.cdf)
  }

  def less(x: Distribution, k: Double): Double = x.below(k)
  def lessOrEqual(x: Distribution, k: Double): Double = x.cdf(k)
  def greater(x: Distribution, k: Double): Double = x match {
    case Normal(m, v) => 0.5 * Erf.erfc((k - m) / math.sqrt(2 * v)) // 1 - cdf would lose small probabilities
    case _ => 1 - x.cdf(k)
  }
  def greaterOrEqual(x: Distribution, k: Double): Double = x match {
    case points: PointDistribution => 1 - points.below(k)
    case _ => greater(x, k)
  }

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
    case (a: PointDistribution, b: PointDistribution) => weigh(a)(v => 1 - b.below(v))
    case _ => less(x, y)
  }

  /** P(low < x < high); with low not below high as numbers, 0. */
  def between(x: Distribution, low: Distribution, high: Distribution): Double = (x, low, high) match {
    case (a: PointDistribution, _, _) => weigh(a)(v => low.below(v) * (1 - high.cdf(v)))
    case (_, a: PointDistribution, b: PointDistribution) =>
      weigh(a)(l => weigh(b)(h => if (l < h) math.max(0.0, x.below(h) - x.cdf(l)) else 0.0))
    case _ =>
      val cuts = (low.breaks ++ high.breaks).map(x.cdf)
      Quadrature.unit(cuts) { u => val v = x.quantile(u); low.below(v) * (1 - high.cdf(v)) }
  }

  private def weigh(points: PointDistribution)(f: Double => Double): Double = {
    var sum = 0.0
    var i = 0
    while (i < points.values.length) { sum += points.weights(i) * f(points.values(i)); i += 1 }
    math.min(1.0, math.max(0.0, sum))
  }

  /** E f(Y) where f is smooth between the breaks of `other`. */
  private[cqels] def overQuantiles(y: Distribution, other: Distribution)(f: Double => Double): Double =
    Quadrature.unit(other.breaks.map(y.cdf))(u => f(y.quantile(u)))

  // Some quantiles are a search of their own.
  private def quantileCost(d: Distribution): Int = d match {
    case _: DistributionSum => 3
    case _: Gamma | _: Beta => 2
    case _ => 1
  }
}
