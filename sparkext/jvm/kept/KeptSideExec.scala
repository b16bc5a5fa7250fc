package org.apache.spark.sql.cqels
package kept

import scala.concurrent.Future

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastPartitioning, Partitioning}
import org.apache.spark.sql.cqels.spark.{HandedOver, MadeExchange}
import org.apache.spark.sql.execution.{LeafExecNode, SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The build side of a hash join, read and indexed by an earlier batch or query. */
case class KeptStaticSideExec(@transient side: KeptSide, output: Seq[Attribute], mode: HashedRelationBroadcastMode)
    extends LeafExecNode with HandedOver {
  override lazy val metrics: Map[String, SQLMetric] = Map(
    "rows" -> SQLMetrics.createMetric(sparkContext, "rows kept"),
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "uses" -> SQLMetrics.createMetric(sparkContext, "uses"))

  override def nodeName: String = "KeptStaticSide"
  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  // The plan holds the rows, not what they are found by: another query may make room meanwhile.
  @transient private val rows = if (side == null) null else side.rows.asInstanceOf[KeptRows]
  @transient protected lazy val handed: Broadcast[_] = {
    val made = rows.broadcast(mode)
    metrics("rows").set(side.rowCount)
    metrics("dataSize").set(side.memoryBytes)
    metrics("uses").set(side.uses.get)
    SQLMetrics.postDriverMetricUpdates(sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics.values.toSeq)
    made
  }

  override protected def doCanonicalize(): SparkPlan =
    copy(output = output.zipWithIndex.map { case (a, at) => a.withExprId(ExprId(at)) }, mode = mode.canonicalized)

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a kept static side is probed, not scanned")

  override def simpleString(maxFields: Int): String = s"KeptStaticSide ${side.label} ${output.mkString("[", ", ", "]")}, ${side.describe}"
  override def verboseStringWithOperatorId(): String =
    s"""
       |$formattedNodeName
       |Output: ${output.mkString("[", ", ", "]")}
       |Key: ${mode.key.mkString("[", ", ", "]")}
       |Side: ${side.label}, ${side.describe}
       |""".stripMargin
}

/** A kept static side as Spark's real-time mode takes it: what an exchange has broadcast already. */
case class KeptExchangeExec(child: SparkPlan) extends MadeExchange {
  override def nodeName: String = "KeptExchange"
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override lazy val metrics: Map[String, SQLMetric] = child.metrics

  @transient protected lazy val made: Broadcast[Any] = child.executeBroadcast[Any]()

  override def relationFuture: java.util.concurrent.Future[Broadcast[Any]] = java.util.concurrent.CompletableFuture.completedFuture(made)
  override def completionFuture: Future[Broadcast[Any]] = Future.successful(made)
  override def runtimeStatistics: Statistics = Statistics(BigInt(metrics("dataSize").value), Some(BigInt(metrics("rows").value)))

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a kept static side is probed, not scanned")
  override protected def withNewChildInternal(changed: SparkPlan): KeptExchangeExec = copy(child = changed)
}
