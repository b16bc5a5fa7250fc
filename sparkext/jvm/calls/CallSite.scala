package org.apache.spark.sql.cqels
package calls

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.spark.sql.cqels.runs.SampledNanos

/** One filter, BIND or other expression of a query in which uncertainty functions are called, and what is counted there. */
final class CallSite(private[cqels] val calls: UncertainCalls, val number: Int) {
  private val counting = mutable.ArrayBuffer[SiteCaller]()
  private val called = mutable.LinkedHashMap[Long, CallCost]()

  private val callers = new ConcurrentHashMap[Thread, SiteCaller]()
  private[cqels] val row = new SampledNanos(calls.costs.row.nanos, untilSettled = true)

  /** For the thread that generated code is made for: each makes its own. */
  def caller(): SiteCaller = new SiteCaller(this)

  /** For this thread, where no code is generated. */
  private[cqels] def here: SiteCaller = callers.computeIfAbsent(Thread.currentThread, (_: Thread) => caller())

  private[cqels] def begun(caller: SiteCaller): Unit = synchronized(counting += caller)

  /** Calls made, hits of the cache, nanoseconds of the calls made, rows in, rows passed, nanoseconds that the rows
   *  took beside the calls made for them; since the last collection. Times are what was counted by the costs of now. No
   *  thread may be calling.
   */
  def collect(): Array[Long] = synchronized {
    val counts = new Array[Long](6)
    var nanos = 0.0
    counting.foreach { caller =>
      caller.counted.foreach { tally =>
        counts(0) += tally.made
        counts(1) += tally.hits
        nanos += tally.made * tally.cost.nanos
        tally.cost.note(tally.made, tally.lookedUp, tally.hits)
        called.put(tally.code, tally.cost)
      }
      counts(3) += caller.rowsIn
      counts(4) += caller.rowsPassed
      caller.reset()
    }
    counting.clear()
    if (!callers.isEmpty) callers.keySet.removeIf(!_.isAlive)
    counts(2) = math.round(nanos)
    counts(5) = math.round(counts(3) * row.nanos)
    counts
  }

  /** Forgets what was counted since the last collection. No thread may be calling. */
  private[cqels] def discard(): Unit = synchronized {
    counting.foreach(_.reset())
    counting.clear()
  }

  /** The costs of the calls that have been made here, as a JSON array. */
  def costs: String = synchronized(called.values.map(_.json).mkString("[", ",", "]"))
}
