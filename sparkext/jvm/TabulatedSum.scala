package org.apache.spark.sql.cqels

import scala.collection.mutable.ArrayBuffer

/** A sum whose cdf is kept as polynomials, for sums of sums: without it, each level would be an integral inside an integral.
 *
 *  The range that holds all but 1e-12 of the probability at either end is halved until a polynomial through the Chebyshev
 *  points of a piece is within 1e-10 of the cdf; what it is at a point then takes no integral.
 */
final class TabulatedSum(sum: DistributionSum) extends Distribution {
  import TabulatedSum._

  override def mean: Double = sum.mean
  override def variance: Double = sum.variance
  override def lower: Double = sum.lower
  override def upper: Double = sum.upper
  override def breaks: Array[Double] = sum.breaks
  override def shifted(by: Double): Distribution = sum.shifted(by)
  override def negated: Distribution = sum.negated
  override def literal: String = sum.literal
  private[cqels] override def family: Int = sum.family

  // Each piece's lower end, and the values of the cdf at its points; `ends` has the last piece's upper end, too.
  private val (ends, values): (Array[Double], Array[Array[Double]]) = {
    val from = sum.reach(Tail)
    val to = sum.reach(1 - Tail)
    val starts = new ArrayBuffer[Double]()
    val tables = new ArrayBuffer[Array[Double]]()
    val narrowest = (to - from) * 1e-12
    var left = MostPieces

    def tabulate(a: Double, b: Double): Unit = {
      val table = Array.tabulate(Points)(i => sum.cdf(point(a, b, i)))
      val close = Checks.forall { c => val x = a + (b - a) * c; math.abs(at(table, a, b, x) - sum.cdf(x)) <= Aim }
      val flat = table(Points - 1) - table(0) <= Aim
      if (close || flat || b - a <= narrowest || left <= 0) { starts += a; tables += table }
      else {
        left -= 1
        val middle = a + (b - a) / 2
        tabulate(a, middle)
        tabulate(middle, b)
      }
    }

    val cuts = (from +: sum.breaks.filter(b => b > from && b < to).sorted.distinct :+ to).toArray
    for (i <- 0 until cuts.length - 1) tabulate(cuts(i), cuts(i + 1))
    ((starts += to).toArray, tables.toArray)
  }

  override def cdf(x: Double): Double =
    if (x <= ends(0)) 0.0
    else if (x >= ends(values.length)) 1.0
    else {
      val found = java.util.Arrays.binarySearch(ends, x)
      val i = if (found >= 0) found else -found - 2
      math.min(1.0, math.max(0.0, at(values(i), ends(i), ends(i + 1), x)))
    }

  /** By halving, in the piece that holds it. */
  override def quantile(p: Double): Double = {
    var first = 0
    var last = values.length - 1
    while (first < last) {
      val middle = (first + last) >>> 1
      if (values(middle)(Points - 1) >= p) last = middle else first = middle + 1
    }
    var from = ends(first)
    var to = ends(first + 1)
    var i = 0
    while (i < 60 && to - from > 1e-14 * (math.abs(from) + math.abs(to))) {
      val middle = from + (to - from) / 2
      if (cdf(middle) < p) from = middle else to = middle
      i += 1
    }
    to
  }
}

private object TabulatedSum {
  private final val Tail = 1e-12
  private final val Aim = 1e-10
  private final val MostPieces = 500
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
