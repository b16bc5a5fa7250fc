package org.apache.spark.sql.cqels
package distributions

/** The sum of two independent numbers whose distribution has no family of its own: kept as the sum that it is.
 *
 *  Written as Sum(N(0, 1), U(0, 1)), or Difference(..) where the second has no negative in its family. Nothing is
 *  approximated when it is made; its cdf is one integral, P(X + Y <= z) = E P(X <= z - Y), to 1e-6, or a sum where a
 *  part is points. A part that is a sum itself is tabulated for it.
 */
final case class DistributionSum(first: Distribution, second: Distribution, sign: Int) extends Distribution {
  import DistributionSum.{quick, ragged, thinned, FarApart, MostLookUps, MostSteps}

  override def mean: Double = first.mean + sign * second.mean
  override def variance: Double = first.variance + second.variance
  override def lower: Double = first.lower + (if (sign > 0) second.lower else -second.upper)
  override def upper: Double = first.upper + (if (sign > 0) second.upper else -second.lower)

  /** How many sums are in one another. */
  private[cqels] val levels: Int = 1 + math.max(DistributionSum.levels(first), DistributionSum.levels(second))

  // What is made of sums keeps tables of them, once it is asked for a probability.
  private[cqels] override val numbers: Long = first.numbers + second.numbers + (if (levels > 1) TabulatedSum.UsualNumbers else 0)

  override lazy val breaks: Array[Double] = thinned(kinks(100), 25) // a handful will do for integrals

  /** Ends and kinks, where cuts matter most, of so many of either part. */
  private[cqels] def kinks(most: Int): Array[Double] = {
    val all = for (a <- thinned(first.breaks, most); b <- thinned(second.breaks, most)) yield a + sign * b
    java.util.Arrays.sort(all)
    all
  }
  private[cqels] override lazy val steps: Array[Double] =
    if (ragged(first) || ragged(second)) breaks.map(cdf) else Distribution.Smooth

  @transient private[cqels] lazy val tabulated = new TabulatedSum(this)

  /** By how much the tables that it is computed from may be off, as there would have been too many pieces; 0 within their aim. */
  private[cqels] def off: Double = Seq(first, second).map(quick).map {
    case table: TabulatedSum => table.off
    case sum: DistributionSum => sum.off
    case _ => 0.0
  }.sum

  // Where both parts are far from 0, compared with their width, they are added as if they were there. Two origins may
  // have more digits than a number.
  private[cqels] lazy val origin: Double = DistributionSum.origin(first) + sign * DistributionSum.origin(second)
  private lazy val originRest: Double =
    Distribution.rounding(DistributionSum.origin(first), sign * DistributionSum.origin(second)) +
      DistributionSum.originRest(first) + sign * DistributionSum.originRest(second)
  @transient private[cqels] lazy val centred: DistributionSum =
    if (DistributionSum.origin(first) == 0 && DistributionSum.origin(second) == 0) this
    else DistributionSum(DistributionSum.centred(first), DistributionSum.centred(second), sign)

  /** How many of its points the cdf looks at if both parts are points, 0 if they are not. */
  private[cqels] val lookUps: Long = second match {
    case points: PointDistribution => math.min(MostLookUps + 1, DistributionSum.lookUps(first) * points.values.length)
    case _ => 0
  }

  /** How many values of the cdf of what is no points its own takes, if a part is points; else 0. */
  private[cqels] val stepped: Long = (first, second) match {
    case (part, points: PointDistribution) => DistributionSum.steppedBy(part, points)
    case (points: PointDistribution, part) => DistributionSum.steppedBy(part, points)
    case _ => 0
  }

  private[cqels] def exact: Boolean = lookUps > 0 && lookUps <= MostLookUps

  override def cdf(x: Double): Double =
    if (exact) moved(0.0, x, strictly = false)
    else if (!isMoved && x <= lower) 0.0
    else if (!isMoved && x >= upper) 1.0
    else if (centred eq this) integral(x)
    else centred.integral(x - origin - originRest)

  // What is moved keeps the digits of its ends that numbers there do not have.
  private[distributions] def isMoved: Boolean = second match { case points: PointDistribution => points.values.length == 1; case _ => false }

  override def below(x: Double): Double = if (exact) moved(0.0, x, strictly = true) else cdf(x)

  /** P(S + by <= x), or P(S + by < x), of points. */
  private def moved(by: Double, x: Double, strictly: Boolean): Double = second match {
    case points: PointDistribution => points.expected(v => first match {
      case others: PointDistribution => others.moved(sign * v + by, x, strictly)
      case sum: DistributionSum => sum.moved(sign * v + by, x, strictly)
      case _ => Double.NaN
    })
    case _ => Double.NaN
  }

  /** Its values, if both parts are points and it is exact: as `moved` adds them, so that equal ones stay equal. */
  private[cqels] def points: PointDistribution = {
    val values = new scala.collection.mutable.ArrayBuffer[Double]()
    val masses = new scala.collection.mutable.ArrayBuffer[Double]()
    def gather(d: Distribution, by: Double, mass: Double): Unit = d match {
      case DistributionSum(part, points: PointDistribution, sign) =>
        points.each((value, weight) => gather(part, sign * value + by, mass * weight))
      case points: PointDistribution => points.each { (value, weight) => values += value + by; masses += mass * weight }
      case _ =>
    }
    gather(this, 0.0, 1.0)
    PointDistribution.of(values.toArray, masses.toArray)
  }

  private def integral(x: Double): Double = {
    val inner = quick(first)
    (inner, quick(second)) match {
      case (_, points: PointDistribution) => points.expected(v => inner.cdf(x - sign * v))
      case (points: PointDistribution, outer) => points.expected(v => if (sign > 0) outer.cdf(x - v) else outer.atLeast(v - x))
      case (_, outer) =>
        val cuts = inner.breaks.map(b => outer.cdf(sign * (x - b))) ++ outer.steps
        Quadrature.unit(cuts)(u => inner.cdf(x - sign * outer.quantile(u)))
    }
  }

  /** A value with at most p below it, and one with at most p above it. */
  private[cqels] def least(p: Double): Double =
    DistributionSum.least(first, p / 2) + (if (sign > 0) DistributionSum.least(second, p / 2) else -DistributionSum.most(second, p / 2))
  private[cqels] def most(p: Double): Double =
    DistributionSum.most(first, p / 2) + (if (sign > 0) DistributionSum.most(second, p / 2) else -DistributionSum.least(second, p / 2))

  override def quantile(p: Double): Double =
    if (!exact && !(centred eq this)) origin + (centred.quantile(p) + originRest)
    else {
      val from = math.max(-Double.MaxValue / 4, least(p))
      val to = math.min(Double.MaxValue / 4, most(1 - p))
      if (exact) RisingFunction.root(from, to, 0.0)(x => cdf(x) - p)
      else {
        val width = math.max(math.min(to - from, grain), 1e-300 * (to - from))
        val (a, b) = around(from, to, width)(x => cdf(x) >= p)
        RisingFunction.root(a, b, 1e-15 * width)(x => cdf(x) - p)
      }
    }

  // With long tails the ends are too many times the width of the body apart to come down to it by distance.
  private def around(from: Double, to: Double, width: Double)(above: Double => Boolean): (Double, Double) = {
    var a = from
    var b = to
    var steps = 0
    while (b - a > FarApart * math.max(width, math.min(math.abs(a), math.abs(b))) && steps < MostSteps) {
      val x = DistributionSum.middle(a, b, width)
      if (above(x)) b = x else a = x
      steps += 1
    }
    (a, b)
  }

  // The part that is no sum is moved, points before others: what is known of the other one stays.
  override def shifted(by: Double): Distribution = second match {
    case point: PointDistribution if isMoved =>
      val at = sign * point.values(0)
      val rest = Distribution.rounding(at, by)
      SumForms.shifted(if (rest == 0) first else SumForms.roughly(first, rest), at + by)
    case _ =>
      if (movesSecond) SumForms.make(first, SumForms.roughly(second, sign * by), sign)
      else SumForms.make(SumForms.roughly(first, by), second, sign)
  }
  private def movesSecond: Boolean = first.isInstanceOf[DistributionSum] || second.isInstanceOf[PointDistribution]
  private[cqels] override def places: Array[Double] = if (movesSecond) second.places else first.places
  // A sum is nowhere denser than either of its parts.
  private[cqels] override lazy val grain: Double = math.max(first.grain, second.grain)
  override def negated: Distribution = {
    val minus = first.negated
    if (minus == null) null else SumForms.make(minus, second, -sign)
  }
  private[cqels] override val family: Int =
    if (first.isInstanceOf[DistributionSum] || second.isInstanceOf[DistributionSum]) 11 else 10
  private[cqels] override def writable: Boolean = first.writable && second.writable
  override def literal: String = s"${if (sign > 0) "Sum" else "Difference"}(${first.literal}, ${second.literal})"
}

