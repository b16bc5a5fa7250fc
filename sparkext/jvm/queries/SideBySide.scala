package org.apache.spark.sql.cqels
package queries

import java.lang.ref.WeakReference
import java.util.concurrent.{Callable, ConcurrentHashMap, Executors}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.control.NonFatal

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.spark.Jobs

/** Evaluates queries that do not concern each other at one instant side by side, as many at a time as there are cores.
 *
 *  Windows are moved first, by one thread, which has the turn: queries share them, and nobody moves them while they are read.
 */
private[queries] final class SideBySide(session: SparkSession) {
  private val known = new ConcurrentHashMap[Long, WeakReference[ContinuousQuery]]()

  def add(query: ContinuousQuery): ContinuousQuery = {
    known.values.removeIf(_.get == null)
    known.put(query.number, new WeakReference(query))
    query
  }

  /** What `evaluate` tells of each of some queries, a line each: "number;bounds" a line. Empty where it failed: evaluated by itself the query
   *  says why.
   */
  def evaluate(asked: String): String = {
    val queries = asked.split('\n').map { line =>
      val (number, bounds) = line.splitAt(line.indexOf(';'))
      val query = known.get(number.toLong).get
      query.moveWindows(bounds.drop(1))
      query
    }
    val told = new Array[String](queries.length)
    val next = new AtomicInteger
    def work(): Unit = {
      var i = next.getAndIncrement()
      while (i < queries.length) {
        told(i) = try queries(i).evaluateHere("", 0) catch { case NonFatal(_) => "" }
        i = next.getAndIncrement()
      }
    }
    val properties = Jobs.propertiesHere(session.sparkContext)
    val others = Array.fill(math.min(queries.length, SideBySide.Threads) - 1)(SideBySide.threads.submit(new Callable[Unit] {
      override def call(): Unit = Jobs.withProperties(session.sparkContext, properties)(session.withActive(work()))
    }))
    // Windows may move again when all have ended, whatever became of one.
    var failure: Throwable = null
    def ended(part: => Unit): Unit = try part catch { case e: Throwable => if (failure == null) failure = e }
    ended(work())
    others.foreach(other => ended(other.get()))
    if (failure != null) throw failure
    told.mkString("\n")
  }
}

private object SideBySide {
  private val Threads = Runtime.getRuntime.availableProcessors
  // Not those on which the slices of one evaluation work: an evaluation waits for these.
  private lazy val threads = Executors.newFixedThreadPool(math.max(1, Threads - 1), (r: Runnable) => {
    val thread = new Thread(r, "cqels-query")
    thread.setDaemon(true)
    thread
  })
}
