package org.apache.spark {

  import java.util.Properties
  import java.util.concurrent.atomic.AtomicLong

  import org.apache.spark.executor.TaskMetrics
  import org.apache.spark.memory.TaskMemoryManager

  /** A task context for work done on the driver itself.
   *
   *  Aggregates, sorts and cached scans need a context with memory and block locks of its own; `TaskContext.empty` has
   *  neither. The metrics object is not registered with the listener bus: that would leave accumulators behind at each run.
   */
  private[spark] object DriverTask {
    private val ids = new AtomicLong(1L << 40)

    def run[T](partition: Int, properties: Properties)(body: TaskContext => T): T = {
      val env = SparkEnv.get
      val id = ids.getAndIncrement()
      env.blockManager.registerTask(id)
      val context = new TaskContextImpl(0, 0, partition, id, 0, 1, new TaskMemoryManager(env.memoryManager, id),
        properties, env.metricsSystem, TaskMetrics.empty, BigDecimal(1), Map.empty)
      val outer = TaskContext.get()
      TaskContext.setTaskContext(context)
      var failure: Option[Throwable] = None
      try body(context)
      catch { case e: Throwable => failure = Some(e); throw e }
      finally {
        try context.markTaskCompleted(failure)
        finally {
          env.blockManager.releaseAllLocksForTask(id)
          context.taskMemoryManager.cleanUpAllAllocatedMemory()
          if (outer == null) TaskContext.unset() else TaskContext.setTaskContext(outer)
        }
      }
    }

    /** A copy of this thread's properties: SQLConf.get inside a task reads the context's, and without them time zones and
     *  ANSI mode are the defaults.
     */
    def localProperties(): Properties = {
      val copy = new Properties()
      val local = SparkContext.getActive.map(_.getLocalProperties).orNull
      if (local != null) local.stringPropertyNames().forEach(k => copy.setProperty(k, local.getProperty(k)))
      copy
    }
  }
}

package org.apache.spark.sql.cqels {

  import org.apache.spark.DriverTask
  import org.apache.spark.rdd.RDD
  import org.apache.spark.sql.catalyst.InternalRow
  import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
  import org.apache.spark.sql.catalyst.plans._
  import org.apache.spark.sql.catalyst.plans.physical.{RangePartitioning, SinglePartition}
  import org.apache.spark.sql.cqels.join.ClusterJoinExec
  import org.apache.spark.sql.cqels.rows.RowJoinExec
  import org.apache.spark.sql.execution._
  import org.apache.spark.sql.execution.aggregate.{HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
  import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ENSURE_REQUIREMENTS, ShuffleExchangeExec}
  import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}

  /** Iterating a plan's RDD on the driver, and knowing when that is right. */
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

    /** Feeds every row of the RDD to `consume`, partition after partition, in this thread. */
    def foreachRow(rdd: RDD[InternalRow])(consume: InternalRow => Unit): Unit =
      foreachRow(rdd, DriverTask.localProperties())(consume)

    def foreachRow(rdd: RDD[InternalRow], properties: java.util.Properties)(consume: InternalRow => Unit): Unit =
      rdd.partitions.foreach { part =>
        DriverTask.run(part.index, properties) { context =>
          val rows = rdd.iterator(part, context)
          val limit = RunLimit.of(context)
          if (limit == null) while (rows.hasNext) consume(rows.next())
          else while (rows.hasNext) { limit.check(RunLimit.RowsOut); consume(rows.next()) }
        }
      }
  }
}
