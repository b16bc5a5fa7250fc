package org.apache.spark.sql.cqels
package sql

import java.nio.file.Path

import scala.collection.mutable

import org.apache.spark.sql.cqels.answers.ArrowAnswers
import org.apache.spark.sql.cqels.clusters.ClusterOrder
import org.apache.spark.sql.cqels.leaves.{IdRelationLeaf, RowRelationLeaf}
import org.apache.spark.sql.cqels.memory.Json
import org.apache.spark.sql.cqels.spark.{Frames, SubqueryMerging}
import org.apache.spark.sql.cqels.written.{QueryBasis, WrittenQuery}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.RewriteCollationJoin
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.internal.SQLConf

/** A Spark SQL query over live views, prepared when it is made, and again by the run that finds that what it reads once has changed.
 *
 *  Calls come in `turn`, see [[SqlRoom]].
 */
final class PreparedRows(
    session: SparkSession, written: WrittenQuery, statics: StaticParts, scratch: Path, enabled: Boolean, maxDriverRows: Long,
    parallelism: Int, joinThreads: Int, turn: Object) {
  private var current = new RowPreparation(session, new QueryBasis(session, written), statics, enabled, joinThreads)
  private var count = 1
  // Zoned times in UTC, as `toArrow` gives them.
  private var answers = new ArrowAnswers(current.schema, "UTC")
  private var hasRun = false
  private var place = ""
  private val using = new Object

  private def inTurn[T](call: => T): T = turn.synchronized(using.synchronized(call))

  /** The schema of the answers as it is now, as JSON. */
  def schemaJson: String = inTurn(current.schema.json)

  /** How often it has been prepared. */
  def preparations: Int = count

  /** Its clusters of inner joins as query graphs with the statistics of now, a JSON list. */
  def graphs(): String = inTurn(current.graphs())

  /** By cluster, what its operator did in the last run (see [[ClusterOrder.report]]); null where it is a chain of Spark's joins. */
  def joins(): String = inTurn(current.told.map(o => if (o == null) "null" else o.report).mkString("[", ",", "]"))

  /** The orders that are new since the last run, told once (see [[ClusterOrder.changes]]). */
  def changes(): String = inTurn(ClusterOrder.changes(current.told.toSeq))

  /** Prepares the query again if it has to; whether it had to, so that `prepare` must follow. If it cannot, the next run tries again. */
  private def isNew(): Boolean = current.outdated(new QueryBasis(session, written)) match {
    case None => false
    case Some(basis) =>
      val next = new RowPreparation(session, basis, statics, enabled, joinThreads)
      if (next.schema != current.schema) { answers.close(); answers = new ArrowAnswers(next.schema, "UTC") }
      current = next
      hasRun = false
      count += 1
      true
  }

  /** Makes and compiles the plan; `orders` has the order of each cluster, as [[ClusterOrder.pin]] reads it. */
  def prepare(orders: java.util.List[String]): Unit = inTurn {
    val made = current.query
    val told = current.told
    for (n <- 0 until math.min(told.length, orders.size) if told(n) != null) told(n).pin(orders.get(n))
    made.warm()
  }

  /** Leaves the answers in a file: {"path", "rows", "ns", "place", "changes"}; null, and nothing is run, where the query is
   *  prepared anew. What is read may have changed unless it is `fresh`.
   */
  def run(fresh: Boolean): String = inTurn(if (!fresh && isNew()) null else {
    val started = System.nanoTime()
    val file = scratch.resolve(s"sql-answers-${PreparedRows.files.incrementAndGet()}")
    var done = false
    val rows =
      try { val n = answers.write(file)(execute); done = true; n }
      finally if (!done) java.nio.file.Files.deleteIfExists(file)
    s"""{"path":${Json.quote(file.toString)},"rows":$rows,"ns":${System.nanoTime() - started},"place":${Json.quote(place)},"changes":${changes()}}"""
  })

  /** The answers as a DataFrame that keeps them, else as `run`. */
  def frame(fresh: Boolean): Dataset[Row] = inTurn(if (!fresh && isNew()) null else {
    val attributes = current.schema.map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)())
    val unsafe = UnsafeProjection.create(attributes, attributes)
    val rows = mutable.ArrayBuffer[InternalRow]()
    execute(row => rows += unsafe(row).copy())
    Frames.of(session, LocalRelation(attributes, rows.toSeq))
  })

  private def execute(consume: InternalRow => Unit): Unit = {
    hasRun = true
    val query = current.query
    val jobs = query.plans.map(jobFor)
    place = jobs.zipWithIndex.collect {
      case (job, 0) => job.getOrElse("driver")
      case (Some(job), number) => s"$job for subquery $number"
    }.mkString("; ")
    current.setClock()
    query.subqueries.zip(jobs.tail).foreach { case ((subquery, plan), job) => subquery.take(runIn(job, plan, _)) }
    runIn(jobs.head, query.main, consume)
  }

  /** Why a plan runs as a Spark job now, None where it runs on the driver. */
  private def jobFor(plan: RowPlan): Option[String] = {
    val read = if (plan.refusal == null) plan.rowsRead else Long.MaxValue
    if (read <= maxDriverRows) None
    else Some(s"Spark job (${if (plan.refusal != null) plan.refusal else s"$read rows to read"})")
  }

  private def runIn(job: Option[String], plan: RowPlan, consume: InternalRow => Unit): Unit =
    if (job.isEmpty) plan.runOnDriver(consume)
    else {
      // Few rows in one slice need no shuffle.
      val slices = if (current.views.map(_.rowCount).sum <= PreparedRows.OneSlice && plan.refusal != null) 1 else parallelism
      plan.runAsJob(slices, consume)
    }

  /** Where the last run took place, and why there. */
  def lastPlace(): String = place

  /** The last run's operators, of the query and then of each subquery: [[depth, name, detail, rows, nanoseconds], ..], -1 where
   *  Spark does not count them.
   */
  def operators(): String = inTurn(plansUsed.map(_.operators()
    .map(o => s"[${o.depth},${Json.quote(o.name)},${Json.quote(o.detail)},${o.rows},${o.nanos}]").mkString("[", ",", "]"))
    .mkString("[", ",", "]"))

  def planTree(): String = inTurn(plansUsed.zipWithIndex.map { case (plan, number) =>
    if (number == 0) plan.treeString else s"subquery $number:\n${plan.treeString}"
  }.mkString("\n"))

  private def plansUsed: Seq[RowPlan] = if (hasRun) current.query.plans else Nil

  /** Waits for this query only: Python's collector calls it, in any thread. */
  def close(): Unit = using.synchronized(answers.close())
}

