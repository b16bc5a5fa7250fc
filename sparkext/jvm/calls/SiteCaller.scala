package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.cqels.distributions.Distribution
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.runs.SampledNanos
import org.apache.spark.sql.cqels.terms.{TermCodec, TermId}

/** What one thread calls at a site. It counts by itself: threads that count together wait for each other. */
final class SiteCaller(site: CallSite) {
  private val calls = site.calls
  private var tallies = new Array[Tally](0)
  private[cqels] var rowsIn = 0L
  private[cqels] var rowsPassed = 0L
  private var counting = false

  private val distributions = new ReadTerms
  private val operands = new ReadTerms

  // Of a row whose time is taken: what the calls that were made for it have taken, with the clock where they were timed.
  private var rowTimed = false
  private var untilRowTimed = Tally.random(site.row.interval)
  private var makingNanos = 0L
  private var untilLookUpTimed = Tally.random(SampledNanos.Apart)

  def room: Long = calls.room
  private[cqels] def function(number: Int): RegisteredFunction = calls.function(number)
  private[cqels] def counted: Array[Tally] = tallies

  /** The distribution that a term stands for; null if it is none. */
  def distribution(id: Long): Distribution = distributions.of(id, calls.epoch)(calls.distribution(id))

  /** A distribution or a number; null for any other term. */
  def operand(id: Long): Distribution = operands.of(id, calls.epoch) {
    if (!TermCodec.isInline(id) && TermId.kind(id) != TermId.TypedLiteral) null
    else if (Numbers.rank(room, id) > 0) UncertaintyFunctions.point(Numbers.double(room, id))
    else calls.distribution(id)
  }

  /** A row is to be looked at: gives what `endRow` is to be told. */
  def startRow(): Long = {
    untilRowTimed -= 1
    if (untilRowTimed >= 0) 0L
    else {
      untilRowTimed = site.row.interval
      rowTimed = true
      makingNanos = 0L
      System.nanoTime()
    }
  }

  /** A row has been looked at; it has `passed` a filter, or has a value for a BIND. */
  def endRow(begun: Long, passed: Boolean): Unit = {
    if (rowTimed) {
      rowTimed = false
      val beside = SampledNanos.since(begun) - makingNanos
      site.row.add(beside)
      calls.costs.row.add(beside)
    }
    if (!counting) begin()
    rowsIn += 1
    if (passed) rowsPassed += 1
  }

  /** The value of a call of a function of `rspu:`: made, or had from the cache. */
  def apply[T <: AnyRef](function: Int, a: Distribution, b: Distribution, c: Distribution)(compute: => T): T = {
    val tally = at(CallCode.of(function, a, b, c), UncertaintyFunctions.name(function), 0.0)
    if (tally.cost.use == CallCost.Computed) make(tally)(compute)
    else {
      untilLookUpTimed -= 1
      val timed = untilLookUpTimed < 0 && !rowTimed
      if (timed) untilLookUpTimed = SampledNanos.Apart
      val begun = if (timed) System.nanoTime() else 0L
      look(tally, new Call(function, a, b, c), timed, begun)(compute)
    }
  }

  /** The same for a user's function, with a key that stands for the function and its arguments. */
  private[cqels] def keyed[T <: AnyRef](code: Long, function: RegisteredFunction, key: AnyRef)(compute: => T): T = {
    val tally = at(code, function.name, function.nanos)
    if (tally.cost.use == CallCost.Computed) make(tally)(compute) else look(tally, key, timed = false, 0L)(compute)
  }

  private def at(code: Long, function: => String, said: Double): Tally = {
    if (!counting) begin()
    var i = 0
    while (i < tallies.length && tallies(i).code != code) i += 1
    if (i == tallies.length) tallies = tallies :+ new Tally(code, calls.costs.of(code, function, said))
    tallies(i)
  }

  private def look[T <: AnyRef](tally: Tally, key: AnyRef, timed: Boolean, begun: Long)(compute: => T): T =
    if (tally.cost.use == CallCost.Probed && !SiteCaller.probed(key)) make(tally)(compute)
    else {
      tally.lookedUp += 1
      calls.look(this, tally, key, timed, begun)(compute)
    }

  /** Makes a call, and takes the time now and then. */
  private[cqels] def make[T](tally: Tally)(compute: => T): T = {
    tally.made += 1
    tally.untilTimed -= 1
    if (tally.untilTimed >= 0 && calls.burden == 0 && !(rowTimed && tally.cost.interval == 0)) {
      // To read the clock takes longer than a cheap call: of a row's time its cost is taken off.
      if (rowTimed) makingNanos += tally.cost.nanos.toLong
      compute
    } else {
      val begun = System.nanoTime()
      val value = compute
      while (System.nanoTime() - begun < calls.burden) Thread.onSpinWait()
      val took = System.nanoTime() - begun
      makingNanos += took + SampledNanos.clock
      tally.cost.add(math.max(calls.burden, took - SampledNanos.clock))
      tally.untilTimed = tally.cost.interval
      value
    }
  }

  private def begin(): Unit = {
    counting = true
    site.begun(this)
  }

  private[cqels] def reset(): Unit = {
    counting = false
    rowsIn = 0
    rowsPassed = 0
    tallies.foreach(_.reset())
  }
}

private object SiteCaller {
  private final val ProbedOneIn = 16

  /** Whether a key is one of the few that are looked up for trial: all calls with the same arguments are, or none. */
  def probed(key: AnyRef): Boolean = KeyHash.slot(KeyHash.spread(key.hashCode), ProbedOneIn - 1) == 0
}

/** What one thread has counted of the calls of one function whose arguments are of certain families. */
private[cqels] final class Tally(val code: Long, val cost: CallCost) {
  var made, hits, lookedUp = 0L
  // Evaluations of few calls must not always take the time of the first one, unless nothing is known yet.
  var untilTimed: Int = if (cost.isKnown) Tally.random(cost.interval) else 0

  def reset(): Unit = { made = 0; hits = 0; lookedUp = 0 }
}

private object Tally {
  def random(most: Int): Int = java.util.concurrent.ThreadLocalRandom.current.nextInt(most + 1)
}

/** The values of terms that one thread has read lately: those of constants, and what comes again and again. */
private final class ReadTerms {
  private val ids = new Array[Long](ReadTerms.Size)
  private val values = new Array[Distribution](ReadTerms.Size)
  private var epoch = -1L

  /** The value of a term, in an epoch in which ids mean the same. */
  def of(id: Long, now: Long)(read: => Distribution): Distribution = {
    if (now != epoch) {
      epoch = now
      java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    }
    val place = (KeyHash.spread(id) >>> ReadTerms.Shift).toInt
    if (ids(place) == id && values(place) != null) values(place)
    else {
      val value = read
      ids(place) = id
      values(place) = value
      value
    }
  }
}

private object ReadTerms {
  private final val Bits = 6
  final val Size: Int = 1 << Bits
  final val Shift: Int = 64 - Bits
}
