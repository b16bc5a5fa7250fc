package org.apache.spark.sql.cqels

import org.apache.commons.math3.distribution.{BetaDistribution, GammaDistribution}
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
    case ("Empirical", n) if n >= 1 => PointDistribution.of(p, Array.fill(n)(1.0 / n))
    case ("Points", n) if n >= 2 && n % 2 == 0 => weighted(p)
    case ("Histogram", n) if n >= 3 && n % 2 == 1 => Histogram.of(p)
    case _ => null
  }

  private def at(p: Array[Double], i: Int): Double = if (p.length > i) p(i) else 0.0

  // A distribution without width is its one value; the literal stays as written.
  private def point(value: Double, name: String, p: Array[Double]): Distribution =
    new PointDistribution(Array(value), Array(1.0), Distribution.write(name, p.toIndexedSeq: _*))

  /** What weights are divided by: weights that a literal of ours states are read as they are written. */
  private[cqels] def total(sum: Double): Double = if (math.abs(sum - 1) < 1e-12) 1.0 else sum

  private def weighted(p: Array[Double]): Distribution = {
    val values = p.indices.by(2).map(p(_)).toArray
    val weights = p.indices.by(2).map(i => p(i + 1)).toArray
    val sum = weights.sum
    if (weights.exists(_ < 0) || sum <= 0 || sum.isInfinite) null
    else {
      val kept = values.indices.filter(weights(_) > 0)
      PointDistribution.of(kept.map(values(_)).toArray, kept.map(weights(_) / DistributionFamilies.total(sum)).toArray)
    }
  }
}

/** N(mean, variance). */
final case class Normal(mean: Double, variance: Double) extends Distribution {
  private[cqels] override def family: Int = 2
  private val scale = math.sqrt(2 * variance)
  override def cdf(x: Double): Double = 0.5 * Erf.erfc((mean - x) / scale)
  override def quantile(p: Double): Double = mean + scale * Erf.erfInv(2 * p - 1)
  override def lower: Double = Double.NegativeInfinity
  override def upper: Double = Double.PositiveInfinity
  override def breaks: Array[Double] = Array(mean - 4 * scale, mean - 1.5 * scale, mean, mean + 1.5 * scale, mean + 4 * scale)
  override def shifted(by: Double): Distribution = Normal(mean + by, variance)
  override def negated: Distribution = Normal(-mean, variance)
  override def literal: String = Distribution.write("N", mean, variance)
}

/** U(lower, upper). */
final case class Uniform(lower: Double, upper: Double) extends Distribution {
  private[cqels] override def family: Int = 3
  private val width = upper - lower
  override def mean: Double = lower + width / 2
  override def variance: Double = width * width / 12
  override def cdf(x: Double): Double = if (x <= lower) 0 else if (x >= upper) 1 else (x - lower) / width
  override def quantile(p: Double): Double = lower + p * width
  override def breaks: Array[Double] = Array(lower, upper)
  override def shifted(by: Double): Distribution = Uniform(lower + by, upper + by)
  override def negated: Distribution = Uniform(-upper, -lower)
  override def literal: String = Distribution.write("U", lower, upper)
}

/** T(lower, upper, mode). */
final case class Triangular(lower: Double, upper: Double, mode: Double) extends Distribution {
  private[cqels] override def family: Int = 4
  private val width = upper - lower
  private val left = (mode - lower) / width // probability below the mode
  override def mean: Double = (lower + upper + mode) / 3
  override def variance: Double = {
    val (a, c) = (upper - lower, mode - lower)
    (a * a + c * c - a * c) / 18
  }
  override def cdf(x: Double): Double =
    if (x <= lower) 0
    else if (x >= upper) 1
    else if (x <= mode) { val d = x - lower; d * d / (width * (mode - lower)) }
    else { val d = upper - x; 1 - d * d / (width * (upper - mode)) }
  override def quantile(p: Double): Double =
    if (p <= left) lower + math.sqrt(p * width * (mode - lower)) else upper - math.sqrt((1 - p) * width * (upper - mode))
  override def breaks: Array[Double] = Array(lower, mode, upper)
  override def shifted(by: Double): Distribution = Triangular(lower + by, upper + by, mode + by)
  override def negated: Distribution = Triangular(-upper, -lower, -mode)
  override def literal: String = Distribution.write("T", lower, upper, mode)
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
  override def literal: String = Located.write("Exp", location, rate)
}

/** LN(mean, variance[, location]) of the logarithm: location + e to the power of N(mean, variance). */
final case class LogNormal(mu: Double, sigma2: Double, location: Double) extends Distribution {
  private[cqels] override def family: Int = 6
  private val scale = math.sqrt(2 * sigma2)
  override def mean: Double = location + math.exp(mu + sigma2 / 2)
  override def variance: Double = math.expm1(sigma2) * math.exp(2 * mu + sigma2)
  override def lower: Double = location
  override def upper: Double = Double.PositiveInfinity
  override def cdf(x: Double): Double = if (x <= location) 0 else 0.5 * Erf.erfc((mu - math.log(x - location)) / scale)
  override def quantile(p: Double): Double = location + math.exp(mu + scale * Erf.erfInv(2 * p - 1))
  override def breaks: Array[Double] =
    Array(location, location + math.exp(mu - 1.5 * scale), location + math.exp(mu), location + math.exp(mu + 1.5 * scale), location + math.exp(mu + 4 * scale))
  override def shifted(by: Double): Distribution = LogNormal(mu, sigma2, location + by)
  override def literal: String = Located.write("LN", location, mu, sigma2)
}

