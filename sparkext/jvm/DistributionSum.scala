package org.apache.spark.sql.cqels

/** The sum of two independent numbers whose distribution has no family of its own: kept as the sum that it is.
 *
 *  Written as Sum(N(0, 1), U(0, 1)), or Difference(..) where the second has no negative in its family. Nothing is
 *  approximated when it is made; its cdf is one integral, P(X + Y <= z) = E P(X <= z - Y), to 1e-6. A part that is a sum
 *  itself is tabulated for it.
 */
final case class DistributionSum(first: Distribution, second: Distribution, sign: Int) extends Distribution {
  override def mean: Double = first.mean + sign * second.mean
  override def variance: Double = first.variance + second.variance
  override def lower: Double = first.lower + (if (sign > 0) second.lower else -second.upper)
  override def upper: Double = first.upper + (if (sign > 0) second.upper else -second.lower)

  override def breaks: Array[Double] = {
    val all = for (a <- first.breaks; b <- second.breaks) yield a + sign * b
    // Ends and kinks are where cuts matter most; a handful will do for sums of sums.
    if (all.length <= 25) all.sorted else all.sorted.grouped(all.length / 25 + 1).map(_.head).toArray
  }

  @transient private lazy val tabulated = new TabulatedSum(this)

  override def cdf(x: Double): Double =
    if (x <= lower) 0.0
    else if (x >= upper) 1.0
    else {
      val inner = DistributionSum.quick(first)
      DistributionSum.quick(second) match {
        case points: PointDistribution =>
          points.values.indices.foldLeft(0.0)((sum, i) => sum + points.weights(i) * inner.cdf(x - sign * points.values(i)))
        case outer =>
          val cuts = inner.breaks.map(b => outer.cdf(sign * (x - b)))
          Quadrature.unit(cuts)(u => inner.cdf(x - sign * outer.quantile(u)))
      }
    }

  /** A value with at most p below it, if p is small, or at most 1 - p above it: where the sum's tails begin. */
  private[cqels] def reach(p: Double): Double = {
    val each = if (p < 0.5) p / 2 else 1 - (1 - p) / 2
    DistributionSum.reach(first, each) + sign * DistributionSum.reach(second, if (sign > 0) each else 1 - each)
  }

  /** By halving: the cdf rises. */
  override def quantile(p: Double): Double = {
    val deviation = math.sqrt(variance)
    var from = if (lower.isInfinite) mean - deviation else lower
    var step = deviation
    while (lower.isInfinite && cdf(from) > p) { from -= step; step *= 2 }
    var to = if (upper.isInfinite) mean + deviation else upper
    step = deviation
    while (upper.isInfinite && cdf(to) < p) { to += step; step *= 2 }
    var i = 0
    while (i < 200 && to - from > 1e-12 * math.max(1.0, math.abs(from) + math.abs(to))) {
      val middle = from + (to - from) / 2
      if (cdf(middle) < p) from = middle else to = middle
      i += 1
    }
    to
  }

  // The part that is no sum is moved: what is known of the other one stays.
  override def shifted(by: Double): Distribution =
    if (first.isInstanceOf[DistributionSum]) DistributionSum.make(first, second.shifted(sign * by), sign)
    else DistributionSum.make(first.shifted(by), second, sign)
  override def negated: Distribution = {
    val minus = first.negated
    if (minus == null) null else DistributionSum.make(minus, second, -sign)
  }
  private[cqels] override val family: Int =
    if (first.isInstanceOf[DistributionSum] || second.isInstanceOf[DistributionSum]) 11 else 10
  override def literal: String = s"${if (sign > 0) "Sum" else "Difference"}(${first.literal}, ${second.literal})"
}

object DistributionSum {
  final val Names = Set("Sum", "Difference")
  private final val MostPoints = 10000

  /** The same distribution with a cdf that is no integral. */
  private def quick(d: Distribution): Distribution = d match {
    case sum: DistributionSum => sum.tabulated
    case other => other
  }

  private def reach(d: Distribution, p: Double): Double = d match {
    case sum: DistributionSum => sum.reach(p)
    case other => other.quantile(p)
  }

  /** X + Y of independent numbers, in a family where there is one: the law of the closed forms. */
  def add(x: Distribution, y: Distribution): Distribution = representable(x, y, sum(x, y))

  /** X - Y of independent numbers. */
  def subtract(x: Distribution, y: Distribution): Distribution = {
    val minus = y.negated
    if (minus == null) representable(x, y, make(x, y, -1)) else add(x, minus)
  }

  /** Null where adding has left the range of numbers, as no literal could say it. */
  private def representable(x: Distribution, y: Distribution, total: Distribution): Distribution =
    if (isFinite(x.mean) && isFinite(y.mean) && !isFinite(total.mean)) null else total

  private def isFinite(value: Double): Boolean = !value.isNaN && !value.isInfinite

  private def sum(x: Distribution, y: Distribution): Distribution = (x, y) match {
    case (Normal(m, v), Normal(n, w)) => Normal(m + n, v + w)
    case (a: PointDistribution, b) if a.values.length == 1 => b.shifted(a.values(0))
    case (a, b: PointDistribution) if b.values.length == 1 => a.shifted(b.values(0))
    case (a: PointDistribution, b: PointDistribution) if a.values.length.toLong * b.values.length <= MostPoints =>
      val pairs = for (i <- a.values.indices; j <- b.values.indices) yield (a.values(i) + b.values(j), a.weights(i) * b.weights(j))
      PointDistribution.of(pairs.map(_._1).toArray, pairs.map(_._2).toArray)
    case (a: Uniform, b: Uniform) if a.upper - a.lower == b.upper - b.lower =>
      Triangular(a.lower + b.lower, a.upper + b.upper, a.lower + b.upper)
    case (a: Gamma, b: Gamma) if a.scale == b.scale => Gamma(a.shape + b.shape, a.scale, a.location + b.location)
    case (Exponential(r, l), Exponential(s, k)) if r == s => Gamma(2, 1 / r, l + k)
    case (a: Gamma, Exponential(r, l)) if a.scale * r == 1 => Gamma(a.shape + 1, a.scale, a.location + l)
    case (a: Exponential, b: Gamma) => sum(b, a) match { case sum: DistributionSum => make(a, b, 1); case family => family }
    case _ => make(x, y, 1)
  }

  /** The sum as it is, points and what has cheap quantiles as its second part. */
  private[cqels] def make(x: Distribution, y: Distribution, sign: Int): Distribution =
    if (sign > 0 && rank(y) > rank(x)) DistributionSum(y, x, 1) else DistributionSum(x, y, sign)

  private def rank(d: Distribution): Int = d match {
    case _: PointDistribution => 0
    case _: Gamma | _: Beta => 2
    case _: DistributionSum => 3
    case _ => 1
  }

  /** Reads what stands between the brackets: two literals. */
  private[cqels] def parse(name: String, inside: String): Distribution = {
    var depth = 0
    var comma = -1
    var i = 0
    while (i < inside.length) {
      inside.charAt(i) match {
        case '(' => depth += 1
        case ')' => depth -= 1
        case ',' if depth == 0 && comma < 0 => comma = i
        case ',' if depth == 0 => return null
        case _ =>
      }
      i += 1
    }
    if (comma < 0 || depth != 0) return null
    val first = Distribution.parse(inside.substring(0, comma).trim)
    val second = Distribution.parse(inside.substring(comma + 1).trim)
    if (first == null || second == null) null
    else if (name == "Sum") add(first, second)
    else subtract(first, second)
  }
}
