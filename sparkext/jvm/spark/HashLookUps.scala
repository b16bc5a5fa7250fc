package org.apache.spark.sql.execution.joins

import org.apache.spark.SparkContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, StatefulOpClusteredDistribution, UnspecifiedDistribution}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.util.KnownSizeEstimation

/** A hash relation that Spark's own hash join probes, over ids only.
 *
 *  `HashedRelation` is sealed, so this extends the long-keyed one and replaces everything in it. Generated code
 *  names the concrete class, calls `asReadOnlyCopy()` once a task and consumes each `get` before the next one:
 *  that is why a copy may reuse its row and its iterator.
 */
abstract class IdRelation extends LongHashedRelation(0, null) {
  /** Positions of the key among the row's columns. */
  def keyColumns: Array[Int]
  /** The rows with this key, or null when there are none. */
  protected def matches(key: InternalRow): Iterator[InternalRow]

  override def getValue(key: Long): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  override def get(key: InternalRow): Iterator[InternalRow] = {
    var i = 0
    while (i < keyColumns.length) { if (key.isNullAt(i)) return null; i += 1 }
    matches(key)
  }
  override def getValue(key: InternalRow): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  // Uniqueness is baked into generated code, and content changes under it.
  override def keyIsUnique: Boolean = false
  override def close(): Unit = ()
  // Not abstract: Scala would see the one that it replaces.
  override def asReadOnlyCopy(): IdRelation = throw new UnsupportedOperationException(getClass.getName)
}

object IdRelation {
  /** The rows by key of a hash relation that a plan was given, ours or Spark's own. */
  def lookUp(relation: Any): InternalRow => Iterator[InternalRow] = {
    val own = relation.asInstanceOf[HashedRelation].asReadOnlyCopy()
    key => own.get(key)
  }
}

/** One part of an index whose parts lie on executors: the rows of the keys that Spark's hash partitioning sends there.
 *
 *  `over` says that the part was given up because it had grown too large.
 */
final class IndexPart(val index: IdRelation, val rows: Long, val bytes: Long, val over: Boolean) extends KnownSizeEstimation {
  override def estimatedSize: Long = bytes
}

/** A hash join in which the rows of a stream go to the part of an index that can have others for them. */
abstract class PartitionedLookUp extends HashJoin {
  def partitions: Int
  protected def parts: RDD[IndexPart]

  override lazy val metrics: Map[String, SQLMetric] = Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))
  override def supportCodegen: Boolean = false
  override protected def prepareRelation(ctx: CodegenContext): HashedRelationInfo = throw new UnsupportedOperationException(nodeName)
  override def inputRDDs(): Seq[RDD[InternalRow]] = throw new UnsupportedOperationException(nodeName)

  // The partitioning by exactly these keys: another one that has equal keys together would send them elsewhere.
  override def requiredChildDistribution: Seq[Distribution] = {
    val stream = StatefulOpClusteredDistribution(if (buildSide == BuildRight) leftKeys else rightKeys, partitions)
    if (buildSide == BuildRight) Seq(stream, UnspecifiedDistribution) else Seq(UnspecifiedDistribution, stream)
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val joined = longMetric("numOutputRows")
    streamedPlan.execute().zipPartitions(parts) { (rows, part) => join(rows, part.next().index.asReadOnlyCopy(), joined) }
  }
}

object PartitionedLookUp {
  /** Memory for kept blocks on all executors, in bytes. */
  def storageMemory(sc: SparkContext): Long =
    sc.env.blockManager.master.getMemoryStatus.iterator.filterNot(_._1.isDriver).map(_._2._1).sum

  /** The keys as the index of a hash join has them. */
  def indexKeys(bound: Seq[Expression]): Seq[Expression] = HashJoin.rewriteKeyExpr(bound)
}
