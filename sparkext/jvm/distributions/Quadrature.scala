package org.apache.spark.sql.cqels
package distributions

/** Integrals over (0, 1) of functions between 0 and 1, cut where they have kinks; deterministic. */
private[cqels] object Quadrature {
  // What is stated for probabilities is 1e-6 (docs/uncertainty.md): cdfs and quantiles are not exact, either.
  private final val Aim = 1e-9
  // f lies between 0 and 1: what is narrower than this cannot add up to anything.
  private final val Narrowest = 1e-10
  private final val Negligible = 1e-12 // and this not worth nodes
  private final val MostCuts = 4000

  // Gauss-Kronrod, 7 and 15 points (Kronrod 1965, as tabulated by Piessens et al., QUADPACK, 1983): nodes, then weights.
  private val Nodes = Array(0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0)
  private val Kronrod = Array(0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714)
  private val Gauss = Array(0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0,
    0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327)

  /** The integral of f over (0, 1), which is smooth between `cuts`. */
  def unit(cuts: Array[Double])(f: Double => Double): Double = {
    val ends = (0.0 +: cuts.filter(c => c > Negligible && c < 1 - Negligible).sorted.distinct :+ 1.0).toArray
    val left = new Budget(MostCuts)
    var total = 0.0
    var i = 0
    while (i < ends.length - 1) {
      val width = ends(i + 1) - ends(i)
      total += (if (width <= Negligible) width * f(ends(i) + width / 2) else part(f, ends(i), ends(i + 1), Aim * width + 1e-13, left))
      i += 1
    }
    math.min(1.0, math.max(0.0, total))
  }

  private final class Budget(var cuts: Int)

  private def part(f: Double => Double, a: Double, b: Double, aim: Double, left: Budget): Double = {
    val centre = (a + b) / 2
    val half = (b - a) / 2
    val middle = f(centre)
    var kronrod = Kronrod(7) * middle
    var gauss = Gauss(7) * middle
    var i = 0
    while (i < 7) {
      val d = half * Nodes(i)
      val both = f(centre - d) + f(centre + d)
      kronrod += Kronrod(i) * both
      gauss += Gauss(i) * both
      i += 1
    }
    if (half * math.abs(kronrod - gauss) <= aim || half <= Narrowest || left.cuts <= 0) half * kronrod
    else {
      left.cuts -= 1
      part(f, a, centre, aim / 2, left) + part(f, centre, b, aim / 2, left)
    }
  }
}
