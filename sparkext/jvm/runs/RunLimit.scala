package org.apache.spark.sql.cqels
package runs

import java.util.UUID
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.{ControlThrowable, NonFatal}

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.cqels.spark.Jobs

/** What a run may take at most, where it may be given up: on the driver that is checked now and then by whoever handles its
 *  rows, the jobs of one on executors are cancelled.
 */
private[cqels] final class RunLimit(until: Long, bytes: Long) {
  private var rows = 0L
  private val before = if (bytes > 0) RunLimit.allocated() else 0L

  /** One more row of which each `apart`-th is worth a look at the clock; throws [[RunOverdue]]. */
  def check(apart: Int): Unit = {
    rows += 1
    if (rows % apart == 0) {
      if (System.nanoTime() - until > 0) throw new RunOverdue("time")
      // What is collected as garbage meanwhile counts, too: a thread's allocations cost nothing to read, what it holds does.
      if (bytes > 0 && RunLimit.allocated() - before > bytes) throw new RunOverdue("memory")
    }
  }
}

private[cqels] final class RunOverdue(val what: String) extends ControlThrowable(what)

/** An evaluation that took more than it may; the message says what of. */
private[cqels] final class LimitExceeded(message: String) extends RuntimeException(message)

private[cqels] object RunLimit {
  // A row that is scanned may make a million others, one that comes out has been made.
  final val RowsScanned = 16
  final val RowsOut = 1024
  private final val Property = "spark.cqels.run.until"
  private final val BytesProperty = "spark.cqels.run.bytes"
  private final val Ever = 1L << 61 // in nanoseconds
  private lazy val threads = java.lang.management.ManagementFactory.getThreadMXBean match {
    case bean: com.sun.management.ThreadMXBean => bean
    case _ => null
  }

  private def allocated(): Long = if (threads == null) 0L else threads.getThreadAllocatedBytes(Thread.currentThread.getId)

  /** The limit of the run that a task belongs to; null where there is none. */
  def of(context: TaskContext): RunLimit = {
    val until = context.getLocalProperty(Property)
    if (until == null) null
    else new RunLimit(until.toLong, Option(context.getLocalProperty(BytesProperty)).fold(0L)(_.toLong))
  }

  /** Runs `body` in this thread for so many nanoseconds at most, as far as it is checked: whether it came to its end. */
  def within(sc: SparkContext, nanos: Long)(body: => Unit): Boolean = exceeded(sc, nanos, 0)(body) == null

  /** As `within`, with each thread allocating so many bytes at most (0: any); what was exceeded, "time" or "memory", or null. */
  def exceeded(sc: SparkContext, nanos: Long, bytes: Long)(body: => Unit): String = {
    limit(sc, nanos, bytes)
    try { body; null }
    catch { case overdue: RunOverdue => overdue.what }
    finally unlimit(sc)
  }

  /** As `exceeded`, of a body that runs Spark jobs: their tasks check, in this process also the time. */
  def exceededByJobs(sc: SparkContext, nanos: Long, bytes: Long)(body: => Unit): String = {
    limit(sc, if (sc.isLocal) nanos else Ever, bytes)
    try { if (jobsWithin(sc, nanos)(body)) null else "time" }
    catch { case NonFatal(e) => Seq("time", "memory").find(what => s"$e".contains(s"${classOf[RunOverdue].getName}: $what")).getOrElse(throw e) }
    finally unlimit(sc)
  }

  private def limit(sc: SparkContext, nanos: Long, bytes: Long): Unit = {
    sc.setLocalProperty(Property, (System.nanoTime() + math.min(nanos, Ever)).toString)
    if (bytes > 0) sc.setLocalProperty(BytesProperty, bytes.toString)
  }

  private def unlimit(sc: SparkContext): Unit = {
    sc.setLocalProperty(Property, null)
    sc.setLocalProperty(BytesProperty, null)
  }

  // A job that has not begun yet cannot be cancelled.
  private final val CancelEvery = TimeUnit.MILLISECONDS.toNanos(10)
  private lazy val clock = Jobs.scheduler("cqels-run-limit")

  /** Runs `body`, which runs Spark jobs, for about so many nanoseconds at most: whether it came to its end within them. */
  def jobsWithin(sc: SparkContext, nanos: Long)(body: => Unit): Boolean = {
    val tag = s"cqels-limited-${UUID.randomUUID()}"
    val overdue = new AtomicBoolean
    val cancel: Runnable = () => { overdue.set(true); sc.cancelJobsWithTag(tag) }
    sc.addJobTag(tag)
    val cancelling = clock.scheduleWithFixedDelay(cancel, math.max(0L, math.min(nanos, Ever)), CancelEvery, TimeUnit.NANOSECONDS)
    try { body; !overdue.get }
    catch { case NonFatal(e) => if (overdue.get) false else throw e }
    finally {
      cancelling.cancel(false)
      sc.removeJobTag(tag)
    }
  }
}