object DistributionSum {
  final val Names = Set("Sum", "Difference")

  /** How many sums may be in one another. */
  final val MostLevels = 64
  private final val MostLookUps = 100000L
  // What is farther from 0 than so many times its width has too few digits left there.
  private final val Far = 1000.0
  // How many widths of a body, or times its distance from 0, a search by distance begins with.
  private final val FarApart = 1000.0
  private final val MostSteps = 200
  // Nearer to an end than this, cdfs of the families are not exact.
  private final val Tail = 1e-15

  /** The same distribution with a cdf that is no integral. Steps are looked at one by one, as long as they are not too many:
   *  a table would need a piece for each of them.
   */
  private[cqels] def quick(d: Distribution): Distribution = d match {
    case sum: DistributionSum => if (sum.stepped > 0 && sum.stepped <= MostLookUps) sum else sum.tabulated
    case other => other
  }

  private def least(d: Distribution, p: Double): Double = d match {
    case sum: DistributionSum => sum.least(p)
    case other => other.quantile(math.max(p, Tail))
  }

  private def most(d: Distribution, p: Double): Double = d match {
    case sum: DistributionSum => sum.most(p)
    case other => other.quantile(1 - math.max(p, Tail))
  }

  private def originRest(d: Distribution): Double = d match { case sum: DistributionSum => sum.originRest; case _ => 0.0 }

