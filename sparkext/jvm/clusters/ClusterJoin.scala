package org.apache.spark.sql.cqels
package clusters

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics, SupportsNonDeterministicExpression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.cqels.join.{JoinItem, JoinRunner, JoinSpec, JoinedRelation}
import org.apache.spark.sql.cqels.leaves.ShippedAtBind
import org.apache.spark.sql.cqels.memory.{IdRow, IdRows, LongTable}
import org.apache.spark.sql.cqels.relations.{RelationContent, StageContent, StaticContent}
import org.apache.spark.sql.cqels.runs.{DriverRows, RunLimit}
import org.apache.spark.sql.cqels.spark.DriverTask
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** A join cluster without its expressions: `relations` in columns of numbered variables, what items read and give, and the output;
 *  executors of a cluster are sent no relation of more than `mostSent` rows as a whole.
 */
final class JoinShape(val names: Array[String], val relations: Array[JoinedRelation], val items: Array[ItemShape], val output: Array[Int],
    val mostSent: Long = Long.MaxValue) extends Serializable
final case class ItemShape(name: String, reads: Long, binds: Int, expensive: Boolean)

/** Where a relation of a cluster has its rows: a relation of ours, or (`child` >= 0) a plan that is computed before each evaluation. */
final class ClusterSource(@transient val content: RelationContent, val child: Int) extends Serializable {
  def isLive: Boolean = child < 0 && content.live
}

/** An inner join of any number of relations of ids, with filters and BINDs, whose order is data.
 *
 *  `variables` are the attributes that `conditions` refer to, `output` shows some of them. `sources` are relations of ours, or
 *  children.
 */
case class ClusterJoin(
    shape: JoinShape, sources: Seq[ClusterSource], conditions: Seq[Expression], variables: Seq[Attribute], output: Seq[Attribute],
    order: ClusterOrder, estimatedRows: Long, children: Seq[LogicalPlan])
    extends LogicalPlan with MultiInstanceRelation with SupportsNonDeterministicExpression {
  override def producedAttributes: AttributeSet = AttributeSet(variables ++ output)
  // All of what children give is read, by its place: Spark would prune what no expression names.
  @transient override lazy val references: AttributeSet = AttributeSet(children.flatMap(_.output))
  override def allowNonDeterministicExpression: Boolean = true
  override def newInstance(): ClusterJoin = copy(output = output.map(_.newInstance()))
  override def stats: Statistics =
    Statistics(sizeInBytes = math.max(1L, estimatedRows) * 8 * (output.size + 1), rowCount = Some(math.max(1L, estimatedRows)))
  override def maxRows: Option[Long] = None
  /** Whether some relation of ours may hold other rows in the next evaluation. */
  def readsLive: Boolean = sources.exists(_.isLive)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[LogicalPlan]): ClusterJoin = copy(children = newChildren)
  override def simpleString(maxFields: Int): String = s"ClusterJoin ${shape.relations.map(_.name).mkString(", ")}"
}

object ClusterJoinStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case c: ClusterJoin =>
      ClusterJoinExec(c.shape, c.sources, c.conditions, c.variables, c.output, c.order, slices = 1, forTasks = true, threads = 1, leastNanos = 0L,
        children = c.children.map(planLater)) :: Nil
    case _ => Nil
  }
}

