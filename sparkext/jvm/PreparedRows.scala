package org.apache.spark.sql.cqels

import java.nio.file.Path

import scala.collection.mutable

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.RewriteCollationJoin
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.cqels.join.ClusterOrder
import org.apache.spark.sql.cqels.rows.RowClusters
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.planmerging.MergeSubplans
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Whether clusters of inner joins of prepared queries are one operator each, and on how many threads of the driver it may work. */
final case class RowJoining(enabled: Boolean, threads: Int)

/** A Spark SQL query over live views: optimised once, with one physical plan whose joins choose their order in each run; or, where
 *  joins are Spark's, with a physical plan for each join order that was wanted.
 *
 *  Its scalar subqueries over live data are plans of their own, which run first (see [[LiveSubqueries]]), and what it reads of
 *  the clock is that of the run ([[LiveClock]]).
 *
 *  An order's key is its own text: JSON with one order a cluster (see [[JoinOrderAdvisor]]), null where joins stay as Spark
 *  ordered them. At most `capacity` orders are kept, the ones used least recently go first; the one in use and the one made
 *  last stay.
 */
final class PreparedRows(
    session: SparkSession, analyzed: LogicalPlan, statics: StaticParts, scratch: Path, enabled: Boolean, maxDriverRows: Long,
    parallelism: Int, capacity: Int, joining: RowJoining) {
  val schema: StructType = analyzed.schema
  // Zoned times in UTC, as `toArrow` gives them.
  private val answers = new ArrowAnswers(schema, "UTC")
  private var used: OrderedQuery = _
  private var place = ""

  private val clock = new LiveClock
  private val subqueries = new LiveSubqueries(plan => PreparedRows.streamLive(statics.materialise(plan)))
  // The query itself, then its subqueries: clusters are numbered so. None of it where nothing is prepared.
  private val trees: Seq[LogicalPlan] = if (!enabled) Nil else session.withActive {
    // What is cached is found by how it was written.
    val timeless = clock.without(new QueryExecution(session, analyzed).withCachedData)
    clock.set()
    val main = subqueries.without(ReorderLiveJoins.without(SQLConf.withExistingConf(PreparedRows.optimizing(session.sessionState.conf)) {
      new QueryExecution(session, timeless).optimizedPlan
    }))
    main +: subqueries.all.map(_.tree)
  }
  private val clusters: Seq[Seq[JoinCluster]] = trees.map(LiveClusters.of)

  private val orders = new java.util.LinkedHashMap[String, OrderedQuery](16, 0.75f, true)
  private var inUse: String = _ // the order that runs or ran last, before the first run the first one; guarded by `orders`

  /** The live rows that it reads, by name as "name=rows", one a line: what a change of order depends on. */
  private val views: Seq[LiveRows] = {
    val found = mutable.LinkedHashSet[LiveRows]()
    def collect(plan: LogicalPlan): Unit = plan.foreach {
      case RowRelationLeaf(rows: LiveRows, _) => found += rows
      case node => node.subqueries.foreach(collect)
    }
    (if (enabled) trees else Seq(analyzed)).foreach(collect)
    found.toSeq
  }
  def viewNames(): String = views.map(v => Json.quote(v.name)).mkString("[", ",", "]")
  def viewRows(): String = views.map(_.rowCount).mkString("[", ",", "]")

  /** Its clusters of inner joins as query graphs with the statistics of now, a JSON list. */
  def graphs(): String = clusters.flatten.map(_.describe()).mkString("[", ",", "]")

  // By cluster, what tells its operator an order; null where it is a chain of Spark's joins.
  private val told = new Array[ClusterOrder](clusters.map(_.size).sum)
  private var toldOrder = "[]"
  private lazy val prepared: OrderedQuery = {
    val before = clusters.scanLeft(0)(_ + _.size)
    val plans = trees.zip(before).map { case (tree, first) => joinedBy(tree, first) }
    val made = OrderedQuery(plans.head, subqueries.all.zip(plans.tail))
    made.warm()
    made
  }

  private def joinedBy(tree: LogicalPlan, first: Int): RowPlan = {
    val joined = LiveClusters.replace(tree) { (number, cluster, inputs) =>
      RowClusters.of(cluster, inputs).map { join => told(first + number) = join.order; join }
    }
    val finished = session.withActive(PreparedRows.finish(RowClusters.simplify(joined)))
    new OrderedRowPlan(session, finished, session.withActive(PreparedRows.finish(tree)), joining.threads, SlicedExecution.LeastNanos)
  }

  /** Has the operators of clusters join in these orders, in their own where it is null or none is told. */
  private def tell(order: String): Unit = if (order != toldOrder) {
    val wanted = JoinOrders.readAll(order)
    told.indices.foreach { n =>
      if (told(n) != null) told(n).pin(wanted.lift(n).flatten.fold("")(_.places.mkString(",")))
    }
    toldOrder = order
  }

  /** By cluster, what its operator did in the last run (see [[ClusterOrder.report]]); null where it is a chain of Spark's joins. */
  def joins(): String = told.map(o => if (o == null) "null" else o.report).mkString("[", ",", "]")

  def knows(order: String): Boolean = byOperators || orders.synchronized(orders.containsKey(order))

  private def byOperators: Boolean = joining.enabled && enabled

  /** Makes and compiles the plan of an order; may run beside `run`. */
  def prepare(order: String): Unit = planOf(order)

  private def planOf(order: String): OrderedQuery = if (byOperators) prepared else {
    val known = orders.synchronized(orders.get(order))
    if (known != null) known
    else {
      val plan = make(order)
      plan.warm()
      keep(order, plan)
      plan
    }
  }

  private def keep(order: String, plan: OrderedQuery): Unit = orders.synchronized {
    orders.put(order, plan)
    if (inUse == null) inUse = order
    val eldest = orders.keySet.iterator
    while (orders.size > capacity && eldest.hasNext) {
      val other = eldest.next()
      if (other != inUse && other != order) eldest.remove()
    }
  }

  private def make(order: String): OrderedQuery =
    if (!enabled) OrderedQuery(new UnpreparedRowPlan(session, analyzed, "spark.cqels.enabled=false"), Nil)
    else {
      val wanted = JoinOrders.readAll(order)
      val before = clusters.scanLeft(0)(_ + _.size)
      val plans = trees.zip(before).map { case (tree, first) => planned(tree, wanted.drop(first)) }
      OrderedQuery(plans.head, subqueries.all.zip(plans.tail))
    }

  private def planned(tree: LogicalPlan, wanted: Seq[Option[JoinOrder]]): RowPlan = {
    val ordered = LiveClusters.rewrite(tree, PreparedRows.mayBuild) { (number, cluster) =>
      wanted.lift(number).flatten.map { o =>
        if (!cluster.accepts(o)) throw new IllegalArgumentException(s"$o is no order of ${cluster.leaves.size} inputs")
        o
      }
    }
    val finished = session.withActive(PreparedRows.finish(ordered))
    new OrderedRowPlan(session, finished, finished, 1, 0L)
  }

  /** Runs the plan of an order and leaves the answers in a file: {"path", "rows", "ns", "place"}. */
  def run(order: String): String = {
    val started = System.nanoTime()
    val file = scratch.resolve(s"sql-answers-${PreparedRows.files.incrementAndGet()}")
    var done = false
    val rows =
      try { val n = answers.write(file)(execute(order, _)); done = true; n }
      finally if (!done) java.nio.file.Files.deleteIfExists(file)
    s"""{"path":${Json.quote(file.toString)},"rows":$rows,"ns":${System.nanoTime() - started},"place":${Json.quote(place)}}"""
  }

  /** Runs the plan of an order; the answers as a DataFrame that keeps them. */
  def frame(order: String): Dataset[Row] = {
    val attributes = schema.map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)())
    val unsafe = UnsafeProjection.create(attributes, attributes)
    val rows = mutable.ArrayBuffer[InternalRow]()
    execute(order, row => rows += unsafe(row).copy())
    Dataset.ofRows(session, LocalRelation(attributes, rows.toSeq))
  }

  private def execute(order: String, consume: InternalRow => Unit): Unit = {
    orders.synchronized { inUse = order }
    val query = planOf(order)
    used = query
    if (byOperators) tell(order)
    val jobs = query.plans.map(jobFor)
    place = jobs.zipWithIndex.collect {
      case (job, 0) => job.getOrElse("driver")
      case (Some(job), number) => s"$job for subquery $number"
    }.mkString("; ")
    session.withActive(clock.set())
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
      val slices = if (views.map(_.rowCount).sum <= PreparedRows.OneSlice && plan.refusal != null) 1 else parallelism
      plan.runAsJob(slices, consume)
    }

  /** Where the last run took place, and why there. */
  def lastPlace(): String = place

  /** The last run's operators, of the query and then of each subquery: [[depth, name, detail, rows, nanoseconds], ..], -1 where
   *  Spark does not count them.
   */
  def operators(): String = plansUsed.map(_.operators()
    .map(o => s"[${o.depth},${Json.quote(o.name)},${Json.quote(o.detail)},${o.rows},${o.nanos}]").mkString("[", ",", "]"))
    .mkString("[", ",", "]")

  def planTree(): String = plansUsed.zipWithIndex.map { case (plan, number) =>
    if (number == 0) plan.treeString else s"subquery $number:\n${plan.treeString}"
  }.mkString("\n")

  private def plansUsed: Seq[RowPlan] = if (used == null) Nil else used.plans

  def close(): Unit = { orders.synchronized(orders.clear()); answers.close() }
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
    without.setConfString(SQLConf.OPTIMIZER_EXCLUDED_RULES.key, (conf.optimizerExcludedRules.toSeq :+ MergeSubplans.ruleName).mkString(","))
    without
  }

  /** What reordered conditions need to be keys of hash joins; both rules leave what they made alone. */
  private[cqels] def finish(plan: LogicalPlan): LogicalPlan = NormalizeFloatingNumbers(RewriteCollationJoin(plan))
}
