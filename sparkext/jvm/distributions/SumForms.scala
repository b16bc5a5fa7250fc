package org.apache.spark.sql.cqels
package distributions

/** Sums and differences of independent numbers: in a family where there is one, else as a [[DistributionSum]] whose parts
 *  stand in the order in which they are cheapest to compute with.
 */
object SumForms {
  // A move may put this much of a probability to a wrong side of a value.
  private final val LeastShare = 1e-8

  /** X + Y of independent numbers, in a family where there is one: the law of the closed forms. */
  def add(x: Distribution, y: Distribution): Distribution = representable(x, y, sum(x, y))

  /** X - Y of independent numbers. */
  def subtract(x: Distribution, y: Distribution): Distribution = {
    val minus = y.negated
    if (minus == null) representable(x, y, difference(x, y)) else add(x, minus)
  }

  // Points come last here, too: those before the minus, and those of what has no negative.
  private def difference(x: Distribution, y: Distribution): Distribution = (x, y) match {
    case (DistributionSum(rest, points: PointDistribution, sign), _) => sum(difference(rest, y), if (sign > 0) points else points.minus)
    case (_, DistributionSum(rest, points: PointDistribution, sign)) => sum(difference(x, rest), if (sign > 0) points.minus else points)
    case (DistributionSum(points: PointDistribution, rest, _), _) => make(points, sum(rest, y), -1)
    case (Stepped(rest, steps, sign), _) => make(difference(rest, y), steps, sign)
    case _ => make(x, y, -1)
  }

  /** Null where adding has left the range of numbers, as no literal could say it, or made too deep a sum. */
  private def representable(x: Distribution, y: Distribution, total: Distribution): Distribution = total match {
    case sum: DistributionSum =>
      val beyond = Distribution.finite(x.mean) && Distribution.finite(y.mean) && !Distribution.finite(sum.mean)
      if (beyond || !sum.writable || sum.levels > DistributionSum.MostLevels) null else sum
    case family => if (family.writable) family else null
  }

  /** X + by, where numbers are dense enough there: else the sum that it is. Points are numbers. */
  private[distributions] def shifted(d: Distribution, by: Double): Distribution = {
    val dense = d match {
      case _: PointDistribution => true
      case sum: DistributionSum if sum.isMoved || sum.lookUps > 0 => true
      case _ =>
        val places = d.places
        !finite(places, by) || places.forall(told(d, _, by))
    }
    if (dense) roughly(d, by) else DistributionSum(d, new PointDistribution(by), 1)
  }

  /** X + by, unless numbers there do not tell its ends apart. */
  private[distributions] def roughly(d: Distribution, by: Double): Distribution = {
    val there = d.shifted(by)
    if (there.writable || d.isInstanceOf[DistributionSum] || !finite(d.places, by)) there
    else DistributionSum(d, new PointDistribution(by), 1)
  }

  private def finite(places: Array[Double], by: Double): Boolean = places.forall(place => Distribution.finite(place + by))

  private def sum(x: Distribution, y: Distribution): Distribution = (x, y) match {
    case (Normal(m, v), Normal(n, w)) => closed(m, n)(Normal(_, v + w))
    case (a: PointDistribution, b) if a.values.length == 1 => shifted(b, a.values(0))
    case (a, b: PointDistribution) if b.values.length == 1 => shifted(a, b.values(0))
    case (a: PointDistribution, b: PointDistribution) =>
      val points = a.plus(b)
      if (points != null) points else if (a.values.length < b.values.length) make(b, a, 1) else make(a, b, 1)
    case (DistributionSum(rest, points: PointDistribution, sign), b) => withPoints(rest, if (sign > 0) points else points.minus, b)
    case (_, DistributionSum(_, _: PointDistribution, _)) => sum(y, x)
    case (DistributionSum(points: PointDistribution, rest, _), b: PointDistribution) =>
      val together = points.plus(b)
      if (together != null) make(together, rest, -1) else make(x, b, 1)
    case (DistributionSum(points: PointDistribution, rest, _), b) => sum(difference(b, rest), points)
    case (_, DistributionSum(_: PointDistribution, _, _)) => sum(y, x)
    case (a: Uniform, b: Uniform) if a.upper - a.lower == b.upper - b.lower => triangular(a, b)
    case (a: Gamma, b: Gamma) if a.scale == b.scale => closed(a.location, b.location)(Gamma(a.shape + b.shape, a.scale, _))
    case (Exponential(r, l), Exponential(s, k)) if r == s => closed(l, k)(Gamma(2, 1 / r, _))
    case (a: Gamma, Exponential(r, l)) if a.scale * r == 1 => closed(a.location, l)(Gamma(a.shape + 1, a.scale, _))
    case (a: Exponential, b: Gamma) if b.scale * a.rate == 1 => sum(b, a)
    case (Stepped(rest, steps, sign), b) if !hasSteps(b) => make(sum(rest, b), steps, sign)
    case (DistributionSum(steps: Histogram, rest, _), b) if !hasSteps(b) => make(difference(b, rest), steps, 1)
    case (a, DistributionSum(_, _: Histogram, _) | DistributionSum(_: Histogram, _, _)) if !hasSteps(a) => sum(y, x)
    case _ => make(x, y, 1)
  }

