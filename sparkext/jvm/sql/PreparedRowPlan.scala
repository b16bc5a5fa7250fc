package org.apache.spark.sql.cqels
package sql

import scala.util.control.NonFatal

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.clusters.RowJoinExec
import org.apache.spark.sql.cqels.execution.{DriverExecution, LoopBodies, OperatorCounts, PlanNodes, PlanOperator, SlicedExecution, StageBuildExec}
import org.apache.spark.sql.cqels.leaves.{IndexedRowsExec, LiveValue, RelationScanExec, RowScanExec, ShippedAtBind}
import org.apache.spark.sql.cqels.runs.DriverRows
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{HashedRelationBroadcastMode, SortMergeJoinExec}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}

/** One way to execute a query over rows of any types; it gives each row of the answer of now to `consume`. */
trait RowPlan {
  /** Plans and compiles now, so that the first run does not. */
  def warm(): Unit
  /** Why it cannot be iterated on the driver, or null. */
  def refusal: String
  /** Rows that are read one by one now; what is only probed does not count. */
  def rowsRead: Long
  def runOnDriver(consume: InternalRow => Unit): Unit
  def runAsJob(slices: Int, consume: InternalRow => Unit): Unit
  def operators(): Seq[PlanOperator]
  def treeString: String
}

/** The physical plan of an optimised query, made once; see [[PreparedPlan]], its twin over ids.
 *
 *  Not thread-safe but for `warm`: one run at a time.
 */
final class PreparedRowPlan(session: SparkSession, optimized: LogicalPlan, threads: Int) extends RowPlan {
  private lazy val driverPlan: SparkPlan = session.withActive {
    val here = physical().transformUp {
      case s: RowScanExec => s.copy(forTasks = false)
      case j: RowJoinExec => onThreads(j).copy(forTasks = false)
    }
    DriverExecution.adapt(QueryExecution.prepareExecutedPlan(session, LoopBodies(IndexedRowSides(here))))
  }
  private lazy val builds: Seq[StageBuildExec] = PlanNodes.bottomUp(driverPlan).collect { case s: StageBuildExec => s }
  private lazy val scans: Seq[RowScanExec] = driverPlan.collect { case s: RowScanExec => s }
  private lazy val joins: Seq[RowJoinExec] = driverPlan.collect { case j: RowJoinExec => j }
  private lazy val kept: RDD[InternalRow] = SQLExecution.withSQLConfPropagated(session)(driverPlan.execute())
  private var jobTemplate: SparkPlan = _
  private var jobSlices = 0
  private var binds = 0L
  private var lastPlan: SparkPlan = _
  private var counts: OperatorCounts = _
  private var began = 0L
  private var nanos = 0L

  override lazy val refusal: String = PreparedRowPlan.refusal(driverPlan).orNull

  private def physical(): SparkPlan =
    session.withActive(QueryExecution.createSparkPlan(session.sessionState.planner, optimized.clone()))

  private def onThreads(join: RowJoinExec): RowJoinExec = join.copy(threads = threads, leastNanos = SlicedExecution.LeastNanos)

  private var isWarm = false
  override def warm(): Unit = synchronized(session.withActive(if (refusal == null && !isWarm) {
    kept.partitions
    // What fails on a row of now is told by the run that meets it.
    joins.foreach(j => try j.warm() catch { case NonFatal(_) => })
    isWarm = true
  }))

  override def rowsRead: Long = scans.map(_.content.rowCount).sum + joins.map(_.rowsRead).sum

  override def runOnDriver(consume: InternalRow => Unit): Unit = session.withActive {
    SQLExecution.withSQLConfPropagated(session) {
      warm()
      ran(driverPlan)
      builds.foreach(_.rebuild())
      DriverRows.foreachRow(kept)(consume)
      ended()
    }
  }

  override def runAsJob(slices: Int, consume: InternalRow => Unit): Unit = session.withActive {
    SQLExecution.withSQLConfPropagated(session) {
      val bound = bind(slices)
      ran(bound)
      try { bound.executeCollect().foreach(consume); ended() }
      finally bound.collectWithSubqueries { case leaf: ShippedAtBind => leaf.release() }
    }
  }

