package org.apache.spark.sql.cqels
package leaves

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, BroadcastPartitioning, Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.cqels.rows.RowContent
import org.apache.spark.sql.cqels.spark.{BroadcastIds, HandedOver, InProcessBroadcast}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The logical leaf that stands for rows of ours of any types: a live view, or a static part computed once. */
case class RowRelationLeaf(@transient content: RowContent, output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {
  override def newInstance(): RowRelationLeaf = copy(output = output.map(_.newInstance()))
  // Never "empty": Spark would plan the relation away, and content changes under the plan.
  override def computeStats(): Statistics = {
    val rows = math.max(1L, content.rowCount)
    Statistics(sizeInBytes = EstimationUtils.getSizePerRow(output) * rows, rowCount = Some(rows))
  }
  override def simpleString(maxFields: Int): String = s"RowRelation ${content.name} ${output.mkString("[", ", ", "]")}"
}

object RowRelationLeaf {
  def of(content: RowContent): RowRelationLeaf =
    RowRelationLeaf(content, content.schema.map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)()))

  /** Whether a plan reads anything live, in its subqueries too, even where these run before it; the clock is live. */
  def isLive(plan: LogicalPlan): Boolean = plan.exists {
    case r: RowRelationLeaf => r.content.live
    case r: IdRelationLeaf => r.content.live
    case node => node.subqueries.exists(isLive) || node.expressions.exists(LiveValue.isIn)
  }
}

/** Plans [[RowRelationLeaf]]; everything else stays with Spark's own strategies. */
object RowRelationStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case leaf: RowRelationLeaf => RowScanExec(leaf.content, leaf.output, slices = 1, forTasks = true) :: Nil
    case _ => Nil
  }
}

/** A physical leaf over rows of ours. */
private[cqels] trait RowLeafExec extends LeafExecNode {
  def content: RowContent
}

/** Reads the rows: in one slice on the driver; as a job in several, each task being given its rows (`forTasks`).
 *
 *  `version` tells one bind from the next, as in [[RelationScanExec]].
 */
case class RowScanExec(@transient content: RowContent, output: Seq[Attribute], slices: Int, forTasks: Boolean, version: Long = 0)
    extends RowLeafExec with ShippedAtBind {
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def outputPartitioning: Partitioning = if (slices == 1) SinglePartition else UnknownPartitioning(slices)

  override protected def doExecute(): RDD[InternalRow] = {
    val source: Broadcast[_ <: RowSource] =
      if (forTasks && !sparkContext.isLocal) shipped(content.live, sparkContext.broadcast(new ShippedRows(content.copies())))
      else new InProcessBroadcast[RowSource](BroadcastIds.take(), () => new HeldRowSource(content))
    new RowScanRDD(sparkContext, source, slices, longMetric("numOutputRows"))
  }

  override def simpleString(maxFields: Int): String = s"RowScan ${content.name} ${output.mkString("[", ", ", "]")}"
}

/** Where a scan's partitions find their rows. */
private[cqels] sealed trait RowSource extends Serializable {
  def scan(slice: Int, slices: Int): Iterator[InternalRow]
}

private final class HeldRowSource(@transient content: RowContent) extends RowSource {
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = content.scan(slice, slices)
}

private final class ShippedRows(rows: Array[UnsafeRow]) extends RowSource {
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] =
    rows.iterator.slice((rows.length.toLong * slice / slices).toInt, (rows.length.toLong * (slice + 1) / slices).toInt)
}

private final case class RowSlice(index: Int) extends Partition

private final class RowScanRDD(sc: SparkContext, source: Broadcast[_ <: RowSource], slices: Int, rows: SQLMetric)
    extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array.tabulate(slices)(RowSlice(_))

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val it = source.value.scan(split.index, slices)
    new Iterator[InternalRow] {
      override def hasNext: Boolean = it.hasNext
      override def next(): InternalRow = { rows.add(1); it.next() }
    }
  }
}

/** The build side of a hash join that is already there: whole rows by key, handed over without an exchange. */
case class IndexedRowsExec(
    @transient content: RowContent, key: Seq[Expression], output: Seq[Attribute], mode: BroadcastMode, version: Long = 0)
    extends RowLeafExec with HandedOver {
  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  @transient protected lazy val handed: Broadcast[IdRelation] =
    new InProcessBroadcast[IdRelation](BroadcastIds.take(), () => content.index(key))

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("an index is probed, not scanned")

  override def simpleString(maxFields: Int): String =
    s"IndexedRows ${content.name} ${output.mkString("[", ", ", "]")} key ${key.mkString("(", ", ", ")")}"
}
