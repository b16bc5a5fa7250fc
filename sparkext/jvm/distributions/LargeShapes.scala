package org.apache.spark.sql.cqels
package distributions

import org.apache.commons.math3.special.{Beta => BetaFunction, Erf}

/** Gamma and beta distributions with large shapes, where the usual series take long and lose digits: a normal distribution of
 *  a changed variable, and the first term of what it is off by (Temme 1979; NIST Digital Library of Mathematical Functions,
 *  8.12 and 8.18). From shapes of `Least` on, what is left out is below 1e-9.
 */
private[cqels] object LargeShapes {
  final val Least = 1e5

  /** P(X <= x), scale 1. */
  def gamma(shape: Double, x: Double): Double = {
    val t = (x - shape) / shape
    cdf(shape, t, apart(t), if (math.abs(t) < Near) 1.0 / 3 - t / 12 else Double.NaN)
  }

  /** P(X <= x), between 0 and 1. */
  def beta(alpha: Double, beta: Double, x: Double): Double = {
    val share = 1 / (1 + beta / alpha)
    val rest = 1 / (1 + alpha / beta)
    val d = x - share
    val t = d / math.sqrt(share * rest)
    val near = math.abs(d) < Near * math.min(share, rest)
    val off = if (near) betaOff(t, share, rest) else Double.NaN
    cdf(alpha + beta, t, share * apart(d / share) + rest * apart(-d / rest), off)
  }

  // From eta = t (1 - 2/3 slope t + (1 - 3 both) / (2 both) t t + ..) to the power of 1/2.
  private def betaOff(t: Double, share: Double, rest: Double): Double = {
    val both = share * rest
    val slope = (rest - share) / math.sqrt(both)
    slope / 3 + (slope * slope / 6 - (1 - 3 * both) / (4 * both)) * t
  }

  def gammaQuantile(shape: Double, p: Double): Double =
    quantile(shape, math.sqrt(shape), Double.PositiveInfinity, p)(x => gamma(shape, x))

  def betaQuantile(alpha: Double, beta: Double, p: Double): Double = {
    val share = 1 / (1 + beta / alpha)
    val deviation = math.sqrt(share) * math.sqrt(1 / (1 + alpha / beta) / (alpha + beta + 1))
    quantile(share, deviation, 1.0, p)(x => this.beta(alpha, beta, x))
  }

  // Such distributions are so close to normal that two deviations hold what they differ by.
  private def quantile(mean: Double, deviation: Double, most: Double, p: Double)(cdf: Double => Double): Double = {
    val z = math.sqrt(2) * StandardNormal.quantile(p)
    val from = math.max(0.0, mean + deviation * (z - 2))
    val to = math.min(most, mean + deviation * (z + 2))
    RisingFunction.root(from, to, 1e-14 * deviation)(x => cdf(x) - p)
  }

  private final val Near = 1e-4

  /** With eta^2 / 2 = `half` and the sign of t; `off` is 1 / eta - 1 / t where t is too small to tell, else not a number. */
  private def cdf(size: Double, t: Double, half: Double, off: Double): Double = {
    val eta = math.signum(t) * math.sqrt(2 * half)
    val difference = if (off.isNaN) 1 / eta - 1 / t else off
    val cdf = 0.5 * Erf.erfc(-math.signum(t) * math.sqrt(size * half)) +
      math.exp(-size * half) / math.sqrt(2 * math.Pi * size) * difference
    math.min(1.0, math.max(0.0, cdf))
  }

  /** t - log(1 + t), without losing digits near 0. */
  private def apart(t: Double): Double =
    if (math.abs(t) > 0.1) t - math.log1p(t)
    else {
      val r = t / (2 + t)
      val s = r * r
      r * t - 2 * r * s * (1.0 / 3 + s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 + s / 13)))))
    }
}

/** Beta distributions of which one shape is so large that 1 - x has too few digits where they lie. */
private[cqels] object UnlikeShapes {
  final val Least = 1e7

  /** P(X <= x) for alpha below `LargeShapes.Least` and beta above `Least`, between 0 and 1: a series without differences
   *  (NIST Digital Library of Mathematical Functions, 8.17.8).
   */
  def beta(alpha: Double, beta: Double, x: Double): Double = {
    val rest = -beta * math.log1p(-x)
    if (rest > alpha + 12 * math.sqrt(alpha) + 60) 1.0 // as in a gamma distribution, that much is not left above
    else {
      val first = math.exp(alpha * math.log(x) - rest - math.log(alpha) - BetaFunction.logBeta(alpha, beta))
      var term = first
      var sum = first
      var n = 0
      while (term > 1e-17 * sum) {
        term *= x * ((alpha + beta + n) / (alpha + 1 + n))
        sum += term
        n += 1
      }
      math.min(1.0, sum)
    }
  }
}
