package org.apache.spark.sql.cqels
package clusters

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.cqels.join.{JoinItem, JoinOrderData, JoinRunner, JoinedRelation}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{RelationContent, StageContent}
import org.apache.spark.sql.cqels.rows.{FixedRelations, LiveRelation, RowContent, RowKeys}
import org.apache.spark.sql.cqels.runs.{DriverRows, RunLimit}
import org.apache.spark.sql.cqels.spark.{BroadcastIds, DriverTask, InProcessBroadcast}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.LongType

/** An input of a join of rows: rows of ours, or (`child` >= 0) those of a plan that runs before the join; and what it is joined by. */
final class RowInput(@transient val content: RowContent, val child: Int, val keys: RowKeys)

/** What a join of rows joins, without its expressions: variables are the classes of equal keys, then the number of each input's rows. */
final class RowJoinShape(
    val inputs: Array[RowInput], val relations: Array[JoinedRelation], val items: Array[ItemShape], val variables: Array[Attribute],
    val fields: Array[RowField]) {
  val rowVariables: Array[Int] = relations.map(_.variables.last)
  /** The variables that must be told for columns to be read. */
  def output(read: Seq[Expression], columns: Seq[Attribute]): Array[Int] = {
    val relations = read.flatMap(_.references).map(a => fields(columns.indexWhere(_.exprId == a.exprId)).relation)
    relations.distinct.sorted.map(rowVariables(_)).toArray
  }
}

/** An inner join of any number of inputs whose order is data. `items` and `results` refer to `columns`, those of all inputs; `results`
 *  are the values of the output.
 */
case class RowJoin(
    shape: RowJoinShape, items: Seq[Expression], results: Seq[Expression], columns: Seq[Attribute], output: Seq[Attribute],
    order: ClusterOrder, rows: Long, children: Seq[LogicalPlan]) extends LogicalPlan {
  override def producedAttributes: AttributeSet = AttributeSet(columns ++ output)
  override def stats: Statistics =
    Statistics(sizeInBytes = EstimationUtils.getSizePerRow(output) * math.max(1L, rows), rowCount = Some(math.max(1L, rows)))
  override def maxRows: Option[Long] = None
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[LogicalPlan]): RowJoin = copy(children = newChildren)
  override def simpleString(maxFields: Int): String = s"RowJoin ${shape.relations.map(_.name).mkString(", ")}"

  /** The same join with no more than these columns. */
  def pruned(wanted: AttributeSet): RowJoin = {
    val kept = output.zip(results).filter(o => wanted.contains(o._1))
    if (kept.size == output.size) this else copy(output = kept.map(_._1), results = kept.map(_._2))
  }
}

object RowJoinStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case j: RowJoin =>
      RowJoinExec(j.shape, j.items, j.results, j.columns, j.output, j.order, slices = 1, forTasks = true, threads = 1, leastNanos = 0L,
        children = j.children.map(planLater)) :: Nil
    case _ => Nil
  }
}

/** Runs the join: on the driver in one partition, on its threads; as a job of this process in several slices of the driving relation.
 *  Where tasks run in other processes, which hold no rows of ours, the driver's threads join and tasks are sent what comes out.
 */
