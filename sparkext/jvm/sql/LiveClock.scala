package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{ComputeCurrentTime, SpecialDatetimeValues}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OneRowRelation, Project}
import org.apache.spark.sql.cqels.leaves.{LiveScalar, LiveValue}

/** Takes what reads the clock out of a query, for which Spark's optimizer would put the moment of planning.
 *
 *  Before: `Filter(at > current_timestamp() - INTERVAL 1 MINUTE, readings)`, which is kept with the time in it;
 *  after:  the same with a [[LiveValue]] in place of the function, or of a text such as 'today' that is read as a time. As in
 *  Spark, all that one run reads is one moment.
 */
private[cqels] final class LiveClock {
  private val read = mutable.LinkedHashMap[Expression, LiveScalar]()

  def without(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressionsWithSubqueries {
    case e @ (_: CurrentTimestampLike | _: CurrentDate | _: CurrentTime | _: LocalTimestamp) => live(e)
    case e: Cast if e.child.isInstanceOf[Literal] && LiveClock.told(Seq(e)).head.isInstanceOf[Literal] => live(e)
  }

  private def live(e: Expression): LiveValue = LiveValue(read.getOrElseUpdate(e, new LiveScalar(e.sql)), e.dataType, nullable = false)

  /** From here it is now. */
  def set(): Unit = if (read.nonEmpty) {
    val (asked, scalars) = read.toSeq.unzip
    LiveClock.told(asked).zip(scalars).foreach { case (moment, scalar) => scalar.set(moment.eval()) }
  }
}

private object LiveClock {
  /** What Spark's optimizer makes of expressions that read the clock: literals. */
  def told(asked: Seq[Expression]): Seq[Expression] =
    SpecialDatetimeValues(ComputeCurrentTime(Project(asked.map(Alias(_, "now")()), OneRowRelation()))).expressions.map(_.children.head)
}
