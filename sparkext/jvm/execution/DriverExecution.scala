package org.apache.spark.sql.cqels
package execution

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.{RangePartitioning, SinglePartition}
import org.apache.spark.sql.cqels.clusters.{ClusterJoinExec, RowJoinExec}
import org.apache.spark.sql.cqels.leaves.{IndexedRelationExec, RelationScanExec, RowLeafExec}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.{HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ENSURE_REQUIREMENTS, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}

/** Knowing when a plan's RDD can be iterated on the driver. */
private[cqels] object DriverExecution {
  /** Puts in a prepared plan what the driver can iterate for what only jobs can run. */
  def adapt(plan: SparkPlan): SparkPlan = plan.transformUp {
    case BroadcastExchangeExec(mode, child) if StageBuildExec.supports(mode) => StageBuildExec(mode, child)
    // Where Spark only wants equal keys together, one partition with everything in it will do.
    case s: ShuffleExchangeExec if s.shuffleOrigin == ENSURE_REQUIREMENTS && !s.outputPartitioning.isInstanceOf[RangePartitioning] =>
      CoalesceExec(1, s.child)
    case w: WholeStageCodegenExec if compilesEmptinessIn(w.child) => w.child
  }

  /** Why a plan may not be iterated on the driver; None when it may.
   *
   *  A shuffle's map stage would not run and a top-k would see one partition only: empty or partial answers without
   *  an error. So only operators known to be right are let through; anything else runs as a job.
   */
  def refusal(plan: SparkPlan): Option[String] = plan.collectFirst {
    case node if !allowed(node) => s"${node.nodeName} needs a Spark job"
    case node if PlanNodes.holdsSubquery(node) => s"${node.nodeName} holds a subquery"
  }

  private[cqels] def allowed(node: SparkPlan): Boolean = node match {
    case _: RelationScanExec | _: IndexedRelationExec | _: StageBuildExec | _: SlicedExec | _: RowLeafExec | _: ClusterJoinExec | _: RowJoinExec => true
    case _: ProjectExec | _: FilterExec | _: UnionExec | _: ExpandExec | _: GenerateExec | _: LocalTableScanExec => true
    case _: HashAggregateExec | _: ObjectHashAggregateExec | _: SortAggregateExec => true
    case _: BroadcastHashJoinExec => true
    case j: BroadcastNestedLoopJoinExec => streamsOneSide(j)
    case _: CoalesceExec | _: LocalLimitExec => true // both look at single partitions
    case _: WholeStageCodegenExec | _: InputAdapter | _: LoopBodyExec => true
    case _: OneRowRelationExec | _: PathSearchExec => true
    case s: OrderedSliceExec => s.child.outputPartitioning == SinglePartition
    case _ => false
  }

  /** Whether generated code would depend on the build side being empty or not, which changes from run to run. */
  private def compilesEmptinessIn(node: SparkPlan): Boolean = node match {
    case _: InputAdapter => false // another stage's code
    case BroadcastNestedLoopJoinExec(_, _, _, LeftOuter | RightOuter, _) => true
    case BroadcastNestedLoopJoinExec(_, _, _, LeftSemi | LeftAnti, None) => true
    case other => other.children.exists(compilesEmptinessIn)
  }

  /** The other combinations run a job while the plan is being executed, and would keep what it found then. */
  private def streamsOneSide(j: BroadcastNestedLoopJoinExec): Boolean = (j.joinType, j.buildSide) match {
    case (_: InnerLike, _) | (LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_), BuildRight) | (RightOuter, BuildLeft) => true
    case _ => false
  }
}
