package org.apache.spark.sql.cqels
package distributions

import org.apache.commons.math3.distribution.{BetaDistribution, GammaDistribution}
import org.apache.commons.math3.exception.{MathIllegalArgumentException, MathIllegalStateException}
import org.apache.commons.math3.special.{Beta => BetaFunction, Erf, Gamma => GammaFunction}

/** The families by name. Parameters in square brackets may be left out. */
object DistributionFamilies {
  /** Short and long names. The second parameter of a normal distribution is its variance (uncertainty paper, section 2). */
  final val Names: Map[String, String] = Map(
    "N" -> "Normal", "U" -> "Uniform", "T" -> "Triangular", "Exp" -> "Exponential", "LN" -> "LogNormal", "G" -> "Gamma",
    "B" -> "Beta", "C" -> "Constant", "E" -> "Empirical", "H" -> "Histogram", "P" -> "Points")

  /** The distribution, or null where the name is unknown or the parameters make none. */
  def make(name: String, p: Array[Double]): Distribution = (Names.getOrElse(name, name), p.length) match {
    case ("Normal", 2) if p(1) >= 0 => if (p(1) == 0) point(p(0), "N", p) else Normal(p(0), p(1))
    case ("Uniform", 2) if p(0) <= p(1) => if (p(0) == p(1)) point(p(0), "U", p) else Uniform(p(0), p(1))
    case ("Triangular", 3) if p(0) <= p(2) && p(2) <= p(1) =>
      if (p(0) == p(1)) point(p(0), "T", p) else Triangular(p(0), p(1), p(2))
    case ("Exponential", 1 | 2) if p(0) > 0 => Exponential(p(0), at(p, 1))
    case ("LogNormal", 2 | 3) if p(1) >= 0 =>
      if (p(1) == 0) point(math.exp(p(0)) + at(p, 2), "LN", p) else LogNormal(p(0), p(1), at(p, 2))
    case ("Gamma", 2 | 3) if p(0) > 0 && p(1) > 0 => Gamma(p(0), p(1), at(p, 2))
    case ("Beta", 2) if p(0) > 0 && p(1) > 0 => Beta(p(0), p(1), 0, 1)
    case ("Beta", 4) if p(0) > 0 && p(1) > 0 && p(2) < p(3) => Beta(p(0), p(1), p(2), p(3))
    case ("Constant", 1) => new PointDistribution(p(0))
    case ("Empirical", n) if n >= 1 => PointDistribution.of(p, Array.fill(n)(1.0))
    case ("Points", n) if n >= 2 && n % 2 == 0 => weighted(p)
    case ("Histogram", n) if n >= 3 && n % 2 == 1 => Histogram.of(p)
    case _ => null
  }

  private def at(p: Array[Double], i: Int): Double = if (p.length > i) p(i) else 0.0

  // A distribution without width is its one value; the literal stays as written.
  private def point(value: Double, name: String, p: Array[Double]): Distribution =
    if (value.isInfinite) null else PointDistribution.called(value, Distribution.write(name, p.toIndexedSeq: _*))

  /** What weights are divided by: weights that a literal of ours states are read as they are written. */
  private[cqels] def total(sum: Double): Double = if (math.abs(sum - 1) < 1e-12) 1.0 else sum

  private def weighted(p: Array[Double]): Distribution = {
    val values = p.indices.by(2).map(p(_)).toArray
    val weights = p.indices.by(2).map(i => p(i + 1)).toArray
    val sum = weights.sum
    if (weights.exists(_ < 0) || sum <= 0 || sum.isInfinite) null
    else {
      val kept = values.indices.filter(weights(_) > 0)
      PointDistribution.of(kept.map(values(_)).toArray, kept.map(weights(_)).toArray)
    }
  }
}

/** N(mean, variance). */
final case class Normal(mean: Double, variance: Double) extends Distribution {
  private[cqels] override def family: Int = 2
  private val scale = StandardNormal.scale(variance)
  override def cdf(x: Double): Double = 0.5 * Erf.erfc((mean - x) / scale)
  override def above(x: Double): Double = 0.5 * Erf.erfc((x - mean) / scale) // 1 - cdf would lose small probabilities
  override def atLeast(x: Double): Double = above(x)
  override def quantile(p: Double): Double = mean + scale * StandardNormal.quantile(p)
  override def lower: Double = Double.NegativeInfinity
  override def upper: Double = Double.PositiveInfinity
  override def breaks: Array[Double] = Array(mean - 4 * scale, mean - 1.5 * scale, mean, mean + 1.5 * scale, mean + 4 * scale)
  override def shifted(by: Double): Distribution = Normal(mean + by, variance)
  private[cqels] override def places: Array[Double] = Array(mean)
  private[cqels] override def grain: Double = scale
  override def negated: Distribution = Normal(-mean, variance)
  override def literal: String = Distribution.write("N", mean, variance)
  private[cqels] override def writable: Boolean = Distribution.finite(mean) && Distribution.finite(variance)
}