  private def levels(d: Distribution): Int = d match { case sum: DistributionSum => sum.levels; case _ => 0 }

  private def lookUps(d: Distribution): Long = d match {
    case _: PointDistribution => 1
    case sum: DistributionSum => sum.lookUps
    case _ => 0
  }

  private def steppedBy(part: Distribution, points: PointDistribution): Long = part match {
    case sum: DistributionSum => math.min(MostLookUps + 1, math.max(1, sum.stepped) * points.values.length)
    case _ => points.values.length
  }

  /** Whether its values may have gaps. */
  private def ragged(d: Distribution): Boolean = d match {
    case sum: DistributionSum => ragged(sum.first) || ragged(sum.second)
    case _: PointDistribution | _: Histogram => true
    case _ => false
  }

  private[cqels] def thinned(values: Array[Double], count: Int): Array[Double] =
    if (values.length <= count) values
    else Array.tabulate(count)(i => values((i.toLong * (values.length - 1) / (count - 1)).toInt))

  /** A value near which a distribution lies that is narrow and far from 0; else 0. */
  private[cqels] def origin(d: Distribution): Double = d match {
    case sum: DistributionSum => sum.origin
    case Normal(m, v) => if (m * m > Far * Far * v) m else 0.0
    case other =>
      val from = other.lower
      if (from == 0) 0.0
      else {
        val width = if (other.upper.isInfinite) math.sqrt(other.variance) else other.upper - from
        if (math.abs(from) > Far * width) from else 0.0
      }
  }

  private def centred(d: Distribution): Distribution = d match {
    case sum: DistributionSum => sum.centred
    case other => val from = origin(other); if (from == 0) other else other.shifted(-from)
  }

  /** Between numbers far apart: by their sizes where they are larger than `width`, which counts as 1. */
  private def middle(a: Double, b: Double, width: Double): Double = {
    def size(x: Double): Double = math.signum(x) * math.log1p(math.abs(x) / width)
    val half = (size(a) + size(b)) / 2
    math.signum(half) * math.min(Double.MaxValue / 4, width * math.expm1(math.abs(half)))
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
    val first = Distribution.read(inside.substring(0, comma).trim)
    val second = Distribution.read(inside.substring(comma + 1).trim)
    if (first == null || second == null) null
    else if (name == "Sum") SumForms.add(first, second)
    else SumForms.subtract(first, second)
  }
}
