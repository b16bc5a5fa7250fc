package org.apache.spark.sql.cqels
package kept

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution, SparkPlan}

/** Running the optimised plan of something static by itself, and packing its rows. */
private[cqels] object StaticPlans {
  def execute[T](session: SparkSession, plan: LogicalPlan)(body: SparkPlan => T): T = session.withActive {
    SQLExecution.withSQLConfPropagated(session) {
      body(QueryExecution.prepareExecutedPlan(session, QueryExecution.createSparkPlan(session.sessionState.planner, plan.clone())))
    }
  }

  /** Packs rows as long as `more` says so; rows that come as others than Spark packs them go through `unsafe`. */
  def pack(rows: Iterator[InternalRow], unsafe: UnsafeProjection, pages: RowPages)(more: => Boolean): Unit =
    while (more && rows.hasNext) rows.next() match {
      case row: UnsafeRow => pages.append(row)
      case row => pages.append(unsafe(row))
    }
}
