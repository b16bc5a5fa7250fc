package org.apache.spark.sql.cqels
package join

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.{Broadcast, InProcessBroadcast}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics, SupportsNonDeterministicExpression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The order of a cluster, which may be another one in each evaluation, and what the last evaluation did. */
final class ClusterOrder(spec: JoinShape) {
  @volatile private[cqels] var data: JoinOrderData = JoinOrderData.free(spec.items.length)
  @volatile private[cqels] var runner: JoinRunner = _

  /** Joins relations one after the other, as they are numbered ("2,0,1"); "" leaves the order to the join itself. */
  def pin(sequence: String): Unit = {
    val places = Numbers.list(sequence).map(_.toInt)
    data = data.copy(sequence = if (places.isEmpty) null else places)
  }

  // Where it begins whatever else is asked for, with what has arrived; -1: with any.
  @volatile private var own = -1

  /** Has the join go the way of an order that it took before, as `report` and its changes tell it: where it begins, then steps. */
  def follow(order: java.util.List[String]): Unit = {
    val names = order.toArray(new Array[String](0))
    val begin = spec.relations.indexWhere(_.name == names.head)
    if (begin < 0) throw new IllegalArgumentException(s"no relation of this join is called ${names.head}")
    if (own >= 0 && begin != own)
      throw new IllegalArgumentException(s"this join is evaluated by delta and begins with ${spec.relations(own).name}")
    data = data.copy(driver = begin, sequence = null, steps = names.tail)
  }

  /** Leaves the order to the join itself. */
  def free(): Unit = data = data.copy(driver = own, sequence = null, steps = null)

  /** Has the join always begin with a relation. */
  def drive(relation: Int): Unit = { own = relation; data = data.copy(driver = relation) }

  /** Has filters and BINDs wait until these relations are joined, bits of a long for each: "0,5". */
  def holdBack(relations: String): Unit = data = data.copy(after = Numbers.list(relations))

  /** Nanoseconds that deciding took in the last evaluation. */
  private[cqels] def decisionNanos: Long = { val ran = runner; if (ran == null) 0L else ran.decisionNanos }

  /** Nanoseconds that joining took in the last evaluation, over all threads. */
  private[cqels] def busyNanos: Long = { val ran = runner; if (jobRows >= 0) jobNanos else if (ran == null) 0L else math.max(0L, ran.busy) }

  /** Rows of the largest step of the last evaluation, or of its result, -1 before there was one; of a job, those of the result. */
  private[cqels] def largestStep: Long = {
    val ran = runner
    if (jobRows >= 0) jobRows else if (ran == null) -1L else math.max(ran.answered, ran.largest)
  }

  // Of the last evaluation, if it was a job.
  @volatile private var jobRows = -1L
  @volatile private var jobNanos = 0L

  /** Notes a run as a job, which gave so many rows. */
  private[cqels] def ranAsJob(rows: Long, nanos: Long): Unit = { jobRows = rows; jobNanos = nanos }
  private[join] def runsHere(here: JoinRunner): Unit = { jobRows = -1L; runner = here }

  /** How the order changed in the last evaluation, null where it did not; told once. */
  private[cqels] def takeChange(): OrderChange = { val ran = runner; if (ran == null) null else ran.history.takeChange() }

  /** The relation that the last evaluation began with, -1 before there was one, and what was done then, as JSON:
   *  {"driver":, "order": [names], "decision_ns":, "rivals": [[relation, nanoseconds]],
   *  "steps": [[name, rows in, rows out, values read, nanoseconds, rows out as expected]]}.
   */
  def report: String = {
    val ran = runner
    if (ran == null) """{"driver":-1,"order":[],"decision_ns":0,"rivals":[],"steps":[]}"""
    else {
      val steps = ran.report.map(s => s"[${Json.quote(s.name)},${s.rowsIn},${s.rowsOut},${s.reads},${s.nanos},${s.expectedOut}]")
      val rivals = ran.rivals.map { case (r, cost) => s"[$r,$cost]" }
      s"""{"driver":${ran.lastDriver},"order":${ran.history.now.map(Json.quote).mkString("[", ",", "]")},"decision_ns":${ran.decisionNanos},""" +
        s""""rivals":${rivals.mkString("[", ",", "]")},"steps":${steps.mkString("[", ",", "]")}}"""
    }
  }
}

private[cqels] object ClusterOrder {
  /** The orders that are new since the last evaluation, as JSON: [[cluster, before, after, costs of both, cause], ..]. */
  def changes(clusters: Seq[ClusterOrder]): String = clusters.zipWithIndex.flatMap { case (cluster, number) =>
    Option(cluster).flatMap(c => Option(c.takeChange())).map { o =>
      def names(order: Seq[String]) = order.map(Json.quote).mkString("[", ",", "]")
      s"[$number,${names(o.before)},${names(o.after)},${o.costBefore},${o.costAfter},${Json.quote(o.cause)}]"
    }
  }.mkString("[", ",", "]")
}

/** A join cluster without its expressions: `relations` in columns of numbered variables, what items read and give, and the output. */
final class JoinShape(val names: Array[String], val relations: Array[JoinedRelation], val items: Array[ItemShape], val output: Array[Int]) extends Serializable
final case class ItemShape(name: String, reads: Long, binds: Int, expensive: Boolean)

