package org.apache.spark.sql.cqels
package runs

/** What something takes, in nanoseconds, from samples of how long it took; `start` is said of it beforehand.
 *
 *  The first samples are of code that is not compiled yet: as long as there are no others, the shortest counts, or with
 *  `untilSettled` what was said. After them the estimate is the median of the means of the last batches. A batch leaves out
 *  its longest samples, in which the machine did something else; a mean, as calls of a kind may differ.
 */
private[cqels] final class SampledNanos(start: Double, untilSettled: Boolean) {
  private val batch = new Array[Long](SampledNanos.BatchSize)
  private val means = new Array[Double](SampledNanos.Batches)
  private var batches = 0
  private var taken = 0L
  @volatile private var estimate = start
  @volatile private var apart = if (start > SampledNanos.AlwaysTimed) 0 else SampledNanos.FirstApart

  def nanos: Double = estimate

  /** How many samples there were; 0: the estimate is what was said. */
  def samples: Long = synchronized(taken)

  /** Whether the estimate is that of compiled code. */
  def settled: Boolean = synchronized(batches > 0)

  /** How many times are to pass between two samples: what is expensive can always be timed. */
  def interval: Int = apart

  /** One more sample; tells whether the estimate may have changed. */
  def add(nanos: Long): Boolean = synchronized {
    val sample = math.max(SampledNanos.Least, nanos)
    val place = taken - SampledNanos.Cold
    taken += 1
    if (place < 0) {
      if (!untilSettled) estimate = if (taken == 1) sample.toDouble else math.min(estimate, sample.toDouble)
      spread()
      true
    } else {
      batch((place % batch.length).toInt) = sample
      val full = (place + 1) % batch.length == 0
      if (full) {
        java.util.Arrays.sort(batch)
        val kept = batch.length - SampledNanos.LeftOut
        means(batches % means.length) = (0 until kept).map(batch(_).toDouble).sum / kept
        batches += 1
        val known = means.take(batches).sorted
        estimate = if (batches < means.length) known.head else known(known.length / 2)
        spread()
      }
      full
    }
  }

  private def spread(): Unit =
    apart = if (estimate > SampledNanos.AlwaysTimed) 0 else if (taken <= SampledNanos.Cold + batch.length) SampledNanos.FirstApart else SampledNanos.Apart
}

private[cqels] object SampledNanos {
  // Less cannot be told by the clock.
  final val Least = 5L
  final val Cold = 32
  final val BatchSize = 32
  final val LeftOut = 2
  final val Batches = 5
  final val FirstApart = 3
  final val Apart = 31
  final val AlwaysTimed = 2000.0

  /** What the clock itself takes: the median of readings one after the other. */
  lazy val clock: Long = {
    val readings = Array.fill(4001)(System.nanoTime())
    val between = readings.indices.drop(1).map(i => readings(i) - readings(i - 1)).sorted
    between(between.length / 2)
  }

  /** Nanoseconds since a reading of the clock, without what reading it takes. */
  def since(begun: Long): Long = System.nanoTime() - begun - clock
}