  private def bind(slices: Int): SparkPlan = {
    if (jobTemplate == null || jobSlices != slices || jobTemplate.exists(PlanNodes.holdsSubquery)) {
      // Subqueries are not entered by transformUp and cache their result: such a plan is made anew.
      val sliced = physical().transformUp {
        case s: RowScanExec => s.copy(slices = slices)
        case j: RowJoinExec => onThreads(j).copy(slices = slices)
      }
      // Indexes stay in this process; on a cluster Spark broadcasts the rows, static ones once for this template.
      val sided = if (session.sparkContext.isLocal) IndexedRowSides(sliced) else sliced
      jobTemplate = QueryExecution.prepareExecutedPlan(session, LoopBodies(sided))
      jobSlices = slices
    }
    binds += 1
    jobTemplate.transformUp {
      case s: RowScanExec if s.content.live => s.copy(version = binds)
      case i: IndexedRowsExec if i.content.live => i.copy(version = binds)
      case s: RelationScanExec if s.content.live => s.copy(version = binds)
      case j: RowJoinExec => j.copy(version = binds) // its order may have changed, too
      // A broadcast keeps its rows, which a value of now may have chosen or be in the key of.
      case b @ BroadcastExchangeExec(HashedRelationBroadcastMode(keys, nullAware), _) if keys.exists(LiveValue.isIn) =>
        b.copy(mode = HashedRelationBroadcastMode(keys.map(LiveValue.bound(_, binds)), nullAware))
      case node if node.expressions.exists(LiveValue.isIn) => node.mapExpressions(LiveValue.bound(_, binds))
    }
  }

  private def ran(plan: SparkPlan): Unit = {
    if (lastPlan ne plan) { lastPlan = plan; counts = new OperatorCounts(plan) }
    counts.mark()
    began = System.nanoTime()
  }

  private def ended(): Unit = nanos = System.nanoTime() - began

  override def operators(): Seq[PlanOperator] = if (counts == null) Nil else counts.read(nanos)

  override def treeString: String = (if (lastPlan != null) lastPlan else if (refusal == null) driverPlan else physical()).treeString
}

private object PreparedRowPlan {
  /** As [[DriverExecution.refusal]], but for operators that are right over a single partition. */
  def refusal(plan: SparkPlan): Option[String] = plan.collectFirst {
    case node if !allowed(node) => s"${node.nodeName} needs a Spark job"
    case node if PlanNodes.holdsSubquery(node) => s"${node.nodeName} holds a subquery"
  }

  private def allowed(node: SparkPlan): Boolean = node match {
    case _: SortExec | _: WindowExec | _: WindowGroupLimitExec | _: GlobalLimitExec | _: TakeOrderedAndProjectExec | _: CollectLimitExec =>
      node.children.forall(_.outputPartitioning == SinglePartition)
    case _: SortMergeJoinExec => node.children.forall(_.outputPartitioning == SinglePartition) // full outer joins
    case _ => DriverExecution.allowed(node)
  }
}

/** A query that Spark plans anew at each run: with the engine switched off. */
final class UnpreparedRowPlan(session: SparkSession, analyzed: LogicalPlan, override val refusal: String) extends RowPlan {
  private var last: SparkPlan = _
  private var nanos = 0L

  override def warm(): Unit = ()
  override def rowsRead: Long = Long.MaxValue
  override def runOnDriver(consume: InternalRow => Unit): Unit = throw new IllegalStateException(refusal)
  override def runAsJob(slices: Int, consume: InternalRow => Unit): Unit = session.withActive {
    val execution = new QueryExecution(session, analyzed)
    last = execution.executedPlan
    val began = System.nanoTime()
    SQLExecution.withNewExecutionId(execution)(last.executeCollect()).foreach(consume)
    nanos = System.nanoTime() - began
  }
  override def operators(): Seq[PlanOperator] =
    if (last == null) Nil else new OperatorCounts(last).read(nanos)
  override def treeString: String = if (last == null) "(planned at each run)" else last.treeString
}
