package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OneRowRelation, Project}
import org.apache.spark.sql.cqels.leaves.{LiveScalar, LiveValue}

/** Takes what reads the clock out of a query, for which Spark's optimizer would put the moment of planning.
 *
 *  Before: `Filter(at > current_timestamp() - INTERVAL 1 MINUTE, readings)`, which is kept with the time in it;
 *  after:  the same with a [[LiveValue]] in place of the function. As in Spark, all that one run reads is one moment.
 */
private[cqels] final class LiveClock {
  private val read = mutable.LinkedHashMap[Expression, LiveScalar]()

  def without(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressionsWithSubqueries {
    case e @ (_: CurrentTimestampLike | _: CurrentDate | _: CurrentTime | _: LocalTimestamp) =>
      LiveValue(read.getOrElseUpdate(e, new LiveScalar(e.sql)), e.dataType, nullable = false)
  }

  /** From here it is now. */
  def set(): Unit = if (read.nonEmpty) {
    val (asked, scalars) = read.toSeq.unzip
    val told = ComputeCurrentTime(Project(asked.map(Alias(_, "now")()), OneRowRelation()))
    told.expressions.zip(scalars).foreach { case (moment, scalar) => scalar.set(moment.children.head.eval()) }
  }
}