/** Where a relation of a cluster has its rows: a relation of ours, or (`child` >= 0) a plan that is computed before each evaluation. */
final class ClusterSource(@transient val content: RelationContent, val child: Int) extends Serializable

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
  def readsLive: Boolean = sources.exists(s => s.child < 0 && s.content.live)

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
      DriverExecution.foreachRow(childRows(s.child))(PreparedPlan.append(rows, width, _))
      new StaticContent("derived", rows, null, lasting = false)
    }
  }.toArray

  /** All answers on the driver, of each the output columns `select`. */
  def runIds(select: Array[Int]): LongTable = {
    val contents = contentsHere()
    order.runsHere(runner)
    val rows = org.apache.spark.DriverTask.run(0, org.apache.spark.DriverTask.localProperties()) { context =>
      runner.all(contents, order.data, select, () => RunLimit.of(context))
    }
    longMetric("numOutputRows").add(rows.rowCount.toLong)
    rows
  }

  override protected def doExecute(): RDD[InternalRow] =
    if (!forTasks) new HereRDD(sparkContext, () => rowsHere()) else {
      val contents = sources.map { s =>
        if (s.child < 0) s.content
        else {
          val rows = new LongTable(children(s.child).output.size, 64)
          children(s.child).executeCollect().foreach(PreparedPlan.append(rows, rows.arity, _))
          new StaticContent("derived", rows, null, lasting = false)
        }
      }.toArray[RelationContent]
      val (broadcasts, sent) = ShippedContent.broadcast(sparkContext, contents)
      sent.foreach(shipped(true, _))
      val begin = if (contents.exists(_.rowCount == 0)) 0 else {
        val main = new JoinRunner(spec, 1, 0L)
        main.driverFor(contents, order.data)
      }
      new JoinRDD(sparkContext, spec, broadcasts, order.data.copy(driver = begin), slices, longMetric("numOutputRows"))
    }

  private def rowsHere(): Iterator[InternalRow] = {
    val contents = contentsHere()
    order.runsHere(runner)
    val counted = longMetric("numOutputRows")
    val tables = runner.iterator(contents, order.data, everything, 0, 1, RunLimit.of(TaskContext.get()))
    JoinRDD.rowsOf(tables, output, counted)
  }

  override def simpleString(maxFields: Int): String = s"ClusterJoin ${shape.relations.map(_.name).mkString(", ")}"
}

/** One partition of rows that are made where the driver asks for them. */
private[cqels] final class HereRDD(sc: SparkContext, rows: () => Iterator[InternalRow]) extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array(JoinSlice(0))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = rows()
}

private[cqels] final case class JoinSlice(index: Int) extends Partition

/** The join in the tasks of a job, each with its part of the driving relation. */
private final class JoinRDD(
    sc: SparkContext, spec: JoinSpec, contents: Array[Broadcast[ShippedContent]], order: JoinOrderData, slices: Int, counted: SQLMetric)
    extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array.tabulate(slices)(JoinSlice(_))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val here = contents.map(_.value.content)
    val runner = new JoinRunner(spec, 1, 0L)
    val tables = runner.iterator(here, order, Array.range(0, spec.output.length), split.index, slices, RunLimit.of(context))
    JoinRDD.rowsOf(tables, spec.output.map(spec.shape(_)).toSeq, counted)
  }
}

private object JoinRDD {
  def rowsOf(tables: Iterator[LongTable], output: Seq[Attribute], counted: SQLMetric): Iterator[InternalRow] = {
    val width = output.size
    val cells = new IdRow(width)
    val nullable = output.map(_.nullable).toArray
    tables.flatMap { table =>
      counted.add(table.rowCount.toLong)
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

/** The rows of one relation for the tasks of a job: in this process as they are, elsewhere as primitive arrays, once a process. */
private[join] final class ShippedContent(@transient private var held: RelationContent) extends java.io.Externalizable {
  def this() = this(null)
  def content: RelationContent = held

  override def writeExternal(out: java.io.ObjectOutput): Unit = {
    val now = held.snapshot()
    out.writeObject(now.name)
    out.writeInt(now.arity)
    out.writeInt(now.table.rowCount)
    LongArrayIO.write(out, now.table.data, now.table.rowCount * now.arity)
    out.writeObject(now.counts)
    out.writeBoolean(now.isLasting)
  }

  override def readExternal(in: java.io.ObjectInput): Unit = {
    val name = in.readObject().asInstanceOf[String]
    val arity = in.readInt()
    val count = in.readInt()
    val rows = LongTable.of(arity, LongArrayIO.read(in))
    while (rows.rowCount < count) rows.appendRow() // of no columns: there are no cells that tell how many
    held = new StaticContent(name, rows, in.readObject().asInstanceOf[Array[Int]], in.readBoolean())
  }
}

private[join] object ShippedContent {
  private val static = new java.util.WeakHashMap[StaticContent, Broadcast[ShippedContent]]()

  /** Contents as broadcasts, and those of them that serve one run only. */
  def broadcast(sc: SparkContext, contents: Array[RelationContent]): (Array[Broadcast[ShippedContent]], Seq[Broadcast[ShippedContent]]) = {
    val once = Seq.newBuilder[Broadcast[ShippedContent]]
    val all = contents.map { content =>
      if (sc.isLocal) new InProcessBroadcast[ShippedContent](BroadcastIds.take(), () => new ShippedContent(content))
      else content match {
        case lasting: StaticContent if lasting.isLasting => static.synchronized(static.computeIfAbsent(lasting, c =>
          // Not the content itself: what the broadcast refers to stays as long as there is an entry.
          sc.broadcast(new ShippedContent(new StaticContent(c.name, c.table, c.counts, lasting = true)))))
        case other => val sent = sc.broadcast(new ShippedContent(other)); once += sent; sent
      }
    }
    (all.toArray, once.result())
  }
}
