package org.apache.spark.sql.cqels
package execution

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.CodegenObjectFactoryMode
import org.apache.spark.sql.catalyst.expressions.{Alias, And, Attribute, AttributeMap, AttributeReference, AttributeSet, BoundReference, Expression, NamedExpression, PlanExpression, PredicateHelper, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.BroadcastDistribution
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.cqels.calls.{TextNeed, TextNeeds}
import org.apache.spark.sql.cqels.clusters.{ClusterJoin, ClusterJoinExec, ClusterOrder}
import org.apache.spark.sql.cqels.leaves.{IndexedRelationExec, Preparing, RelationScanExec, ShippedAtBind}
import org.apache.spark.sql.cqels.memory.{IdRows, LongTable}
import org.apache.spark.sql.cqels.runs.DriverRows
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.LongType

/** How a query's answers of now are computed. */
trait ExecutablePlan {
  def label: String
  /** Plans and compiles now, so that the first evaluation does not. */
  def warm(): Unit
  /** Why this plan cannot run on the driver, or null. */
  def driverRefusal: String
  protected def logical: LogicalPlan
  private lazy val need: Option[TextNeed] = TextNeeds.of(logical)
  /** The function for which this plan needs texts of terms, whatever its rows are, or null. */
  def needsTexts: String = need.filter(_.always).map(_.function).orNull
  /** The function for which this plan needs texts of terms whose values are not in their ids, at least, or null. */
  def mayNeedTexts: String = need.map(_.function).orNull
  def runOnDriver(): LongTable
  def runAsJob(slices: Int): LongTable
  /** The last run's operators, root first. */
  def operators(): Seq[PlanOperator]
  def treeString: String
  /** Forgets the rows of the last run: others run from now on. */
  def release(): Unit = ()
  /** The join clusters whose order is data, innermost first. */
  lazy val clusters: Seq[ClusterOrder] = {
    val found = mutable.ArrayBuffer[ClusterOrder]()
    logical.foreachUp { case c: ClusterJoin => found += c.order; case _ => }
    found.distinct.toSeq
  }
}

/** A query on stock Spark: planned at each run as Spark plans it (`spark.cqels.enabled=false`). */
final class StockPlan(data: Dataset[_], val label: String) extends ExecutablePlan {
  override protected def logical: LogicalPlan = data.queryExecution.analyzed
  private var last: SparkPlan = data.queryExecution.executedPlan
  private var nanos = 0L

  override def warm(): Unit = ()
  override def driverRefusal: String = "stock Spark runs jobs"
  override def runOnDriver(): LongTable = runAsJob(1)
  override def runAsJob(slices: Int): LongTable = data.sparkSession.withActive {
    // An executed plan keeps the build sides and stages of its run: executed again, it would give that run's answers.
    val execution = new QueryExecution(data.sparkSession, data.queryExecution.analyzed)
    last = execution.executedPlan
    val width = data.schema.size
    val out = new LongTable(width)
    val began = System.nanoTime()
    SQLExecution.withNewExecutionId(execution)(last.executeCollect()).foreach(IdRows.appendBound(out, width, _))
    nanos = System.nanoTime() - began
    out
  }
  override def operators(): Seq[PlanOperator] = new OperatorCounts(last).read(nanos)
  override def treeString: String = last.treeString
}

/** The physical plan of a query for one join order, made once and executed over whatever its relations hold.
 *
 *  On the driver the plan's RDD is kept and iterated again; as a job the plan is bound anew (its live leaves are
 *  replaced) from the same template. Not thread-safe: one evaluation at a time.
 */
final class PreparedPlan private (session: SparkSession, protected val logical: LogicalPlan, val label: String, threads: Int, sliceNanos: Long,
    interpreted: Boolean) extends ExecutablePlan {
  private val width = logical.output.size
  require(logical.output.forall(_.dataType == LongType), s"$label must give id columns only: ${logical.schema.simpleString}")

  private lazy val driverPlan: SparkPlan = active {
    val here = plan().transformUp {
      case s: RelationScanExec => s.copy(forTasks = false)
      case c: ClusterJoinExec => c.copy(forTasks = false, threads = threads, leastNanos = sliceNanos)
    }
    val sliced = SlicedExecution(IndexedBuildSides(here, forTasks = false), threads, sliceNanos)
    DriverExecution.adapt(QueryExecution.prepareExecutedPlan(session, LoopBodies(sliced)))
  }
  private lazy val stages: Seq[StageBuildExec] = PlanNodes.bottomUp(driverPlan).collect { case s: StageBuildExec => s }
  @volatile private var kept: RDD[InternalRow] = _
  private var jobTemplate: SparkPlan = _
  private var jobSlices = 0
  private var jobIsOfOneRun = false // whether an exchange of it that is static would give what was computed for an earlier run
  private var binds = 0L
  private var lastPlan: SparkPlan = _
  private var counts: OperatorCounts = _
  private var began = 0L
  private var nanos = 0L

  lazy val driverRefusal: String = DriverExecution.refusal(driverPlan).orNull

  // A fresh query execution each time: physical nodes hold state that must not be shared between templates.
  private def plan(): SparkPlan = session.withActive(new QueryExecution(session, logical).sparkPlan)

  /** With the session's settings, but for code generation when this plan is interpreted; tasks read them as properties. */
  private def active[T](body: => T): T = session.withActive {
    if (!interpreted) body
    else {
      val conf = session.sessionState.conf.clone()
      PreparedPlan.Interpreted.foreach { case (key, value) => conf.setConfString(key, value) }
      val context = session.sparkContext
      val before = PreparedPlan.Interpreted.map { case (key, _) => key -> context.getLocalProperty(key) }
      PreparedPlan.Interpreted.foreach { case (key, value) => context.setLocalProperty(key, value) }
      try SQLConf.withExistingConf(conf)(body)
      finally before.foreach { case (key, value) => context.setLocalProperty(key, value) }
    }
  }

  def warm(): Unit = active {
    if (driverRefusal == null) {
      Preparing(keep())
      driverPlan.foreach { case c: ClusterJoinExec => c.warm(); case _ => }
    }
  }

  private def keep(): RDD[InternalRow] = synchronized { // made ready by one thread, executed by another
    if (kept == null) kept = SQLExecution.withSQLConfPropagated(session)(driverPlan.execute())
    kept
  }

  /** All answers now, iterated in this thread. */
  def runOnDriver(): LongTable = active {
    if (driverRefusal != null) throw new IllegalStateException(s"$label: $driverRefusal")
    SQLExecution.withSQLConfPropagated(session) {
      val rdd = keep()
      ran(driverPlan)
      stages.foreach(_.rebuild())
      driverPlan match {
        case sliced: SlicedExec => ended(sliced.runIds(append))
        case ClusterAlone(cluster, select) => ended(cluster.runIds(select))
        case _ =>
          val out = new LongTable(width, 64)
          DriverRows.foreachRow(rdd)(append(out, _))
          ended(out)
      }
    }
  }

  override def release(): Unit = if (kept != null) stages.foreach(_.release())

  /** All answers now, as a Spark job of `slices` tasks at its leaves. */
  def runAsJob(slices: Int): LongTable = session.withActive {
    SQLExecution.withSQLConfPropagated(session) {
      val bound = bind(math.max(1, slices))
      ran(bound)
      val columns = width
      try {
        val parts = bound.execute().mapPartitions { rows =>
          val table = new LongTable(columns, 64)
          rows.foreach(IdRows.appendBound(table, columns, _))
          Iterator.single((table.rowCount, table.toArray))
        }.collect()
        val rows = Math.toIntExact(parts.map(_._1.toLong).sum)
        val out = new LongTable(width, rows)
        parts.foreach { case (count, cells) => out.appendAll(cells, 0, count) }
        ended(out)
        bound.foreach { case c: ClusterJoinExec => c.ranAsJob(); case _ => }
        out
      } finally bound.collectWithSubqueries { case leaf: ShippedAtBind => leaf.release() }
    }
  }

  private def ran(plan: SparkPlan): Unit = {
    if (lastPlan ne plan) { lastPlan = plan; counts = new OperatorCounts(plan) }
    counts.mark()
    began = System.nanoTime()
  }

  private def ended(out: LongTable): LongTable = { nanos = System.nanoTime() - began; out }

  private def bind(slices: Int): SparkPlan = {
    if (jobTemplate == null || jobSlices != slices || hasSubqueries(jobTemplate)) {
      // Subqueries are not entered by transformUp and cache their result: such a plan is made anew.
      val sliced = plan().transformUp {
        case s: RelationScanExec => s.copy(slices = slices)
        case c: ClusterJoinExec => c.copy(slices = slices)
      }
      jobTemplate = QueryExecution.prepareExecutedPlan(session, LoopBodies(IndexedBuildSides(sliced, forTasks = true)))
      jobSlices = slices
      jobIsOfOneRun = jobTemplate.exists { case e: Exchange => e.exists(StageBuildExec.isOfOneRun) && !e.exists(anew.isDefinedAt); case _ => false }
    }
    binds += 1
    // Every ancestor of a replaced leaf is made anew with it; what is static stays the same object, with what its exchanges hold.
    (if (jobIsOfOneRun) jobTemplate.clone() else jobTemplate).transformUp(anew)
  }

  private val anew: PartialFunction[SparkPlan, SparkPlan] = {
    case s: RelationScanExec if s.content.live => s.copy(version = binds)
    case i: IndexedRelationExec if i.content.live => i.copy(version = binds)
    case c: ClusterJoinExec => c.copy(version = binds) // its order may have changed, too
  }

  private def hasSubqueries(p: SparkPlan): Boolean = p.exists(PlanNodes.holdsSubquery)

  private def append(out: LongTable, row: InternalRow): Unit = IdRows.appendBound(out, width, row)

  def operators(): Seq[PlanOperator] = if (counts == null) Nil else counts.read(nanos)

  def treeString: String = (if (lastPlan == null && driverRefusal == null) driverPlan else if (lastPlan == null) plan() else lastPlan).treeString
}

object PreparedPlan {
  private val Interpreted = Seq(
    SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> "false",
    SQLConf.CODEGEN_FACTORY_MODE.key -> CodegenObjectFactoryMode.NO_CODEGEN.toString)

  /** `threads` of the driver may work on one evaluation, each on `sliceNanos` of work at least. */
  def apply(data: Dataset[_], label: String, threads: Int, sliceNanos: Long, interpreted: Boolean = false): PreparedPlan =
    new PreparedPlan(data.sparkSession, data.queryExecution.analyzed, label, threads, sliceNanos, interpreted)
}

/** A plan that is one join cluster, and which of its columns are shown. */
private[cqels] object ClusterAlone {
  def unapply(plan: SparkPlan): Option[(ClusterJoinExec, Array[Int])] = plan match {
    case w: WholeStageCodegenExec => unapply(w.child)
    case i: InputAdapter => unapply(i.child)
    case c: ClusterJoinExec => Some((c, c.output.indices.toArray))
    case ProjectExec(list, child) =>
      val read = list.map { case a: Attribute => a; case Alias(a: Attribute, _) => a; case _ => null }
      if (read.contains(null)) None
      else unapply(child).map { case (c, below) => (c, read.map(a => below(child.output.indexWhere(_.exprId == a.exprId))).toArray) }
    case _ => None
  }
}

private[cqels] object PlanNodes {
  def bottomUp(plan: SparkPlan): Seq[SparkPlan] = { val all = mutable.ArrayBuffer[SparkPlan](); plan.foreachUp(all += _); all.toSeq }

  /** Whether an expression of the node reads another plan, as written or already planned. */
  def holdsSubquery(node: SparkPlan): Boolean =
    node.expressions.exists(_.exists { case _: PlanExpression[_] => true; case _ => false })
}

/** Replaces the build side of a hash join by an index of the relation it reads.
 *
 *  Before: `BroadcastHashJoin(left, Project(Filter(c, RelationScan r)))`;
 *  after:  `Project(BroadcastHashJoin(left, IndexedRelation r, condition and c))`. One that is to be built stays.
 */
private[cqels] object IndexedBuildSides extends PredicateHelper {
  def apply(plan: SparkPlan, forTasks: Boolean): SparkPlan = plan.transformUp {
    case join: BroadcastHashJoinExec if join.buildSide == BuildRight && !join.isNullAwareAntiJoin =>
      relationBelow(join.right).flatMap(replace(join, _, forTasks)).getOrElse(join)
    case search: PathSearchExec =>
      relationBelow(search.right).filter(_.condition.isEmpty).fold(search)(steps(search, _, forTasks))
  }

  /** The steps of a path, looked up in an index of their relation. */
  private def steps(search: PathSearchExec, below: Below, forTasks: Boolean): PathSearchExec =
    search.requiredChildDistribution(1) match {
      case BroadcastDistribution(mode @ HashedRelationBroadcastMode(k, _)) =>
        val output = search.right.output
        val keys = k.collect { case BoundReference(i, _, _) => i }
        search.copy(right = IndexedRelationExec(below.scan.content, output.map(below.columns(_)), keys, output, mode, forTasks))
      case _ => search
    }

  /** A relation under projections and filters: its columns by attribute, and the filters' conjunction. */
  private final case class Below(scan: RelationScanExec, columns: AttributeMap[Int], condition: Option[Expression])

  private def relationBelow(plan: SparkPlan): Option[Below] = plan match {
    case scan: RelationScanExec if !scan.built =>
      Some(Below(scan, AttributeMap(scan.output.zipWithIndex), None))
    case FilterExec(condition, child) if condition.deterministic && !SubqueryExpression.hasSubquery(condition) =>
      relationBelow(child).map(b => b.copy(condition = Some(b.condition.fold(condition)(And(_, condition)))))
    case ProjectExec(list, child) if list.forall(_.isInstanceOf[AttributeReference]) =>
      relationBelow(child)
    case ProjectExec(list, child) if list.forall(isRenaming) =>
      relationBelow(child).map { b =>
        val renamed = list.collect { case a @ Alias(from: AttributeReference, _) => a.toAttribute -> b.columns(from) }
        b.copy(columns = AttributeMap(b.columns.toSeq ++ renamed))
      }
    case _ => None
  }

  private def isRenaming(e: NamedExpression): Boolean = e match {
    case _: AttributeReference => true
    case Alias(_: AttributeReference, _) => true
    case _ => false
  }

  private def replace(join: BroadcastHashJoinExec, below: Below, forTasks: Boolean): Option[SparkPlan] = {
    val keys = join.requiredChildDistribution(1) match {
      case BroadcastDistribution(HashedRelationBroadcastMode(k, _)) => k.collect { case BoundReference(i, LongType, _) => i }
      case _ => Nil
    }
    if (keys.isEmpty || keys.size != join.rightKeys.size) None
    else {
      val needed = below.condition.map(_.references).getOrElse(AttributeSet.empty)
      // The condition may read columns that the projection dropped: they ride along and are projected away above.
      val extra = needed.filterNot(a => join.right.output.exists(_.exprId == a.exprId)).toSeq
      val output: Seq[Attribute] = join.right.output ++ extra
      val columns = output.map(below.columns(_))
      val mode = HashedRelationBroadcastMode(keys.map(i => BoundReference(i, LongType, output(i).nullable)))
      val indexed = IndexedRelationExec(below.scan.content, columns, keys, output, mode, forTasks)
      val condition = (join.condition.toSeq ++ below.condition.toSeq).reduceOption(And)
      val replaced = join.copy(right = indexed, condition = condition)
      Some(if (extra.isEmpty || join.output == replaced.output) replaced else ProjectExec(join.output, replaced))
    }
  }
}
