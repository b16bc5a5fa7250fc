package org.apache.spark.sql.cqels
package distributions

/** Where a function that does not fall becomes at least 0. */
private[cqels] object RisingFunction {
  /** The least x between `from` and `to` with f(x) >= 0, to within `fine` or to neighbouring numbers; an end, if f has one sign.
   *
   *  False position, where that does not halve what is left in three steps, halving.
   */
  def root(from: Double, to: Double, fine: Double)(f: Double => Double): Double = {
    var a = from
    var b = to
    var atA = f(a)
    if (!(a < b) || atA >= 0) return a
    var atB = f(b)
    if (atB < 0) return b
    // Halving would not come to 0 among all the numbers that are near it.
    if (fine == 0 && a < 0 && b > 0) { val y = f(0.0); if (y >= 0) { b = 0.0; atB = y } else { a = 0.0; atA = y } }
    var side = 0 // of the last step: an end that stays counts for less, or it would stay for good
    var lazySteps = 0
    var steps = 0
    while (b - a > fine && steps < MostSteps) {
      steps += 1
      val width = b - a
      val middle = a + width / 2
      if (middle <= a || middle >= b) return b
      val guess = a - atA * (width / (atB - atA))
      val margin = math.min(width / 4, math.max(fine / 2, 2 * math.ulp(guess)))
      val x = if (lazySteps >= 2 || guess.isNaN) middle else math.min(b - margin, math.max(a + margin, guess))
      val y = f(x)
      if (y.isNaN) return y
      if (y >= 0) {
        b = x
        atB = y
        if (side > 0) atA /= 2
        side = 1
      } else {
        a = x
        atA = y
        if (side < 0) atB /= 2
        side = -1
      }
      lazySteps = if (b - a > width / 2) lazySteps + 1 else 0
    }
    b
  }

  private final val MostSteps = 500
}
