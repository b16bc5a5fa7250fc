package org.apache.spark.sql.cqels
package leaves

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, BroadcastPartitioning, Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.cqels.indexes.MappedContent
import org.apache.spark.sql.cqels.memory.{LongArrayIO, TableScan}
import org.apache.spark.sql.cqels.relations.{RelationContent, StaticContent}
import org.apache.spark.sql.cqels.runs.{OwnSerialization, RunLimit}
import org.apache.spark.sql.cqels.spark.{BroadcastIds, HandedOver, InProcessBroadcast}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.LongType

/** The logical leaf that stands for a relation of ours, live or static, in any Spark plan.
 *
 *  With `built`, a join that has it on its build side builds what its filters leave, rather than look it up in an index.
 */
case class IdRelationLeaf(@transient content: RelationContent, output: Seq[Attribute], estimatedRows: Long, built: Boolean = false)
    extends LeafNode with MultiInstanceRelation {
  override def newInstance(): IdRelationLeaf = copy(output = output.map(_.newInstance()))
  // Never "empty": Spark would plan the relation away, and content changes under the plan.
  override def computeStats(): Statistics =
    Statistics(sizeInBytes = math.max(1L, estimatedRows) * 8 * (output.size + 1), rowCount = Some(math.max(1L, estimatedRows)))
  override def simpleString(maxFields: Int): String = s"IdRelation ${content.name} ${output.mkString("[", ", ", "]")}"
}

object IdRelationLeaf {
  def named(content: RelationContent, columns: Seq[String], estimatedRows: Long): IdRelationLeaf =
    IdRelationLeaf(content, columns.map(AttributeReference(_, LongType, nullable = false)()), estimatedRows)
}

/** Plans [[IdRelationLeaf]]; everything else stays with Spark's own strategies. */
object IdRelationStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case leaf: IdRelationLeaf => RelationScanExec(leaf.content, leaf.output, slices = 1, forTasks = true, built = leaf.built) :: Nil
    case _ => Nil
  }
}

/** Reads a relation: in one slice on the driver; as a job in several, each task being given its rows (`forTasks`).
 *
 *  `part` is set on the driver where several threads read the relation. `version` tells one bind from the next: Catalyst keeps the old node where a new one is equal to it. The content stays
 *  behind when Spark serialises an operator of the plan into a task.
 */
case class RelationScanExec(
    @transient content: RelationContent, output: Seq[Attribute], slices: Int, forTasks: Boolean, version: Long = 0,
    @transient part: ScanPart = null, built: Boolean = false)
    extends LeafExecNode with ShippedAtBind {
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def outputPartitioning: Partitioning = if (slices == 1) SinglePartition else UnknownPartitioning(slices)

  override protected def doExecute(): RDD[InternalRow] = {
    val source: Broadcast[_ <: ScanSource] =
      if (forTasks && !sparkContext.isLocal) shipped(content.live, sparkContext.broadcast(ShippedTable.of(content.snapshot())))
      else new InProcessBroadcast[ScanSource](BroadcastIds.take(), () => new HeldContent(content, part))
    new RelationScanRDD(sparkContext, source, slices, longMetric("numOutputRows"))
  }

  override def simpleString(maxFields: Int): String =
    s"RelationScan ${content.name} ${output.mkString("[", ", ", "]")}"
}

/** A leaf that may send content to executors, which is worth nothing after the run it was bound for. */
private[cqels] trait ShippedAtBind {
  @transient private var sent: List[Broadcast[_]] = Nil

  /** Notes what was sent of live content; what was sent of static content serves later binds too. */
  protected def shipped[T](live: Boolean, broadcast: Broadcast[T]): Broadcast[T] = {
    if (live) sent = broadcast :: (if (sent == null) Nil else sent)
    broadcast
  }

  def release(): Unit = if (sent != null) { sent.foreach(_.destroy()); sent = Nil }
}

/** Where a scan's partitions find their rows. */
private[cqels] sealed trait ScanSource {
  def scan(slice: Int, slices: Int): Iterator[InternalRow]
}

private final class HeldContent(content: RelationContent, part: ScanPart) extends ScanSource {
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] =
    if (part == null) content.scan(slice, slices) else part.rows(content)
}

