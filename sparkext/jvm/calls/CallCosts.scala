package org.apache.spark.sql.cqels
package calls

import java.util.concurrent.ConcurrentHashMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.cqels.distributions.Distribution
import org.apache.spark.sql.cqels.memory.Json
import org.apache.spark.sql.cqels.runs.SampledNanos

/** What calls cost in one engine, by function and families of the arguments, and which of them are worth looking up.
 *
 *  `fixed`, if not negative: how all calls are made, whatever they cost.
 */
private[cqels] final class CallCosts(fixed: Int) {
  // What a look-up takes until it has been measured: one that finds, and one that does not and puts the value there.
  private[cqels] val hit = new SampledNanos(80.0, untilSettled = true)
  private[cqels] val miss = new SampledNanos(250.0, untilSettled = true)

  /** What a row costs beside the calls that are made for it: reading the values, asking the cache. */
  private[cqels] val row = new SampledNanos(100.0, untilSettled = true)
  private val known = new ConcurrentHashMap[java.lang.Long, CallCost]()

  /** The cost of calls with this code; `said` nanoseconds as long as there were none, 0 if nothing is said. */
  def of(code: Long, function: => String, said: Double): CallCost =
    known.computeIfAbsent(code, (_: java.lang.Long) => new CallCost(function, CallCode.families(code), said, this, fixed))

  /** A new evaluation begins. */
  def begin(): Unit = known.values.forEach(_.begin())

  /** All costs as a JSON array. */
  def json: String = known.values.asScala.map(_.json).mkString("[", ",", "]")
}

/** What calls of one function cost whose arguments are of certain families, and how they are made. */
private[cqels] final class CallCost(function: String, families: Seq[String], said: Double, costs: CallCosts, fixed: Int) {
  private val sampled = new SampledNanos(said, untilSettled = false)
  private var made = 0L
  private var madeBefore = 0L
  private var evaluations = 0
  private var asked = 0.0
  private var found = 0.0

  /** How calls are made: `Computed`, `LookedUp`, or `Probed`: some of them looked up to see whether that would pay. */
  @volatile var use: Int = if (fixed >= 0) fixed else CallCost.LookedUp

  def nanos: Double = sampled.nanos
  def interval: Int = sampled.interval

  /** Whether a call has been timed. */
  def isKnown: Boolean = sampled.samples > 0

  def add(nanos: Long): Unit = if (sampled.add(nanos)) decide(use == CallCost.Probed)

  /** What an evaluation has counted: calls made, calls looked up, and of these calls that had been made before. */
  def note(calls: Long, lookedUp: Long, hits: Long): Unit = synchronized {
    made += calls
    // Old evaluations count for less, by what was seen since: few calls say little.
    val kept = CallCost.Remembered / (CallCost.Remembered + lookedUp)
    asked = asked * kept + lookedUp
    found = found * kept + hits
  }

  /** The share of look-ups that find what they look for; -1 if too few were made to tell. */
  def hitRatio: Double = synchronized(if (asked < CallCost.Few) -1.0 else found / asked)

  private def calls: Long = synchronized(made)

  /** A new evaluation begins; in one of eight of those that make such calls it is found out what looking up would spare, if
   *  that is not done.
   *
   *  Multiples of the golden ratio say in which: with every eighth, one of eight queries that take turns would be asked
   *  always, and the others never.
   */
  def begin(): Unit = {
    synchronized {
      if (made > madeBefore) evaluations += 1
      madeBefore = made
    }
    decide((evaluations * 0x9E3779B9) >>> 29 == CallCost.ProbedPart)
  }

  /** Decides how calls are made from now on: whichever costs less, all told.
   *
   *  What is expensive beside a look-up is always looked up: then a call with the same arguments is made once.
   */
  def decide(probing: Boolean): Unit = use =
    if (fixed >= 0) fixed
    else if (!sampled.settled) CallCost.LookedUp
    else {
      val (call, hit, miss) = (nanos, costs.hit.nanos, costs.miss.nanos)
      val share = hitRatio
      if (miss <= CallCost.Expensive * call) CallCost.LookedUp
      else if (call <= hit) CallCost.Computed
      else if (share < 0 || share * (call - hit) > (1 - share) * miss) CallCost.LookedUp
      else if (probing && miss <= CallCost.Light * call) CallCost.LookedUp
      else if (probing) CallCost.Probed
      else CallCost.Computed
    }

  /** [function, [families], nanoseconds, samples, calls made, use, hit ratio]. */
  def json: String = s"[${Json.quote(function)},${families.map(Json.quote).mkString("[", ",", "]")},$nanos,${sampled.samples},$calls,$use,$hitRatio]"
}

private[cqels] object CallCost {
  final val Computed = 0
  final val Probed = 1
  final val LookedUp = 2

  private final val ProbedPart = 6 // of eight: not the first evaluations

  // A look-up that misses may make a call longer by this share; by the other one now and then, to find out how many hit.
  final val Expensive = 0.05
  final val Light = 0.2
  final val Few = 64.0
  final val Remembered = 4096.0
}

/** A function and the families of its arguments as one number. */
private[cqels] object CallCode {
  private final val Absent = 15
  private final val Term = 14
  private final val Names = Array("number", "Points", "Normal", "Uniform", "Triangular", "Exponential", "LogNormal", "Gamma",
    "Beta", "Histogram", "Sum", "NestedSum", "", "", "term")
  private final val MostArguments = 8

  def of(function: Int, a: Distribution, b: Distribution, c: Distribution): Long =
    function.toLong << 32 | 0xFFFFF000L | family(c) << 8 | family(b) << 4 | family(a)

  private def family(d: Distribution): Int = if (d == null) Absent else d.family

  /** Of a user's function, by what its arguments are: numbers, distributions, other terms. */
  def ofTerms(function: Int, count: Int)(argument: Int => Distribution): Long = {
    var code = (function.toLong << 32 | 1L << 62) | 0xFFFFFFFFL
    var i = 0
    while (i < math.min(count, MostArguments)) {
      val d = argument(i)
      code = code & ~(0xFL << 4 * i) | (if (d == null) Term else d.family).toLong << 4 * i
      i += 1
    }
    code
  }

  def families(code: Long): Seq[String] =
    (0 until MostArguments).map(i => (code >>> 4 * i & 0xF).toInt).takeWhile(_ != Absent).map(Names(_))
}