/** The error function as normal distributions use it: numbers in units of sqrt(2) standard deviations. */
private[cqels] object StandardNormal {
  /** sqrt(2 variance), for all variances. */
  def scale(variance: Double): Double =
    if (variance > Double.MaxValue / 2) 2 * math.sqrt(variance / 2) else math.sqrt(2 * variance)

  /** P(X < 0) for N(mean, v + w). */
  def below(mean: Double, v: Double, w: Double): Double = {
    val both = v + w
    0.5 * Erf.erfc(mean / (if (both.isInfinite) 2 * math.sqrt(v / 2 + w / 2) else scale(both)))
  }

  def quantile(p: Double): Double = if (p < 1e-9) tail(p) else Erf.erfInv(2 * p - 1)

  // 2 p - 1 has few digits of p left, or none: a ratio of polynomials (Acklam 2003), to 1.2e-9 of the value.
  private def tail(p: Double): Double = {
    val q = math.sqrt(-2 * math.log(p))
    val above = ((((-7.784894002430293e-3 * q - 3.223964580411365e-1) * q - 2.400758277161838) * q - 2.549732539343734) * q +
      4.374664141464968) * q + 2.938163982698783
    val below = (((7.784695709041462e-3 * q + 3.224671290700398e-1) * q + 2.445134137142996) * q + 3.754408661907416) * q + 1
    above / below * math.sqrt(0.5)
  }
}

/** U(lower, upper). */
final case class Uniform(lower: Double, upper: Double) extends Distribution {
  private[cqels] override def family: Int = 3
  override def mean: Double = Distribution.between(lower, upper, 0.5)
  override def variance: Double = { val width = upper - lower; width * (width / 12) }
  override def cdf(x: Double): Double = if (x <= lower) 0 else if (x >= upper) 1 else Distribution.share(x, lower, upper)
  override def quantile(p: Double): Double = Distribution.between(lower, upper, p)
  override def breaks: Array[Double] = Array(lower, upper)
  override def shifted(by: Double): Distribution = Uniform(lower + by, upper + by)
  private[cqels] override def places: Array[Double] = breaks
  private[cqels] override def grain: Double = upper - lower
  override def negated: Distribution = Uniform(-upper, -lower)
  override def literal: String = Distribution.write("U", lower, upper)
  private[cqels] override def writable: Boolean = Distribution.finite(lower) && Distribution.finite(upper) && lower < upper
}

/** T(lower, upper, mode). */
final case class Triangular(lower: Double, upper: Double, mode: Double) extends Distribution {
  private[cqels] override def family: Int = 4
  private val left = Distribution.share(mode, lower, upper) // probability below the mode
  private val right = Distribution.share(mode, upper, lower)
  override def mean: Double = {
    val sum = lower + upper + mode
    if (sum.isInfinite) lower / 3 + upper / 3 + mode / 3 else sum / 3
  }
  override def variance: Double = {
    val (a, c) = (upper - lower, mode - lower)
    a * ((a - c) / 18) + c * (c / 18)
  }
  override def cdf(x: Double): Double =
    if (x <= lower) 0
    else if (x >= upper) 1
    else if (x <= mode) { val d = Distribution.share(x, lower, mode); left * d * d }
    else { val d = Distribution.share(x, upper, mode); 1 - right * d * d }
  override def quantile(p: Double): Double =
    if (p <= left) Distribution.between(lower, mode, math.sqrt(p / left)) else Distribution.between(upper, mode, math.sqrt((1 - p) / right))
  override def breaks: Array[Double] = Array(lower, mode, upper)
  override def shifted(by: Double): Distribution = Triangular(lower + by, upper + by, mode + by)
  private[cqels] override def places: Array[Double] = breaks
  private[cqels] override def grain: Double = (upper - lower) / 2
  override def negated: Distribution = Triangular(-upper, -lower, -mode)
  override def literal: String = Distribution.write("T", lower, upper, mode)
  private[cqels] override def writable: Boolean = Distribution.finite(lower) && Distribution.finite(upper) && lower < upper
}