/** A table sent to executors once a process, in primitive arrays. */
private[cqels] final class ShippedTable(
    private var arity: Int, private var rows: Int, private var cells: Array[Long], private var counts: Array[Int])
    extends ScanSource with java.io.Externalizable {
  def this() = this(0, 0, null, null)

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = TableScan.slice(arity, rows, cells, counts, slice, slices)

  override def writeExternal(out: java.io.ObjectOutput): Unit = {
    out.writeInt(arity)
    out.writeInt(rows)
    LongArrayIO.write(out, cells, rows * arity)
    out.writeObject(counts)
  }

  override def readExternal(in: java.io.ObjectInput): Unit = {
    arity = in.readInt()
    rows = in.readInt()
    cells = LongArrayIO.read(in)
    counts = in.readObject().asInstanceOf[Array[Int]]
  }
}

private[cqels] object ShippedTable {
  def of(content: StaticContent): ScanSource = content match {
    case inFiles: MappedContent => new MappedScan(inFiles)
    case held => new ShippedTable(held.arity, held.table.rowCount, held.table.data, held.counts)
  }
}

/** Rows in files, of which tasks are told where they lie. */
private final class MappedScan(private var content: MappedContent) extends ScanSource with OwnSerialization {
  def this() = this(null)
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = content.scan(slice, slices)
  override def writeExternal(out: java.io.ObjectOutput): Unit = out.writeObject(content)
  override def readExternal(in: java.io.ObjectInput): Unit = content = in.readObject().asInstanceOf[MappedContent]
}

private[cqels] final case class ScanSlice(index: Int) extends Partition

private final class RelationScanRDD(
    sc: SparkContext, source: Broadcast[_ <: ScanSource], slices: Int, rows: SQLMetric) extends RDD[InternalRow](sc, Nil) {

  override protected def getPartitions: Array[Partition] = Array.tabulate(slices)(ScanSlice(_))

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val it = source.value.scan(split.index, slices)
    val limit = RunLimit.of(context)
    new Iterator[InternalRow] {
      override def hasNext: Boolean = it.hasNext
      override def next(): InternalRow = { if (limit != null) limit.check(RunLimit.RowsScanned); rows.add(1); it.next() }
    }
  }
}

/** The build side of a hash join that is already there: an index of a relation, handed over without an exchange. */
case class IndexedRelationExec(
    @transient content: RelationContent, columns: Seq[Int], keys: Seq[Int], output: Seq[Attribute], mode: BroadcastMode,
    forTasks: Boolean, version: Long = 0) extends LeafExecNode with ShippedAtBind with HandedOver {
  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  @transient protected lazy val handed: Broadcast[IdRelation] =
    if (forTasks && !sparkContext.isLocal)
      shipped(content.live, IndexShipping.broadcast(sparkContext, content, columns.toArray, keys.toArray))
    else new InProcessBroadcast[IdRelation](BroadcastIds.take(),
      () => if (Preparing.here) content.indexType(columns.toArray, keys.toArray) else content.index(columns.toArray, keys.toArray))

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("an index is probed, not scanned")

  override def simpleString(maxFields: Int): String =
    s"IndexedRelation ${content.name} ${output.mkString("[", ", ", "]")} key ${keys.map(output(_).name).mkString("(", ", ", ")")}"
}

/** Whether this thread makes a plan ready and executes none: live relations may be moving under another thread then. */
private[cqels] object Preparing {
  private val threads = new ThreadLocal[Boolean] { override def initialValue(): Boolean = false }
  def here: Boolean = threads.get

  def apply[T](body: => T): T = {
    val before = threads.get
    threads.set(true)
    try body finally threads.set(before)
  }
}

/** Sends indexes to executors: static ones once a session, windows' as they are now. */
private[cqels] object IndexShipping {
  // An index does not refer to its content, so an entry goes when the content does.
  private val static = new java.util.WeakHashMap[StaticContent, java.util.Map[String, Broadcast[IdRelation]]]()

  def broadcast(sc: SparkContext, content: RelationContent, columns: Array[Int], keys: Array[Int]): Broadcast[IdRelation] =
    content match {
      case fixed: StaticContent => static.synchronized {
        static.computeIfAbsent(fixed, _ => new java.util.HashMap())
          .computeIfAbsent(s"${sc.applicationId}|${columns.mkString(",")}|${keys.mkString(",")}", _ => send(sc, fixed, columns, keys))
      }
      case moving => send(sc, moving.snapshot(), columns, keys)
    }

  /** How many indexes of a static relation were sent so far. */
  def sentOf(content: StaticContent): Int = static.synchronized { val sent = static.get(content); if (sent == null) 0 else sent.size }

  private def send(sc: SparkContext, content: StaticContent, columns: Array[Int], keys: Array[Int]): Broadcast[IdRelation] =
    sc.broadcast[IdRelation](content.index(columns, keys))
}