object PreparedRows {
  private val files = new java.util.concurrent.atomic.AtomicLong()
  private final val OneSlice = 200000L

  private val BuildRightSide = JoinHint(None, Some(HintInfo(Some(BROADCAST))))

  /** Tells outer, semi and anti joins to build their right side, turning right outer joins round. */
  private[cqels] def streamLive(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join @ Join(left, right, RightOuter, condition, JoinHint.NONE) if RowRelationLeaf.isLive(join) && mayBuild(left) =>
      Project(join.output, Join(right, left, LeftOuter, condition, BuildRightSide))
    case join @ Join(_, right, LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_), _, JoinHint.NONE)
        if RowRelationLeaf.isLive(join) && mayBuild(right) =>
      join.copy(hint = BuildRightSide)
  }

  /** Whether a side may be held by each task: not what is left to Spark because of its size. */
  private[cqels] def mayBuild(side: LogicalPlan): Boolean = side.collectLeaves().forall {
    case _: RowRelationLeaf | _: IdRelationLeaf => true
    case other => other.stats.sizeInBytes <= SQLConf.get.autoBroadcastJoinThreshold
  }

  /** Settings under which a query is optimised that is to be kept. */
  private[cqels] def optimizing(conf: SQLConf): SQLConf = {
    val without = conf.clone()
    // These put what is live into the filters of static scans, which would have to be read at each run.
    without.setConf(SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED, false)
    without.setConf(SQLConf.RUNTIME_BLOOM_FILTER_ENABLED, false)
    // This makes one subquery of several, behind a shuffle.
    without.setConfString(SQLConf.OPTIMIZER_EXCLUDED_RULES.key, (conf.optimizerExcludedRules.toSeq :+ SubqueryMerging.ruleName).mkString(","))
    without
  }

  /** What reordered conditions need to be keys of hash joins; both rules leave what they made alone. */
  private[cqels] def finish(plan: LogicalPlan): LogicalPlan = NormalizeFloatingNumbers(RewriteCollationJoin(plan))
}