/** Exp(rate[, location]). */
final case class Exponential(rate: Double, location: Double) extends Distribution {
  private[cqels] override def family: Int = 5
  override def mean: Double = location + 1 / rate
  override def variance: Double = 1 / (rate * rate)
  override def lower: Double = location
  override def upper: Double = Double.PositiveInfinity
  override def cdf(x: Double): Double = if (x <= location) 0 else -math.expm1(-rate * (x - location))
  override def quantile(p: Double): Double = location - math.log1p(-p) / rate
  override def breaks: Array[Double] = Array(location, location + 3 / rate, location + 12 / rate)
  override def shifted(by: Double): Distribution = Exponential(rate, location + by)
  private[cqels] override def places: Array[Double] = Array(location)
  private[cqels] override def grain: Double = 1 / rate
  override def literal: String = Located.write("Exp", location, rate)
  private[cqels] override def writable: Boolean = Distribution.finite(location)
}

/** LN(mean, variance[, location]) of the logarithm: location + e to the power of N(mean, variance). */
final case class LogNormal(mu: Double, sigma2: Double, location: Double) extends Distribution {
  private[cqels] override def family: Int = 6
  private val scale = StandardNormal.scale(sigma2)
  override def mean: Double = location + math.exp(mu + sigma2 / 2)
  override def variance: Double = {
    val share = -math.expm1(-sigma2)
    val whole = math.exp(2 * (mu + sigma2))
    if (whole.isInfinite) math.exp(2 * (mu + sigma2) + math.log(share)) else share * whole
  }
  override def lower: Double = location
  override def upper: Double = Double.PositiveInfinity
  override def cdf(x: Double): Double = if (x <= location) 0 else 0.5 * Erf.erfc((mu - math.log(x - location)) / scale)
  override def quantile(p: Double): Double = location + math.exp(mu + scale * StandardNormal.quantile(p))
  override def breaks: Array[Double] =
    location +: LogNormal.Places.map(place => location + math.exp(mu + place * scale))
  override def shifted(by: Double): Distribution = LogNormal(mu, sigma2, location + by)
  private[cqels] override def places: Array[Double] = Array(location)
  private[cqels] override def grain: Double = math.sqrt(math.Pi) * scale * math.exp(mu - sigma2 / 2)
  override def literal: String = Located.write("LN", location, mu, sigma2)
  private[cqels] override def writable: Boolean = Distribution.finite(location)
}

object LogNormal {
  private val Places = Array(-4.0, -1.5, 0.0, 1.5, 4.0)
}

/** G(shape, scale[, location]). */
final case class Gamma(shape: Double, scale: Double, location: Double) extends Distribution {
  private[cqels] override def family: Int = 7
  @transient private lazy val standard = new GammaDistribution(null, shape, 1, 1e-12)
  override def mean: Double = location + shape * scale
  override def variance: Double = shape * scale * scale
  override def lower: Double = location
  override def upper: Double = Double.PositiveInfinity
  override def cdf(x: Double): Double =
    if (x <= location) 0
    else {
      val z = (x - location) / scale
      if (z.isInfinite) 1
      else if (shape >= LargeShapes.Least) LargeShapes.gamma(shape, z)
      else Special.value(standard.cumulativeProbability(z))
    }
  override def quantile(p: Double): Double =
    if (shape >= LargeShapes.Least) location + scale * LargeShapes.gammaQuantile(shape, p)
    else {
      val near = NearEnd.quantile(p, shape, GammaFunction.logGamma(shape + 1), -1)
      location + scale * (if (near.isNaN) Special.value(standard.inverseCumulativeProbability(p)) else near)
    }
  override def breaks: Array[Double] = Body.breaks(location, mean, Double.PositiveInfinity, math.sqrt(shape) * scale, 0, scale)
  override def shifted(by: Double): Distribution = Gamma(shape, scale, location + by)
  private[cqels] override def places: Array[Double] = Array(location)
  private[cqels] override def grain: Double = math.sqrt(shape) * scale * NearEnd.crowding(shape)
  override def literal: String = Located.write("G", location, shape, scale)
  private[cqels] override def writable: Boolean =
    Distribution.finite(location) && Distribution.finite(shape) && Distribution.finite(scale)
}

