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
private[cqels] final class RunLimit(until: Long) {
  private var rows = 0L

  /** One more row of which each `apart`-th is worth a look at the clock; throws [[RunOverdue]]. */
  def check(apart: Int): Unit = {
    rows += 1
    if (rows % apart == 0 && System.nanoTime() - until > 0) throw new RunOverdue
  }
}

private[cqels] final class RunOverdue extends ControlThrowable

private[cqels] object RunLimit {
  // A row that is scanned may make a million others, one that comes out has been made.
  final val RowsScanned = 16
  final val RowsOut = 1024
  private final val Property = "spark.cqels.run.until"

  /** The limit of the run that a task belongs to; null where there is none. */
  def of(context: TaskContext): RunLimit = {
    val until = context.getLocalProperty(Property)
    if (until == null) null else new RunLimit(until.toLong)
  }

  /** Runs `body` in this thread for so many nanoseconds at most, as far as it is checked: whether it came to its end. */
  def within(sc: SparkContext, nanos: Long)(body: => Unit): Boolean = {
    sc.setLocalProperty(Property, (System.nanoTime() + nanos).toString)
    try { body; true }
    catch { case _: RunOverdue => false }
    finally sc.setLocalProperty(Property, null)
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
    val cancelling = clock.scheduleWithFixedDelay(cancel, math.max(0L, nanos), CancelEvery, TimeUnit.NANOSECONDS)
    try { body; !overdue.get }
    catch { case NonFatal(e) => if (overdue.get) false else throw e }
    finally {
      cancelling.cancel(false)
      sc.removeJobTag(tag)
    }
  }
}
