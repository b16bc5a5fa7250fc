package org.apache.spark.sql.cqels
package kept

import org.apache.spark.SparkContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Expression, ExprId, UnsafeRow}
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, Partitioning}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.cqels.rows.StaticRowIndex
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.{IndexPart, PartitionedLookUp}
import org.apache.spark.storage.StorageLevel

/** The rows of a static side in parts, each indexed and held by one executor; a part that is lost is read again. */
private[cqels] final class KeptParts(val parts: RDD[IndexPart], override val rowCount: Long, override val memoryBytes: Long) extends KeptContent {
  override def release(): Unit = parts.unpersist()
}

private[kept] object KeptParts {
  /** A part may be larger than its share by this factor. */
  private final val Skew = 4

  /** Reads a plan into parts by join keys over its output; None if they take more than `most` bytes together. */
  def read(session: SparkSession, plan: LogicalPlan, keys: Seq[Expression], partitions: Int, most: Long): Option[KeptParts] =
    StaticPlans.execute(session, plan) { physical =>
      val shuffled = ShuffleExchangeExec(HashPartitioning(keys, partitions), physical).execute()
      val (fields, indexed) = (plan.output.size, PartitionedLookUp.indexKeys(BindReferences.bindReferences(keys, plan.output)))
      val share = most / partitions * Skew
      val parts = Jobs.mapPartitions(shuffled)(rows => Iterator.single(part(rows, fields, indexed, share))).persist(StorageLevel.MEMORY_ONLY)
      val sizes = parts.map(p => (p.rows, p.bytes, p.over)).collect()
      val bytes = sizes.map(_._2).sum
      if (bytes <= most && !sizes.exists(_._3)) Some(new KeptParts(parts, sizes.map(_._1).sum, bytes))
      else { parts.unpersist(); None }
    }

  private def part(rows: Iterator[InternalRow], fields: Int, keys: Seq[Expression], most: Long): IndexPart = {
    val pages = new RowPages(fields)
    while (rows.hasNext && pages.memoryBytes + KeptRows.IndexBytes * pages.rowCount <= most) pages.append(rows.next().asInstanceOf[UnsafeRow])
    val over = rows.hasNext
    val index = StaticRowIndex.build(if (over) new RowPages(fields) else pages, keys)
    new IndexPart(index, pages.rowCount, if (over) 0 else pages.memoryBytes + index.estimatedSize, over)
  }
}

/** Where the parts of a kept static side stand in a plan. */
case class KeptPartsExec(@transient side: KeptSide, output: Seq[Attribute], keys: Seq[Expression], partitions: Int) extends LeafExecNode {
  @transient private[kept] val content = if (side == null) null else side.rows.asInstanceOf[KeptParts]

  override def nodeName: String = "KeptStaticSide"
  override def outputPartitioning: Partitioning = HashPartitioning(keys, partitions)
  override protected def doCanonicalize(): SparkPlan = copy(output = output.zipWithIndex.map { case (a, at) => a.withExprId(ExprId(at)) })
  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a kept static side is probed, not scanned")
  override def simpleString(maxFields: Int): String =
    s"KeptStaticSide ${side.label} ${output.mkString("[", ", ", "]")}, in $partitions parts, ${side.describe}"
}

/** Joins a stream with a static side whose parts lie on executors. */
case class KeptPartsJoinExec(
    leftKeys: Seq[Expression], rightKeys: Seq[Expression], joinType: JoinType, buildSide: BuildSide, condition: Option[Expression],
    left: SparkPlan, right: SparkPlan, partitions: Int) extends PartitionedLookUp {
  override protected def parts: RDD[IndexPart] = buildPlan.collectFirst { case kept: KeptPartsExec => kept.content.parts }.get
  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): KeptPartsJoinExec = copy(left = newLeft, right = newRight)
}
