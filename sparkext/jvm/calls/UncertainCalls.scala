package org.apache.spark.sql.cqels
package calls

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.cqels.distributions.{Distribution, DistributionSum, PointDistribution}
import org.apache.spark.sql.cqels.functions.TermValues
import org.apache.spark.sql.cqels.runs.SampledNanos
import org.apache.spark.sql.cqels.terms.{TermId, TermText}

/** What the calls of uncertainty functions of one engine share: read literals, results that may be had again, call sites, costs.
 *
 *  Within an evaluation a call with the same arguments is made once (uncertainty paper, section 5, function cache), unless
 *  making it costs less than looking it up; with `acrossEvaluations` results stay for later ones. Several threads of an
 *  evaluation may call at once.
 */
final class UncertainCalls(private[cqels] val room: Long) {
  private val read = new RecentValues[java.lang.Long](UncertainCalls.MostRead)
  private val functions = new java.util.concurrent.CopyOnWriteArrayList[RegisteredFunction]()
  // Queries and their plans hold sites; of those that are gone nothing is left here.
  private val sites = new ConcurrentHashMap[Int, WeakReference[CallSite]]()
  private val numbers = new AtomicInteger
  @volatile private var most = 0
  @volatile private var results = new FunctionCache(0)
  @volatile private var lasting = false
  @volatile private[cqels] var burden = 0L
  @volatile private[cqels] var costs = new CallCosts(CallCost.Computed)

  /** Changes when ids may come to mean other terms: with each evaluation. */
  @volatile private[cqels] var epoch = 0L

  /** `size` results are kept at most (0: none; large ones count for several), of `all` calls or of those where that pays;
   *  `extraNanos` makes every call so much more expensive, for experiments.
   */
  def configure(size: Int, acrossEvaluations: Boolean, extraNanos: Long, all: Boolean): Unit = {
    lasting = acrossEvaluations
    burden = extraNanos
    costs = new CallCosts(if (size == 0) CallCost.Computed else if (all) CallCost.LookedUp else -1)
    most = size
    results = new FunctionCache(size)
  }

  /** A new evaluation begins: what the last one knew goes. */
  def begin(): Unit = {
    // Ids of literals that left the dictionary may come back as those of others.
    read.clear()
    results.begin(lasting)
    epoch += 1
    costs.begin()
  }

  /** As an evaluation, with results of its own: none at first, and those that are kept stay as they are. */
  private[cqels] def apart[T](run: => T): T = {
    val kept = results
    results = new FunctionCache(most)
    try {
      begin()
      run
    } finally results = kept
  }

  /** The number of a new place in a query that calls. */
  def newSite(): Int = numbers.incrementAndGet()

  /** The site of a number, the same one as long as a query or a plan has it. */
  def site(number: Int): CallSite = synchronized {
    val held = sites.get(number)
    val known = if (held == null) null else held.get
    if (known != null) known
    else {
      forgetSites()
      val made = new CallSite(this, number)
      sites.put(number, new WeakReference(made))
      made
    }
  }

  private def forgetSites(): Unit = sites.values.removeIf(_.get == null)

  /** How many sites some query or plan has. */
  def siteCount: Int = synchronized { forgetSites(); sites.size }

  /** How many results are kept. */
  def resultCount: Int = results.count

  /** All costs as a JSON array, see `CallCost.json`. */
  def costsJson: String = costs.json

  /** Nanoseconds of a row for which no call has to be made. */
  def rowNanos: Double = costs.row.nanos

  /** The distribution that a term stands for; null if it is none. */
  def distribution(id: Long): Distribution = {
    val known = read.get(id)
    if (known != null) known match { case d: Distribution => d; case _ => null }
    else {
      val found = UncertainCalls.parse(room, id)
      read.put(id, if (found == null) UncertainCalls.None else found)
      found
    }
  }

  /** Takes a function of a user's that is said to take so many nanoseconds, and gives the number that it is called by. */
  def addFunction(function: UserFunction, givesNumber: Boolean, name: String, nanos: Double): Int = synchronized {
    functions.add(new RegisteredFunction(function, givesNumber, name, nanos))
    functions.size - 1
  }
  private[cqels] def function(number: Int): RegisteredFunction = functions.get(number)

  /** The value of a call: from the cache, or made and put there. `timed`: look-ups are measured, this one since `begun`. */
  private[cqels] def look[T <: AnyRef](caller: SiteCaller, tally: Tally, key: AnyRef, timed: Boolean, begun: Long)(compute: => T): T = {
    val kept = results
    val known = kept.get(key)
    if (known != null) {
      if (timed) costs.hit.add(SampledNanos.since(begun))
      tally.hits += 1
      UncertainCalls.opened(known)
    } else if (!kept.hasRoom) caller.make(tally)(compute)
    else {
      var here = false
      var making = 0L
      val result = kept.of(key) {
        here = true
        val started = if (timed) System.nanoTime() else 0L
        val value = caller.make(tally)(compute)
        if (timed) making = System.nanoTime() - started
        if (value == null) UncertainCalls.None else value
      }
      if (!here) tally.hits += 1
      else if (timed) costs.miss.add(SampledNanos.since(begun) - making)
      UncertainCalls.opened(result)
    }
  }
}

/** A function and the arguments of one call. Equal calls have equal values: where the value is a distribution, which may be
 *  written with the texts of the arguments, these are equal, too.
 */
private[cqels] final class Call(val function: Int, val a: Distribution, val b: Distribution, val c: Distribution) {
  private val hash = ((function * 31 + a.hashCode) * 31 + (if (b == null) 0 else b.hashCode)) * 31 + (if (c == null) 0 else c.hashCode)
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case o: Call =>
      function == o.function && a == o.a && b == o.b && c == o.c &&
        (!UncertaintyFunctions.givesDistribution(function) || Call.alike(a, o.a) && Call.alike(b, o.b))
    case _ => false
  }
}

private object Call {
  /** Whether equal distributions are written alike: points may come from literals of several families, as C(5) and N(5, 0). */
  private def alike(a: Distribution, b: Distribution): Boolean = (a eq b) || (a match {
    case x: PointDistribution => b match {
      case y: PointDistribution if x.isNumber && y.isNumber => true
      case y => x.literal == y.literal
    }
    case x: DistributionSum => b match {
      case y: DistributionSum => alike(x.first, y.first) && alike(x.second, y.second)
      case _ => false
    }
    case _ => true
  })
}

object UncertainCalls {
  private final val MostRead = 1 << 17
  private val None = new Object
  private def opened[T <: AnyRef](kept: AnyRef): T = if (kept eq None) null.asInstanceOf[T] else kept.asInstanceOf[T]

  private val rooms = new ConcurrentHashMap[Long, UncertainCalls]()
  def register(room: Long): UncertainCalls = { val made = new UncertainCalls(room); rooms.put(room, made); made }
  def unregister(room: Long): Unit = rooms.remove(room)
  def of(room: Long): UncertainCalls = {
    val found = rooms.get(room)
    if (found == null) throw new IllegalStateException("texts of distributions are at the driver only: this plan must run there")
    found
  }

  private val Suffix = "\"^^<" + Distribution.Datatype + ">"
  private def parse(room: Long, id: Long): Distribution =
    if (TermId.kind(id) != TermId.TypedLiteral) null
    else {
      val text = TermValues.text(room, id)
      if (text.endsWith(Suffix)) Distribution.parse(TermText.lexical(text)) else null
    }
}