/** G(shape, scale[, location]). */
final case class Gamma(shape: Double, scale: Double, location: Double) extends Distribution {
  private[cqels] override def family: Int = 7
  @transient private lazy val standard = new GammaDistribution(null, shape, 1, 1e-12)
  override def mean: Double = location + shape * scale
  override def variance: Double = shape * scale * scale
  override def lower: Double = location
  override def upper: Double = Double.PositiveInfinity
  override def cdf(x: Double): Double = if (x <= location) 0 else if (x.isInfinite) 1 else standard.cumulativeProbability((x - location) / scale)
  override def quantile(p: Double): Double = {
    val near = NearEnd.quantile(p, shape, GammaFunction.logGamma(shape + 1), -1)
    location + scale * (if (near.isNaN) standard.inverseCumulativeProbability(p) else near)
  }
  override def breaks: Array[Double] = {
    val deviation = math.sqrt(variance)
    Array(location, mean, mean + 3 * deviation, mean + 12 * deviation)
  }
  override def shifted(by: Double): Distribution = Gamma(shape, scale, location + by)
  override def literal: String = Located.write("G", location, shape, scale)
}

/** B(alpha, beta[, lower, upper]). */
final case class Beta(alpha: Double, beta: Double, lower: Double, upper: Double) extends Distribution {
  private[cqels] override def family: Int = 8
  @transient private lazy val standard = new BetaDistribution(null, alpha, beta, 1e-12)
  private val width = upper - lower
  override def mean: Double = lower + width * alpha / (alpha + beta)
  override def variance: Double = { val s = alpha + beta; width * width * alpha * beta / (s * s * (s + 1)) }
  override def cdf(x: Double): Double = if (x <= lower) 0 else if (x >= upper) 1 else standard.cumulativeProbability((x - lower) / width)
  override def quantile(p: Double): Double = {
    val whole = BetaFunction.logBeta(alpha, beta)
    val left = NearEnd.quantile(p, alpha, whole + math.log(alpha), 1 - beta)
    val right = NearEnd.quantile(1 - p, beta, whole + math.log(beta), 1 - alpha)
    if (!left.isNaN) lower + width * left
    else if (!right.isNaN) upper - width * right
    else lower + width * standard.inverseCumulativeProbability(p)
  }
  override def breaks: Array[Double] = Array(lower, mean, upper)
  override def shifted(by: Double): Distribution = Beta(alpha, beta, lower + by, upper + by)
  override def negated: Distribution = Beta(beta, alpha, -upper, -lower)
  override def literal: String =
    if (lower == 0 && upper == 1) Distribution.write("B", alpha, beta) else Distribution.write("B", alpha, beta, lower, upper)
}

/** Quantiles beside an end of the support where the cdf is a power of the distance, which a search by distance would miss:
 *  with a small exponent much of the probability lies there.
 */
private object NearEnd {
  /** x with p = x^k e^(-scale) (1 + c k / (k + 1) x), NaN where it is too large for two terms of the series. */
  def quantile(p: Double, k: Double, scale: Double, c: Double): Double = {
    val x = math.exp((math.log(p) + scale) / k)
    if (x * math.max(1, math.abs(c)) < 1e-5) x * math.exp(-math.log1p(c * k / (k + 1) * x) / k) else Double.NaN
  }
}

/** H(edge 0, weight 1, edge 1, weight 2, edge 2 ...): evenly spread between two edges, weights in proportion. */
final class Histogram private (edges: Array[Double], weights: Array[Double]) extends Distribution {
  private[cqels] override def family: Int = 9
  private val cumulated = weights.scanLeft(0.0)(_ + _)
  override def lower: Double = edges(0)
  override def upper: Double = edges(edges.length - 1)
  override def mean: Double = weights.indices.foldLeft(0.0)((sum, i) => sum + weights(i) * (edges(i) + edges(i + 1)) / 2)
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
      cumulated(i) + weights(i) * (x - edges(i)) / (edges(i + 1) - edges(i))
    }
  override def quantile(p: Double): Double = {
    var i = 0
    while (i < weights.length - 1 && cumulated(i + 1) < p) i += 1
    if (weights(i) == 0) edges(i) else edges(i) + (edges(i + 1) - edges(i)) * math.min(1.0, (p - cumulated(i)) / weights(i))
  }
  override def breaks: Array[Double] = edges
  override def shifted(by: Double): Distribution = new Histogram(edges.map(_ + by), weights)
  override def negated: Distribution = new Histogram(edges.reverse.map(-_), weights.reverse)
  override lazy val hashCode: Int = literal.hashCode
  override def equals(other: Any): Boolean = other match { case o: Histogram => literal == o.literal; case _ => false }
  override def literal: String =
    Distribution.write("H", edges(0) +: weights.indices.flatMap(i => Seq(weights(i), edges(i + 1))): _*)
}

object Histogram {
  def of(p: Array[Double]): Histogram = {
    val edges = p.indices.by(2).map(p(_)).toArray
    val weights = p.indices.drop(1).by(2).map(p(_)).toArray
    val sum = weights.sum
    val rising = edges.indices.drop(1).forall(i => edges(i - 1) < edges(i))
    if (!rising || weights.exists(_ < 0) || sum <= 0 || sum.isInfinite) null else new Histogram(edges, weights.map(_ / DistributionFamilies.total(sum)))
  }
}

private object Located {
  def write(name: String, location: Double, parameters: Double*): String =
    Distribution.write(name, (if (location == 0) parameters else parameters :+ location): _*)
}