/** B(alpha, beta[, lower, upper]). */
final case class Beta(alpha: Double, beta: Double, lower: Double, upper: Double) extends Distribution {
  private[cqels] override def family: Int = 8
  // To digits of the deviation, which may be far below 1.
  @transient private lazy val standard = new BetaDistribution(null, alpha, beta, 1e-12 * around)
  private val large = math.min(alpha, beta) >= LargeShapes.Least
  private val unlike = !large && math.max(alpha, beta) >= UnlikeShapes.Least
  private def share = 1 / (1 + beta / alpha)
  override def mean: Double = Distribution.between(lower, upper, share)
  override def variance: Double = { val d = deviation; d * d }
  private def around: Double = math.sqrt(share) * math.sqrt(1 / (1 + alpha / beta) / (alpha + beta + 1)) // of the width
  private def deviation: Double = (upper - lower) * around
  override def cdf(x: Double): Double =
    if (x <= lower) 0
    else if (x >= upper) 1
    else {
      val z = Distribution.share(x, lower, upper)
      if (large) LargeShapes.beta(alpha, beta, z) else between01(z)
    }
  private def between01(z: Double): Double =
    if (!unlike) Special.value(standard.cumulativeProbability(z))
    else if (beta > alpha) UnlikeShapes.beta(alpha, beta, z)
    else 1 - UnlikeShapes.beta(beta, alpha, 1 - z)
  override def quantile(p: Double): Double =
    if (large) Distribution.between(lower, upper, LargeShapes.betaQuantile(alpha, beta, p))
    else {
      val whole = BetaFunction.logBeta(alpha, beta)
      val left = NearEnd.quantile(p, alpha, whole + math.log(alpha), 1 - beta)
      val right = NearEnd.quantile(1 - p, beta, whole + math.log(beta), 1 - alpha)
      if (!left.isNaN) Distribution.between(lower, upper, left)
      else if (!right.isNaN) Distribution.between(upper, lower, right)
      else Distribution.between(lower, upper, if (unlike) unlikeQuantile(p) else Special.value(standard.inverseCumulativeProbability(p)))
    }

  // Cantelli's inequality says where.
  private def unlikeQuantile(p: Double): Double = {
    val from = math.max(0.0, share - around * math.sqrt((1 - p) / p))
    val to = math.min(1.0, share + around * math.sqrt(p / (1 - p)))
    RisingFunction.root(from, to, 1e-14 * around)(z => (if (z <= 0) 0 else if (z >= 1) 1 else between01(z)) - p)
  }
  override def breaks: Array[Double] = {
    val width = upper - lower
    Body.breaks(lower, mean, upper, deviation, width / alpha, width / beta) :+ upper
  }
  override def shifted(by: Double): Distribution = Beta(alpha, beta, lower + by, upper + by)
  private[cqels] override def places: Array[Double] = Array(lower, upper)
  private[cqels] override def grain: Double = deviation * NearEnd.crowding(math.min(alpha, beta))
  override def negated: Distribution = Beta(beta, alpha, -upper, -lower)
  override def literal: String =
    if (lower == 0 && upper == 1) Distribution.write("B", alpha, beta) else Distribution.write("B", alpha, beta, lower, upper)
  private[cqels] override def writable: Boolean = Distribution.finite(lower) && Distribution.finite(upper) && lower < upper
}

/** Where the body of a distribution between ends begins and where it ends, if it fills no more than a part. */
private object Body {
  /** Breaks from `lower` to below `upper`; beyond six deviations the density falls as e to the -distance / tail, or faster. */
  def breaks(lower: Double, mean: Double, upper: Double, deviation: Double, lowerTail: Double, upperTail: Double): Array[Double] = {
    val breaks = new scala.collection.mutable.ArrayBuffer[Double](6)
    breaks += lower
    if (mean - lower > 5 * deviation) {
      val outer = mean - 6 * deviation - 12 * lowerTail
      if (outer > lower) breaks += outer
      breaks += mean - 2.5 * deviation
    }
    breaks += mean
    if (upper - mean > 5 * deviation) {
      breaks += mean + 3 * deviation
      val outer = mean + 6 * deviation + 12 * upperTail
      if (outer < upper) breaks += outer
    }
    breaks.toArray
  }
}

/** Values of special functions; not a number where their series do not converge. */
private object Special {
  def value(value: => Double): Double =
    try value
    catch { case _: MathIllegalStateException | _: MathIllegalArgumentException => Double.NaN }
}

/** Quantiles beside an end of the support where the cdf is a power of the distance, which a search by distance would miss:
 *  with a small exponent much of the probability lies there.
 */
