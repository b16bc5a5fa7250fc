package org.apache.spark.sql.cqels
package execution

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.calls.TextNeeds
import org.apache.spark.sql.cqels.runs.DriverRows
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

/** Computes in this process what needs texts of terms, where the rest of a plan is computed by executors that have none. */
private[cqels] object TextsHere {
  /** The plan with the rows of each operator that needs texts in its place. */
  def apply(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case node if TextNeeds.ofNode(node).nonEmpty =>
      val over = node.withNewChildren(node.children.map(gathered(session, _)))
      LocalRelation(node.output, computed(session, over))
  }

  /** The rows of a plan that needs no texts, here. */
  private def gathered(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan match {
    case rows: LocalRelation => rows
    case other => LocalRelation(other.output, Frames.of(session, other).queryExecution.executedPlan.executeCollect().toSeq)
  }

  private def computed(session: SparkSession, operator: LogicalPlan): Seq[InternalRow] = session.withActive {
    val hinted = operator match {
      // Only so can this process iterate a join, however large it is.
      case join: Join => join.copy(hint = JoinHint(None, Some(HintInfo(strategy = Some(BROADCAST)))))
      case other => other
    }
    val plan = DriverExecution.adapt(QueryExecution.prepareExecutedPlan(session, new QueryExecution(session, hinted).sparkPlan))
    DriverExecution.refusal(plan).foreach(why => throw new IllegalStateException(s"texts of terms are at the driver only, and $why"))
    SQLExecution.withSQLConfPropagated(session) {
      val rdd = plan.execute()
      PlanNodes.bottomUp(plan).foreach { case build: StageBuildExec => build.rebuild(); case _ => }
      val rows = mutable.ArrayBuffer[InternalRow]()
      DriverRows.foreachRow(rdd)(row => rows += row.copy())
      rows.toSeq
    }
  }
}
