package org.apache.spark.sql.cqels

import scala.util.control.ControlThrowable

import org.apache.spark.{SparkContext, TaskContext}

/** What a run on the driver may take at most, where it may be given up: checked now and then by whoever handles its rows. */
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
}
