package org.apache.spark.sql.cqels

import scala.collection.mutable.ArrayBuffer

/** A sum whose cdf is kept as polynomials, for sums of sums: without it, each level would be an integral inside an integral.
 *
 *  The range that holds all but 1e-12 of the probability at either end is cut until a polynomial through the Chebyshev points
 *  of a piece is within 1e-10 of the cdf, as far as its integrals are that exact; what it is at a point then takes no
 *  integral. Where tails are long the body is cut by quantiles first, and tails are cut by ratios of the distance from it.
 */
final class TabulatedSum(sum: DistributionSum) extends Distribution {
  import TabulatedSum._

  override def mean: Double = sum.mean
  override def variance: Double = sum.variance
  override def lower: Double = sum.lower
  override def upper: Double = sum.upper
  override def breaks: Array[Double] = sum.breaks
  private[cqels] override def steps: Array[Double] = sum.steps
  private[cqels] override def writable: Boolean = sum.writable
  override def shifted(by: Double): Distribution = sum.shifted(by)
  private[cqels] override def places: Array[Double] = sum.places
  private[cqels] override def grain: Double = sum.grain
  override def negated: Distribution = sum.negated
  override def literal: String = sum.literal
  private[cqels] override def family: Int = sum.family

  private var missed = 0

  // Each piece's lower end, and the values of the cdf at its points; `ends` has the last piece's upper end, too.
  private val (ends, values): (Array[Double], Array[Array[Double]]) = {
    val from = math.max(-Double.MaxValue / 4, sum.least(Tail))
    val to = math.min(Double.MaxValue / 4, sum.most(Tail))
    val starts = new ArrayBuffer[Double]()
    val tables = new ArrayBuffer[Array[Double]]()
    val (low, high) = (sum.least(0.1), sum.most(0.1))
    val centre = low + (high - low) / 2
    val body = if (high > low) high - low else to - from
    var left = MostPieces

    def middle(a: Double, b: Double): Double = {
      val (near, far) = (a - centre, b - centre)
      if (near > 0 && far > LongRatio * near) centre + math.sqrt(near) * math.sqrt(far)
      else if (far < 0 && near < LongRatio * far) centre - math.sqrt(-near) * math.sqrt(-far)
      else a + (b - a) / 2
    }

    def narrow(a: Double, b: Double): Boolean =
      b - a <= math.max(Narrowest * body, 16 * math.max(math.ulp(a), math.ulp(b)))

    def tabulate(a: Double, b: Double): Unit = {
      val table = Array.tabulate(Points)(i => sum.cdf(point(a, b, i)))
      val close = Checks.forall { c => val x = a + (b - a) * c; math.abs(at(table, a, b, x) - sum.cdf(x)) <= Aim }
      val flat = table(Points - 1) - table(0) <= Aim
      val settled = close || flat || narrow(a, b)
      if (settled || left <= 0) {
        if (!settled) missed += 1
        starts += a
        tables += table
      }
      else {
        left -= 1
        val cut = middle(a, b)
        tabulate(a, cut)
        tabulate(cut, b)
      }
    }

    val long = to - from > LongTails * body
    val levels = if (long) Levels.flatMap(p => Seq(sum.least(p), sum.most(p))) else Array.empty[Double]
    val cuts = from +: (sum.breaks ++ levels).filter(b => b > from && b < to).sorted.distinct :+ to
    for (i <- 0 until cuts.length - 1) tabulate(cuts(i), cuts(i + 1))
    ((starts += to).toArray, tables.toArray)
  }

  /** How many pieces are not within the aim, of this table and those that it is made of, as there were too many. */
  private[cqels] val unfinished: Int = missed + sum.unfinished

  override def cdf(x: Double): Double =
    if (x <= ends(0)) 0.0
    else if (x >= ends(values.length)) 1.0
    else if (x.isNaN) x
    else {
      val found = java.util.Arrays.binarySearch(ends, x)
      val i = if (found >= 0) found else -found - 2
      math.min(1.0, math.max(0.0, at(values(i), ends(i), ends(i + 1), x)))
    }

  /** In the piece that holds it. */
  override def quantile(p: Double): Double = {
    var first = 0
    var last = values.length - 1
    while (first < last) {
      val middle = (first + last) >>> 1
      if (values(middle)(Points - 1) >= p) last = middle else first = middle + 1
    }
    val (from, to, table) = (ends(first), ends(first + 1), values(first))
    RisingFunction.root(from, to, 1e-15 * (to - from))(x => at(table, from, to, x) - p)
  }
}

private object TabulatedSum {
  private final val Tail = 1e-12
  private final val Aim = 1e-10
  private final val MostPieces = 500
  private final val Narrowest = 1e-12 // of the body
  private final val LongTails = 100.0 // bodies
  private final val LongRatio = 16.0
  private val Levels = Array(1e-9, 1e-6, 1e-3, 0.1)
  private final val Points = 17
  // Chebyshev points of the second kind on (-1, 1), rising, and where a polynomial through them is tried.
  private val Nodes = Array.tabulate(Points)(i => -math.cos(math.Pi * i / (Points - 1)))
  private val Checks = Array(0.02, 0.27, 0.45, 0.62, 0.91)

  private def point(a: Double, b: Double, i: Int): Double =
    if (i == 0) a else if (i == Points - 1) b else a + (b - a) * (Nodes(i) + 1) / 2

  /** The polynomial through the points, by the barycentric formula (Berrut and Trefethen, 2004). */
  private def at(table: Array[Double], a: Double, b: Double, x: Double): Double = {
    val t = 2 * (x - a) / (b - a) - 1
    var above = 0.0
    var below = 0.0
    var i = 0
    while (i < Points) {
      val distance = t - Nodes(i)
      if (distance == 0) return table(i)
      val weight = (if (i == 0 || i == Points - 1) 0.5 else 1.0) * (if (i % 2 == 0) 1 else -1) / distance
      above += weight * table(i)
      below += weight
      i += 1
    }
    above / below
  }
}