private object NearEnd {
  /** For powers below 1, how much narrower it is where 1e-8 of the probability lies at the end than on the whole. */
  def crowding(k: Double): Double = if (k >= 1) 1 else math.pow(1e-8, 1 / k - 1)

  /** x with p = x^k e^(-scale) (1 + c k / (k + 1) x), NaN where it is too large for two terms of the series. */
  def quantile(p: Double, k: Double, scale: Double, c: Double): Double = {
    val x = math.exp((math.log(p) + scale) / k)
    if (x * math.max(1, math.abs(c)) < 1e-5) x * math.exp(-math.log1p(c * k / (k + 1) * x) / k) else Double.NaN
  }
}

/** H(edge 0, weight 1, edge 1, weight 2, edge 2 ...): evenly spread between two edges, weights in proportion. The first and
 *  the last one are not 0.
 */
final class Histogram private (edges: Array[Double], private val masses: Array[Double]) extends Distribution {
  private[cqels] override def family: Int = 9
  private[cqels] override def numbers: Long = 2L * edges.length
  private val weights = { val total = DistributionFamilies.total(masses.sum); masses.map(_ / total) }
  private val cumulated = { val sums = masses.scanLeft(0.0)(_ + _); sums.map(_ / sums(masses.length)) }
  override def lower: Double = edges(0)
  override def upper: Double = edges(edges.length - 1)
  override def mean: Double = weights.indices.foldLeft(0.0)((sum, i) => sum + weights(i) * (edges(i) / 2 + edges(i + 1) / 2))
  override def variance: Double = {
    val centre = mean
    weights.indices.foldLeft(0.0) { (sum, i) =>
      val (a, b) = (edges(i) - centre, edges(i + 1) - centre)
      sum + weights(i) * (a * a + a * b + b * b) / 3
    }
  }
  override def cdf(x: Double): Double =
    if (x <= lower) 0
    else if (x >= upper) 1
    else {
      var i = 0
      while (edges(i + 1) <= x) i += 1
      cumulated(i) + (cumulated(i + 1) - cumulated(i)) * Distribution.share(x, edges(i), edges(i + 1))
    }
  override def quantile(p: Double): Double = {
    var i = 0
    while (i < weights.length - 1 && cumulated(i + 1) < p) i += 1
    Distribution.between(edges(i), edges(i + 1), math.min(1.0, Distribution.share(p, cumulated(i), cumulated(i + 1))))
  }
  override def breaks: Array[Double] = edges
  private[cqels] override def steps: Array[Double] = cumulated
  override def shifted(by: Double): Distribution = new Histogram(edges.map(_ + by), masses)
  private[cqels] override def places: Array[Double] = edges
  private[cqels] override def grain: Double =
    weights.indices.foldLeft(Double.MaxValue)((least, i) => math.min(least, (edges(i + 1) - edges(i)) / weights(i)))
  override def negated: Distribution = new Histogram(edges.reverse.map(0.0 - _), masses.reverse)
  // Weights in the same proportion may give sums that differ in the last digit: such histograms are not equal.
  override lazy val hashCode: Int = java.util.Arrays.hashCode(edges) * 31 + java.util.Arrays.hashCode(masses)
  override def equals(other: Any): Boolean = other match {
    case o: Histogram => java.util.Arrays.equals(edges, o.places) && java.util.Arrays.equals(masses, o.masses)
    case _ => false
  }
  override def literal: String =
    Distribution.write("H", edges(0) +: weights.indices.flatMap(i => Seq(weights(i), edges(i + 1))): _*)
  private[cqels] override def writable: Boolean =
    Distribution.finite(lower) && Distribution.finite(upper) && Histogram.rising(edges)
}

object Histogram {
  def of(p: Array[Double]): Histogram = {
    val edges = p.indices.by(2).map(p(_)).toArray
    val weights = p.indices.drop(1).by(2).map(p(_)).toArray
    val sum = weights.sum
    if (!rising(edges) || weights.exists(_ < 0) || sum <= 0 || sum.isInfinite) null
    else {
      val (first, last) = (weights.indexWhere(_ > 0), weights.lastIndexWhere(_ > 0))
      new Histogram(edges.slice(first, last + 2), weights.slice(first, last + 1))
    }
  }

  private def rising(edges: Array[Double]): Boolean = edges.indices.drop(1).forall(i => edges(i - 1) < edges(i))
}

private object Located {
  def write(name: String, location: Double, parameters: Double*): String =
    Distribution.write(name, (if (location == 0) parameters else parameters :+ location): _*)
}
