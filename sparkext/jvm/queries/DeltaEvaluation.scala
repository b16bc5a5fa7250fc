package org.apache.spark.sql.cqels
package queries

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.{Dictionary, IdBuffer}
import org.apache.spark.sql.cqels.execution.{ExecutablePlan, QueryPlans}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.TimeCells
import org.apache.spark.sql.cqels.streams.{Arrivals, Stay}

/** The plans of a monotone query's delta evaluation: one for each of its window patterns and MATCHes, which finds
 *  every derivation that uses a row of it which has just arrived.
 */
final class DeltaPlans {
  private val parts = mutable.ArrayBuffer[(Arrivals, ExecutablePlan)]()

  def add(arrived: Arrivals, plan: ExecutablePlan): Unit = parts += ((arrived, plan))
  def warm(): Unit = parts.foreach(_._2.warm())
  def driverRefusal: String = parts.map(_._2.driverRefusal).find(_ != null).orNull

  private[cqels] def missed(): Boolean = parts.count(_._1.missed()) > 0

  /** The derivations that use a row of after `time`, plan by plan; a plan without such rows does not run. */
  private[cqels] def derivations(time: Long): Seq[LongTable] =
    parts.toSeq.flatMap { case (arrived, plan) => if (arrived.fill(time) > 0) Some(plan.runOnDriver()) else None }

  /** As [[QueryPlans.operators]]. */
  def operators(): String = QueryPlans.listing(executed)
  def planTree(): String = QueryPlans.trees(parts.map(_._2).toSeq)

  private def executed = parts.map(_._2).toSeq.filter(_.operators().nonEmpty)
}

/** The answers of a monotone query that are new at an instant (ISTREAM by membership; RSP-QL, Definition 21), found from
 *  what arrived since the instant before.
 *
 *  A derivation is a choice of window rows; it holds from the latest of their occurrences until the first of them leaves. An
 *  answer is new if no derivation of it held at the instant before, and each of those was found when the last of its rows
 *  came: so it is enough to know, of every answer, until when it holds by what was found so far. `visible` columns of a
 *  derivation are the answer; behind them, each window pattern has a column with the last occurrence of its row, 0 where the
 *  derivation uses none.
 */
private[cqels] final class DeltaEvaluation(dictionary: Dictionary, visible: Int) {
  private val width = math.max(1, visible) // rows need a column
  private var plans: DeltaPlans = _
  private var stays = Array.empty[Stay]
  private var stale = true // whether what was found so far is not all there is to find
  private var last = Long.MinValue
  private var held = new HeldAnswers(dictionary)
  // Of an evaluation that is not told yet: what is new by it, and what held before where all was found anew.
  private var untold: LongTable = _
  private var before: HeldAnswers = _

  def heldCount: Int = held.size

  /** The answers that hold at the instant that was told last. */
  def holding: LongTable = held.rows(visible)

  /** Takes these answers to hold at the instant before: they were found otherwise, so that nobody knows until when. */
  def take(rows: LongTable): Unit =
    for (r <- 0 until rows.rowCount) {
      val mapping = new Array[Long](width)
      var c = 0
      while (c < visible) { mapping(c) = rows(r, c); c += 1 }
      held.hold(mapping, Long.MaxValue)
    }

  /** Evaluates by other plans from now on; what they find anew is looked for among all that the windows hold. */
  def replacePlans(others: DeltaPlans, stays: Array[Stay]): Unit = {
    plans = others
    this.stays = stays
    stale = true
  }

  /** Has what is new be looked for among all that the windows hold, once: what plans join with besides has changed. */
  def restart(): Unit = stale = true

  /** Forgets what was found so far. */
  def forget(): Unit = {
    held.close()
    held = new HeldAnswers(dictionary)
    stale = true
  }

  /** The new answers of where the windows stand, which are then `toldAt` an instant, or taken back. */
  def news(): LongTable = {
    val anew = plans.missed() || stale
    // Until it is told: one that fails has taken some of what arrived, which the next one would miss.
    stale = true
    val found = plans.derivations(if (anew) Long.MinValue else last)
    // What was found under other plans says what held, but not until when.
    if (anew) {
      val fresh = new HeldAnswers(dictionary, found.map(_.rowCount).sum)
      before = held
      held = fresh
    }
    val news = new LongTable(width)
    untold = news
    for (rows <- found) {
      var r = 0
      while (r < rows.rowCount) {
        val mapping = new Array[Long](width)
        var c = 0
        while (c < visible) { mapping(c) = rows(r, c); c += 1 }
        val unknown = before == null || !before.contains(mapping)
        if (held.hold(mapping, until(rows, r)) && unknown) news.appendAll(mapping, 0, 1)
        r += 1
      }
    }
    news
  }

  /** Says that the new answers are told, those of this instant. */
  def toldAt(instant: Long): Unit = {
    untold = null
    if (before != null) { before.close(); before = null }
    held.expire(instant)
    stale = false
    last = instant
  }

  /** Has answers that were not told be new to the next evaluation as well. */
  def takeBack(): Unit = {
    if (before != null) {
      held.close()
      held = before
      before = null
    } else if (untold != null) {
      val mapping = new Array[Long](width)
      for (r <- 0 until untold.rowCount) {
        System.arraycopy(untold.data, r * width, mapping, 0, width)
        held.drop(mapping)
      }
    }
    untold = null
  }

  private def until(rows: LongTable, row: Int): Long = {
    var least = Long.MaxValue
    var c = 0
    while (c < stays.length) {
      val sighted = rows(row, visible + c)
      if (sighted != 0L) least = math.min(least, stays(c).until(TimeCells.read(sighted)))
      c += 1
    }
    least
  }

  def close(): Unit = held.close()
}