  private def hasSteps(d: Distribution): Boolean = d.isInstanceOf[Histogram] || d.isInstanceOf[PointDistribution]

  /** A sum with a histogram, apart: that comes after what is spread evenly enough for tables, too, but before points. */
  private object Stepped {
    def unapply(d: Distribution): Option[(Distribution, Histogram, Int)] = d match {
      case DistributionSum(rest, steps: Histogram, sign) => Some((rest, steps, sign))
      case DistributionSum(steps: Histogram, rest, 1) => Some((rest, steps, 1))
      case _ => None
    }
  }

  /** The closed form that lies at a + b; about the smaller of them, and moved by the other, where numbers are too coarse
   *  for it there: N(1.6e9, v) + N(1e-7, v) is no N(1.6e9, 2 v).
   */
  private def closed(a: Double, b: Double)(at: Double => Distribution): Distribution = {
    val there = at(a + b)
    if (told(there, a, b)) there else if (math.abs(a) < math.abs(b)) shifted(at(a), b) else shifted(at(b), a)
  }

  private def triangular(a: Uniform, b: Uniform): Distribution = {
    val there = Triangular(a.lower + b.lower, a.upper + b.upper, a.lower + b.upper)
    val width = a.upper - a.lower
    val (near, far) = if (math.abs(a.lower) < math.abs(b.lower)) (a, b) else (b, a)
    if (told(there, a.lower, b.lower) && told(there, a.upper, b.upper) && told(there, a.lower, b.upper)) there
    else if (told(there, near.upper, width)) shifted(Triangular(near.lower, near.upper + width, near.upper), far.lower)
    else make(a, b, 1)
  }

  /** Whether a + b, as a number, is where a distribution lies: what it is off by makes no difference to probabilities. */
  private def told(d: Distribution, a: Double, b: Double): Boolean = {
    val rest = math.abs(Distribution.rounding(a, b))
    rest == 0 || rest.isNaN || rest <= LeastShare * d.grain // NaN: beyond the range of numbers
  }

  // Points are put together, and come last: what is spread evenly enough for tables is added before.
  private def withPoints(rest: Distribution, points: PointDistribution, y: Distribution): Distribution = y match {
    case others: PointDistribution if points.values.length == 1 => sum(sum(rest, others), points)
    case others: PointDistribution =>
      val together = points.plus(others)
      if (together != null) sum(rest, together) else make(DistributionSum(rest, points, 1), others, 1)
    case _ => sum(sum(rest, y), points)
  }

  /** The sum as it is, points and what has cheap quantiles as its second part. */
  private[distributions] def make(x: Distribution, y: Distribution, sign: Int): Distribution =
    if (sign > 0 && rank(y) > rank(x)) DistributionSum(y, x, 1) else DistributionSum(x, y, sign)

  private def rank(d: Distribution): Int = d match {
    case _: PointDistribution => 0
    case _: Gamma | _: Beta => 2
    case _: DistributionSum => 3
    case _ => 1
  }
}