/** Runs the join: on the driver in one partition, on its threads; as a job in several slices of the driving relation. */
case class ClusterJoinExec(
    @transient shape: JoinShape, @transient sources: Seq[ClusterSource], conditions: Seq[Expression], variables: Seq[Attribute],
    output: Seq[Attribute], @transient order: ClusterOrder, slices: Int, forTasks: Boolean, threads: Int, leastNanos: Long, version: Long = 0,
    children: Seq[SparkPlan]) extends SparkPlan with ShippedAtBind {
  override def producedAttributes: AttributeSet = AttributeSet(variables ++ output)
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))
  override def outputPartitioning: Partitioning = if (slices == 1) SinglePartition else UnknownPartitioning(slices)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): ClusterJoinExec = copy(children = newChildren)

  /** Whether what it joins may be other rows in the next evaluation. */
  def readsLive: Boolean = sources.exists(_.isLive)

  @transient private lazy val spec = new JoinSpec(shape.names, shape.relations,
    shape.items.zip(conditions).map { case (i, e) => new JoinItem(i.name, i.reads, i.binds, e, i.expensive) }, variables.toArray, shape.output)
  @transient private lazy val runner = {
    val made = new JoinRunner(spec, threads, leastNanos)
    order.runsHere(made)
    made
  }
  @transient private lazy val childRows: Seq[RDD[InternalRow]] = children.map(_.execute())
  private def everything: Array[Int] = Array.range(0, output.size)

  /** Compiles expressions and makes the indexes that the join will probably read. */
  def warm(): Unit = {
    childRows
    runner.warm(sources.map(s => if (s.child < 0) s.content else new StageContent("derived", children(s.child).output.size)).toArray[RelationContent], order.data)
  }

  /** What its relations hold now: plans among them are run first. */
  private def contentsHere(): Array[RelationContent] = sources.map { s =>
    if (s.child < 0) s.content
    else {
      val rows = new LongTable(children(s.child).output.size, 64)
      val width = rows.arity
      DriverRows.foreachRow(childRows(s.child))(IdRows.appendBound(rows, width, _))
      StaticContent("derived", rows, null, lasting = false)
    }
  }.toArray

  /** All answers on the driver, of each the output columns `select`. */
  def runIds(select: Array[Int]): LongTable = {
    val contents = contentsHere()
    order.runsHere(runner)
    val rows = DriverTask.run(0, DriverTask.localProperties()) { context =>
      runner.all(contents, order.data, select, () => RunLimit.of(context))
    }
    longMetric("numOutputRows").add(rows.rowCount.toLong)
    rows
  }

  /** The same as rows, in which unbound variables are null; each is there until the next one is asked for. */
  def runRows(select: Array[Int]): Iterator[InternalRow] =
    JoinRows.of(Iterator.single(runIds(select)), select.toSeq.map(output(_)))

  override protected def doExecute(): RDD[InternalRow] =
    if (!forTasks) new HereRDD(sparkContext, () => rowsHere()) else {
      val contents = sources.map { s =>
        if (s.child < 0) s.content
        else {
          val rows = new LongTable(children(s.child).output.size, 64)
          children(s.child).executeCollect().foreach(IdRows.appendBound(rows, rows.arity, _))
          StaticContent("derived", rows, null, lasting = false)
        }
      }.toArray[RelationContent]
      job = new JoinJob(sparkContext, spec, contents, order.data, order.chooser(new JoinRunner(spec, 1, 0L)), slices, shape.mostSent)
      val started = job
      order.runsAsJob(() => started.ended())
      val (tables, sent) = job.tables()
      sent.foreach(shipped(true, _))
      val counted = longMetric("numOutputRows")
      val shown = output
      val rows = tables.mapPartitions(JoinRows.of(_, shown, counted))
      // Above, one partition may be what makes an exchange needless.
      if (slices == 1 && job.partitions > 1) rows.coalesce(1) else rows
    }

  @transient private var job: JoinJob = _

  /** Takes in what the job did that has just run. */
  private[cqels] def ranAsJob(): Unit = if (job != null) order.ranAsJob(longMetric("numOutputRows").value)

  private def rowsHere(): Iterator[InternalRow] = {
    val contents = contentsHere()
    order.runsHere(runner)
    val counted = longMetric("numOutputRows")
    val tables = runner.iterator(contents, order.data, everything, 0, 1, RunLimit.of(TaskContext.get()))
    JoinRows.of(tables, output, counted)
  }

  override def simpleString(maxFields: Int): String = s"ClusterJoin ${shape.relations.map(_.name).mkString(", ")}"
}

/** One partition of rows that are made where the driver asks for them. */
private[cqels] final class HereRDD(sc: SparkContext, rows: () => Iterator[InternalRow]) extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array(JoinSlice(0))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = rows()
}

private[cqels] final case class JoinSlice(index: Int) extends Partition

private[clusters] object JoinRows {
  def of(tables: Iterator[LongTable], output: Seq[Attribute], counted: SQLMetric): Iterator[InternalRow] =
    of(tables.map { table => counted.add(table.rowCount.toLong); table }, output)

  def of(tables: Iterator[LongTable], output: Seq[Attribute]): Iterator[InternalRow] = {
    val width = output.size
    val cells = new IdRow(width)
    val nullable = output.map(_.nullable).toArray
    tables.flatMap { table =>
      new Iterator[InternalRow] {
        private var at = 0
        override def hasNext: Boolean = at < table.rowCount
        override def next(): InternalRow = {
          var c = 0
          while (c < width) {
            val id = table(at, c)
            if (nullable(c) && id == 0L) cells.row.setNullAt(c)
            else { if (nullable(c)) cells.row.setNotNullAt(c); cells.set(c, id) }
            c += 1
          }
          at += 1
          cells.row
        }
      }
    }
  }
}
