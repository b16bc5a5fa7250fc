package org.apache.spark.sql.cqels
package queries

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.{Dictionary, WindowTerms}
import org.apache.spark.sql.cqels.events.EventMatch
import org.apache.spark.sql.cqels.execution.{ExecutablePlan, QueryPlans}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.StageContent
import org.apache.spark.sql.cqels.streams.{ArrivedElements, Arrivals}

/** The plans that find the events of one MATCH in the elements that arrived; what they find goes to `state`, whose content the
 *  plans of the query read.
 *
 *  A plan's rows are the values of its event's variables, the element, and the triples of the element that it used, 0 for a
 *  pattern that was not needed.
 */
final class MatchPlans(state: EventMatch) {
  private final class Event(
      val number: Int, val arrived: ArrivedElements, val plan: ExecutablePlan, val stream: Int, val values: Int, val triples: Int) {
    var terms: WindowTerms = _ // that its expressions made; null: they make none
  }

  private val events = mutable.ArrayBuffer[Event]()
  private var stale = true // whether what the state holds is not of these plans, or not all there is
  private var consumed = -1 // how much was before the evaluation that is not told yet; -1: all is told

  /** One of the match's events: `stream` tells streams of a query apart, `values` and `triples` are numbers of columns. */
  def add(number: Int, arrived: ArrivedElements, plan: ExecutablePlan, stream: Int, values: Int, triples: Int): Unit =
    events += new Event(number, arrived, plan, stream, values, triples)

  /** Says that events make terms, which live in the dictionary as long as something may match them. */
  def setMakesTerms(dictionary: Dictionary): Unit = events.foreach(_.terms = new WindowTerms(dictionary))

  /** Has all be found anew from what the windows show at the next evaluation. */
  def restart(): Unit = stale = true

  def warm(): Unit = events.foreach(e => if (e.plan.driverRefusal == null) e.plan.warm())

  /** Brings the match to where the windows stand. */
  def advance(): Unit = {
    takeBack()
    if (state.consumes) {
      state.leftBehind(events.map(_.arrived.open).min)
      consumed = state.consumedCount.toInt
    }
    val anew = events.count(_.arrived.missed()) > 0 || stale
    // Until it has ended: one that fails has taken some of what arrived, which the next one would miss.
    stale = true
    if (anew) {
      state.reset()
      release()
      events.foreach(_.arrived.restart())
    }
    events.foreach { e => if (e.arrived.fill() > 0) take(e, if (e.plan.driverRefusal == null) e.plan.runOnDriver() else e.plan.runAsJob(1)) }
    val left = events.map(_.arrived.leftBehind).toArray
    state.evaluate(left)
    for (n <- left.indices) release(events(n), left(n))
    stale = false
  }

  /** Says that the answers of where the windows stand are told. */
  def told(): Unit = consumed = -1

  /** Has nothing be consumed by an evaluation of which nothing was told. */
  def takeBack(): Unit = if (consumed >= 0) {
    state.takeBackConsumed(consumed)
    consumed = -1
    stale = true
  }

  /** Lets go of the terms that events made. */
  def release(): Unit = events.foreach(release(_, Long.MaxValue))

  /** The query has ended. */
  def close(): Unit = {
    release()
    state.close()
  }

  private def release(event: Event, upTo: Long): Unit = if (event.terms != null) event.terms.release(upTo)

  private def take(event: Event, rows: LongTable): Unit = {
    val values = new Array[Long](event.values)
    var r = 0
    while (r < rows.rowCount) {
      var c = 0
      while (c < event.values) { values(c) = rows(r, c); c += 1 }
      val element = ArrivedElements.number(rows(r, event.values)).toInt
      val used = if (state.consumes) occurrences(event, rows, r) else null
      val position = event.arrived.position(element)
      if (event.terms != null) event.terms.hold(values, position)
      state.insert(event.number, values, event.arrived.time(element), position, used)
      r += 1
    }
  }

  private def occurrences(event: Event, rows: LongTable, row: Int): Array[Long] = {
    val used = new Array[Long](event.triples)
    var n = 0
    var c = event.values + 1
    while (c <= event.values + event.triples) {
      val cell = rows(row, c)
      if (cell != 0L) { used(n) = (event.stream.toLong << MatchPlans.StreamShift) | ArrivedElements.number(cell); n += 1 }
      c += 1
    }
    if (n == used.length) used else java.util.Arrays.copyOf(used, n)
  }

  /** As [[QueryPlans.operators]]. */
  def operators(): String = QueryPlans.listing(events.map(_.plan).toSeq.filter(_.operators().nonEmpty))
  def planTree(): String = QueryPlans.trees(events.map(_.plan).toSeq)
}

/** What a MATCH found last, for delta evaluation. Matches that late elements bring are found when these come. */
final class ArrivedMatches(state: EventMatch) extends Arrivals {
  override val content = new StageContent(s"new ${state.name}", state.content.arity + 1)

  override private[cqels] def missed(): Boolean = false

  override private[cqels] def fill(time: Long): Int = {
    val rows = if (time == Long.MinValue) state.timed().snapshot().table else state.news
    content.replace(rows)
    rows.rowCount
  }
}

private object MatchPlans {
  private final val StreamShift = 56
}