/** Answers and until when each holds; their terms stay in the dictionary as long. */
private final class HeldAnswers(dictionary: Dictionary, expected: Int = 0) {
  private final class Held(val ids: Array[Long]) {
    var until = 0L
    override def hashCode: Int = java.util.Arrays.hashCode(ids)
    override def equals(other: Any): Boolean = other match {
      case held: Held => java.util.Arrays.equals(ids, held.ids)
      case _ => false
    }
  }

  private val all = new java.util.HashMap[Held, Held](math.max(16, math.min(expected, HeldAnswers.Most) / 3 * 4))
  // By the time at which each was once expected to end: it may have been found to hold for longer since.
  private val ending = new java.util.TreeMap[Long, mutable.ArrayBuffer[Held]]()
  private val ids = new IdBuffer

  def size: Int = all.size
  def contains(mapping: Array[Long]): Boolean = all.containsKey(new Held(mapping))

  def rows(visible: Int): LongTable = {
    val made = new LongTable(visible, all.size)
    all.values.forEach(held => made.appendAll(held.ids, 0, 1))
    made
  }

  /** Notes that an answer holds until then, or for longer; whether it was not known to hold. */
  def hold(mapping: Array[Long], until: Long): Boolean = {
    val made = new Held(mapping)
    val known = all.putIfAbsent(made, made)
    if (known != null) {
      known.until = math.max(known.until, until)
      return false
    }
    made.until = until
    wait(made)
    keep(made)
    dictionary.retain(ids.array, ids.size)
    true
  }

  /** Forgets an answer that was taken to hold; nothing is to expire here any more. */
  def drop(mapping: Array[Long]): Unit = {
    val dropped = all.remove(new Held(mapping))
    if (dropped != null) release(dropped)
  }

  /** Forgets what does not hold at an instant. */
  def expire(instant: Long): Unit = {
    while (!ending.isEmpty && ending.firstKey <= instant) {
      ending.pollFirstEntry().getValue.foreach { held =>
        if (held.until > instant) wait(held) else { all.remove(held); release(held) }
      }
    }
  }

  def close(): Unit = {
    all.values.forEach(release(_))
    all.clear()
    ending.clear()
  }

  private def wait(held: Held): Unit = ending.computeIfAbsent(held.until, _ => new mutable.ArrayBuffer[Held](1)) += held

  private def keep(held: Held): Unit = {
    ids.reset()
    held.ids.foreach(ids.add)
  }

  private def release(held: Held): Unit = {
    keep(held)
    dictionary.release(ids.array, ids.size)
  }
}

private object HeldAnswers {
  /** Answers for which there is room at once: many derivations may be of few answers. */
  final val Most = 1 << 20
}
