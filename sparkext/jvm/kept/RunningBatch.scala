package org.apache.spark.sql.cqels
package kept

import java.util.UUID

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.spark.StreamingJobs
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation

/** The micro-batch that is planned on this thread. */
private[cqels] final case class RunningBatch(session: SparkSession, query: UUID, run: UUID, number: Long) {
  def isRunning(other: UUID): Boolean = StreamingJobs.isRunning(session, other)
}

private[cqels] object RunningBatch {
  /** None where a plan is only shown, or belongs to no streaming query. */
  def of(session: SparkSession): Option[RunningBatch] =
    StreamingJobs.current(session.sparkContext).map { case (query, run, number) => RunningBatch(session, query, run, number) }

  /** Whether a part of this plan reads the rows of the micro-batch: as a stream, or as the rows that `foreachBatch` was given.
   *
   *  The latter cannot be told from any other RDD, so an RDD is one of them unless a part of the plan is a stream, and a cached
   *  RDD unless another part is an RDD.
   */
  def readIn(plan: LogicalPlan): LogicalPlan => Boolean = if (isStream(plan)) isStream else if (mayBeRead(plan)) mayBeRead else mayBeCached

  private def isStream(plan: LogicalPlan): Boolean = plan.isStreaming || plan.exists {
    case stage: LogicalQueryStage => isStream(stage.logicalPlan)
    case _ => false
  }

  private def mayBeRead(plan: LogicalPlan): Boolean = isStream(plan) || plan.exists {
    case rows: LogicalRDD => !rows.rdd.isCheckpointed
    case stage: LogicalQueryStage => mayBeRead(stage.logicalPlan)
    case _ => false
  }

  private def mayBeCached(plan: LogicalPlan): Boolean = plan.exists {
    case cached: InMemoryRelation => mayBeRead(cached.cacheBuilder.logicalPlan)
    case stage: LogicalQueryStage => mayBeCached(stage.logicalPlan)
    case _ => false
  }

  /** Whether the plan belongs to Spark's real-time mode, which takes the operators of its own list only. */
  def inRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
  }
}
