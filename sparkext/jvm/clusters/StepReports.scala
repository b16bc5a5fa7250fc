package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable

import org.apache.spark.sql.cqels.join.StepReport
import org.apache.spark.TaskContext
import org.apache.spark.util.AccumulatorV2

/** What one task of a job has done: its stage and its part, the rows that came to it with the nanoseconds of waiting for them (-1: it began
 *  with a relation), its steps, and the nanoseconds that joining took.
 */
private[cqels] final case class TaskReport(stage: Int, part: Int, arrived: Long, waited: Long, steps: Seq[StepReport], busy: Long)

/** Brings what tasks have done to the driver: a task that ran twice counts once. */
private[cqels] final class StepReports extends AccumulatorV2[TaskReport, Seq[TaskReport]] {
  private val held = mutable.LinkedHashMap[(Int, Int), TaskReport]()

  override def isZero: Boolean = synchronized(held.isEmpty)
  override def copy(): StepReports = { val other = new StepReports; other.merge(this); other }
  override def reset(): Unit = synchronized(held.clear())
  override def add(report: TaskReport): Unit = synchronized(held((report.stage, report.part)) = report)
  override def merge(other: AccumulatorV2[TaskReport, Seq[TaskReport]]): Unit = other.value.foreach(add)
  override def value: Seq[TaskReport] = synchronized(held.values.toSeq)
}

private[cqels] object StepReports {
  /** Has a task tell at its end what it did; whoever reads its answers may have had enough before theirs. */
  def atEnd(context: TaskContext, to: StepReports)(report: => TaskReport): Unit = context.addTaskCompletionListener[Unit](_ => to.add(report))

  /** What all tasks did together, stage by stage, each stage's steps in the order in which they follow each other; `exchanges` names what
   *  brings the rows of each stage together, null for one that begins with a relation.
   */
  def merged(tasks: Seq[TaskReport], exchanges: Seq[String]): Seq[StepReport] = exchanges.indices.flatMap { n =>
    val own = tasks.filter(_.stage == n)
    val arrived = own.map(_.arrived).filter(_ >= 0).sum
    val exchange = if (exchanges(n) == null) Nil else Seq(StepReport(exchanges(n), arrived, arrived, 0, own.map(_.waited).sum, arrived.toDouble))
    // Tasks that went several ways: steps that more relations follow come first, as far as one task has them all.
    val steps = mutable.LinkedHashMap[String, StepReport]()
    for (task <- own.sortBy(-_.steps.length); s <- task.steps) {
      val b = steps.getOrElse(s.name, StepReport(s.name, 0, 0, 0, 0, 0.0))
      steps(s.name) = StepReport(s.name, b.rowsIn + s.rowsIn, b.rowsOut + s.rowsOut, b.reads + s.reads, b.nanos + s.nanos, b.estimatedOut + s.estimatedOut)
    }
    exchange ++ steps.values
  }
}
