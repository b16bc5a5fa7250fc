package org.apache.spark.sql.cqels
package distributions

import scala.collection.mutable
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

  // Each piece's lower end, and the values of the cdf at its points; `ends` has the last piece's upper end, too.
  private val (ends, values, missedBy): (Array[Double], Array[Array[Double]], Double) = {
    val from = math.max(-Double.MaxValue / 4, sum.least(Tail))
    val to = math.min(Double.MaxValue / 4, sum.most(Tail))
    val (low, high) = (sum.least(0.1), sum.most(0.1))
    val centre = low + (high - low) / 2
    val body = if (high > low) high - low else to - from

    def middle(a: Double, b: Double): Double = {
      val (near, far) = (a - centre, b - centre)
      if (near > 0 && far > LongRatio * near) centre + math.sqrt(near) * math.sqrt(far)
      else if (far < 0 && near < LongRatio * far) centre - math.sqrt(-near) * math.sqrt(-far)
      else a + (b - a) / 2
    }

    def narrow(a: Double, b: Double): Boolean =
      b - a <= math.max(Narrowest * body, 16 * math.max(math.ulp(a), math.ulp(b)))

    def piece(a: Double, b: Double): Piece = {
      val table = Array.tabulate(Points)(i => sum.cdf(point(a, b, i)))
      val settled = table(Points - 1) - table(0) <= Aim || narrow(a, b)
      val error = if (settled) 0.0 else Checks.map { c => val x = a + (b - a) * c; math.abs(at(table, a, b, x) - sum.cdf(x)) }.max
      new Piece(a, b, table, error)
    }

    val long = to - from > LongTails * body
    val levels = if (long) Levels.flatMap(p => Seq(sum.least(p), sum.most(p))) else Array.empty[Double]
    val kinks = DistributionSum.thinned(sum.kinks(MostKinks), MostKinks)
    val cuts = from +: (kinks ++ levels).filter(b => b > from && b < to).sorted.distinct :+ to
    val done = new ArrayBuffer[Piece]()
    // The worst piece is cut first: where there are too many, all are about as good in the end.
    val waiting = mutable.PriorityQueue.empty[Piece](Ordering.by[Piece, Double](_.error)(Ordering.Double.TotalOrdering))
    def add(a: Double, b: Double): Unit = { val made = piece(a, b); if (made.error <= Aim) done += made else waiting += made }
    for (i <- 0 until cuts.length - 1) add(cuts(i), cuts(i + 1))
    var left = MostCuts
    while (waiting.nonEmpty && left > 0) {
      val worst = waiting.dequeue()
      val cut = middle(worst.from, worst.to)
      add(worst.from, cut)
      add(cut, worst.to)
      left -= 1
    }
    val missedBy = if (waiting.isEmpty) 0.0 else waiting.head.error
    val all = (done ++ waiting).sortBy(_.from)
    ((all.map(_.from) += to).toArray, all.map(_.table).toArray, missedBy)
  }

  /** By how much it was seen to be off, and the tables that it is made of, as there would have been too many pieces; 0 within
   *  the aim.
   */
  private[cqels] val off: Double = missedBy + sum.off

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

private[cqels] object TabulatedSum {
  /** What a table holds, in numbers: some tens of pieces. The largest hold twenty times as many. */
  final val UsualNumbers = 1024L

  private final val Tail = 1e-12
  private final val Aim = 1e-10
  private final val MostCuts = 500
  // Kinks of either part, and of the sum, where pieces begin.
  private final val MostKinks = 500
  private final val Narrowest = 1e-12 // of the body
  private final val LongTails = 100.0 // bodies
  private final val LongRatio = 16.0
  private val Levels = Array(1e-9, 1e-6, 1e-3, 0.1)
  private final val Points = 17

  /** A polynomial's points, and by how much it was seen to be off between them. */
  private final class Piece(val from: Double, val to: Double, val table: Array[Double], val error: Double)

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