case class RowJoinExec(
    @transient shape: RowJoinShape, items: Seq[Expression], results: Seq[Expression], columns: Seq[Attribute], output: Seq[Attribute],
    @transient order: ClusterOrder, slices: Int, forTasks: Boolean, threads: Int, leastNanos: Long, version: Long = 0,
    children: Seq[SparkPlan]) extends SparkPlan {
  override def producedAttributes: AttributeSet = AttributeSet(columns ++ output)
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))
  override def outputPartitioning: Partitioning = if (slices == 1) SinglePartition else UnknownPartitioning(slices)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): RowJoinExec = copy(children = newChildren)
  override def simpleString(maxFields: Int): String = s"RowJoin ${shape.relations.map(_.name).mkString(", ")} ${output.mkString("[", ", ", "]")}"

  /** Whether what it joins may be other rows in the next run. */
  def readsLive: Boolean = shape.inputs.exists(i => i.child < 0 && i.content.live)

  /** About how many rows are read one by one: those of the smallest input, from which a join begins. */
  def rowsRead: Long = { val own = shape.inputs.filter(_.child < 0); if (own.isEmpty) 0L else own.map(_.content.rowCount).min }

  @transient private lazy val held: Array[FixedRelations.OfRun] =
    shape.inputs.zip(shape.relations).map { case (i, r) => if (i.child < 0) null else new FixedRelations.OfRun(r.name, i.keys) }
  @transient private lazy val spec = new RowJoinSpec(shape.relations,
    shape.items.zip(items).map { case (i, e) => new JoinItem(i.name, i.reads, i.binds, e, i.expensive) }, shape.variables,
    shape.output(results, columns), shape.fields, columns, shape.rowVariables,
    shape.inputs.zip(held).map { case (i, h) => if (h == null) i.content.numbers else h.numbers })
  @transient private lazy val runner = new JoinRunner(spec, threads, leastNanos)
  @transient private lazy val childRows: Seq[RDD[InternalRow]] = children.map(_.execute())
  @transient private lazy val unsafe: Seq[UnsafeProjection] = children.map(c => UnsafeProjection.create(c.output, c.output))
  @transient private var answersBefore = Long.MaxValue

  /** Compiles expressions and makes the indexes that the join will probably read. */
  def warm(): Unit = {
    childRows
    val known = shape.inputs.map(i => if (i.child < 0) i.content.relation(i.keys) else new StageContent("derived", i.keys.keys.length + 1))
    runner.warm(known, order.data)
    project
  }

  // For the thread that reads what is joined on the driver.
  @transient private lazy val project: UnsafeProjection = projection()
  private def projection(): UnsafeProjection = { val made = UnsafeProjection.create(results, columns); made.initialize(0); made }

  /** What its inputs are now; plans among them run. */
  private def contents(run: Int => (InternalRow => Unit) => Unit): Array[RelationContent] =
    shape.inputs.zip(held).map {
      case (i, null) => i.content.relation(i.keys) match { case live: LiveRelation => live.sync(); case fixed => fixed }
      case (i, h) => h.fill(run(i.child), unsafe(i.child)(_))
    }

  override protected def doExecute(): RDD[InternalRow] =
    if (!forTasks) new HereRDD(sparkContext, () => rowsHere())
    else {
      val now = contents(child => consume => children(child).executeCollect().foreach(consume))
      if (!sparkContext.isLocal) return sent(now)
      val isEmpty = now.exists(_.rowCount == 0)
      val path = if (isEmpty) Nil else runner.pathFor(now, order.data)
      val reports = new StepReports // tasks of this process write to it themselves
      val told = order.data
      order.runsAsJob(() => if (isEmpty) JobRun(null, Nil, 0L) else JobRun.of(runner, path, reports, Seq(null), told))
      val job = new RowJoinJob(spec, now, order.data.copy(driver = if (isEmpty) 0 else runner.lastDriver), () => projection(), reports)
      new RowJoinRDD(sparkContext, new InProcessBroadcast[RowJoinJob](BroadcastIds.take(), () => job), slices, longMetric("numOutputRows"))
    }

  private def sent(now: Array[RelationContent]): RDD[InternalRow] = {
    order.runsHere(runner)
    val joined = DriverTask.run(0, DriverTask.localProperties()) { context =>
      runner.all(now, order.data, Array.range(0, spec.output.length), () => RunLimit.of(context))
    }
    order.takeChange() // each job chooses by itself, from nothing
    val rows = RowJoinRDD.rows(Iterator.single(joined), spec, project, longMetric("numOutputRows")).map(_.copy()).toArray
    sparkContext.parallelize(rows.toIndexedSeq, slices)
  }

  private def rowsHere(): Iterator[InternalRow] = {
    val now = contents(child => consume => DriverRows.foreachRow(childRows(child))(consume))
    order.runsHere(runner)
    val select = Array.range(0, spec.output.length)
    val counted = longMetric("numOutputRows")
    // All at once where they were few: threads may share them then.
    if (threads > 1 && answersBefore <= RowJoinExec.MostHeld) {
      val all = runner.all(now, order.data, select, () => RunLimit.of(TaskContext.get()))
      answersBefore = all.rowCount
      RowJoinRDD.rows(Iterator.single(all), spec, project, counted)
    } else {
      answersBefore = 0
      val pieces = runner.iterator(now, order.data, select, 0, 1, RunLimit.of(TaskContext.get()))
      RowJoinRDD.rows(pieces.map { piece => answersBefore += piece.rowCount; piece }, spec, project, counted)
    }
  }
}

private[cqels] object RowJoinExec {
  final val MostHeld = 1L << 20
}

/** What the tasks of a job in this process join. */
private final class RowJoinJob(
    val spec: RowJoinSpec, val contents: Array[RelationContent], val order: JoinOrderData, val projection: () => UnsafeProjection,
    val reports: StepReports)

/** The join in the tasks of a job, each with its part of the driving relation. */
private final class RowJoinRDD(sc: SparkContext, job: Broadcast[RowJoinJob], slices: Int, counted: SQLMetric) extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array.tabulate(slices)(JoinSlice(_))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val here = job.value
    val runner = new JoinRunner(here.spec, 1, 0L)
    StepReports.atEnd(context, here.reports)(TaskReport(0, split.index, -1L, 0L, runner.report, math.max(0L, runner.busy)))
    val pieces = runner.iterator(here.contents, here.order, Array.range(0, here.spec.output.length), split.index, slices, RunLimit.of(context))
    RowJoinRDD.rows(pieces, here.spec, here.projection(), counted)
  }
}

private object RowJoinRDD {
  /** Rows put together from the numbers of those that were joined; the row object is re-used. */
  def rows(pieces: Iterator[LongTable], spec: RowJoinSpec, project: UnsafeProjection, counted: SQLMetric): Iterator[InternalRow] = {
    val answers = spec.answers
    pieces.flatMap { table =>
      counted.add(table.rowCount.toLong)
      new Iterator[InternalRow] {
        private var at = 0
        override def hasNext: Boolean = at < table.rowCount
        override def next(): InternalRow = { answers.show(table, at); at += 1; project(answers) }
      }
    }
  }
}

private[cqels] object JoinVariables {
  def named(name: String): Attribute = AttributeReference(name, LongType, nullable = false)()
}
