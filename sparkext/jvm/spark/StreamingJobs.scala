package org.apache.spark.sql.cqels
package spark

import java.util.UUID

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, MicroBatchExecution, StreamExecution}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/** What Spark tells of its streaming jobs, and is told. */
private[cqels] object StreamingJobs {
  /** The query whose micro-batch this thread plans or runs, its run, and the number of the batch. */
  def current(sc: SparkContext): Option[(UUID, UUID, Long)] = for {
    query <- Option(sc.getLocalProperty(StreamExecution.QUERY_ID_KEY))
    batch <- Option(sc.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY))
    id = UUID.fromString(query)
    // The jobs of a run are a group of that name, unless a function of the user's has named them otherwise.
    run = Option(sc.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID)).flatMap(group => Try(UUID.fromString(group)).toOption)
  } yield (id, run.getOrElse(id), batch.toLong)

  def isRunning(session: SparkSession, query: UUID): Boolean = session.sharedState.activeStreamingQueries.containsKey(query)

  /** Tells the listeners of the application, which its event log is one of. */
  def post(sc: SparkContext, event: SparkListenerEvent): Unit = sc.listenerBus.post(event)

  /** Runs jobs under a description that the pages of the application show. */
  def described[T](sc: SparkContext, text: String)(body: => T): T = {
    val before = sc.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION)
    sc.setJobDescription(text)
    try body finally sc.setJobDescription(before)
  }

  /** Spark's own relation of rows by key, and its size in bytes. */
  def relation(mode: HashedRelationBroadcastMode, rows: Iterator[InternalRow], count: Long): (AnyRef, Long) = {
    val made = mode.transform(rows, Some(count))
    (made, made.estimatedSize)
  }

  def size(bytes: Long): String = Utils.bytesToString(bytes)
}

/** A key of the session's configuration that Spark knows: `SET` refuses what cannot be right. */
private[cqels] final class SessionKey(name: String, meaning: String, default: String, wanted: String, isRight: String => Boolean) {
  private val entry =
    SQLConf.buildConf(name).doc(meaning).version("0.1.0").stringConf.checkValue(isRight, s"must be $wanted").createWithDefault(default)

  def of(session: SparkSession): String = session.sessionState.conf.getConf(entry).trim
}

/** An exchange whose broadcast is there already. */
private[cqels] trait MadeExchange extends BroadcastExchangeLike {
  protected def made: Broadcast[Any]
  override protected[sql] def doExecuteBroadcast[T](): Broadcast[T] = made.asInstanceOf[Broadcast[T]]
}

/** Tells of each micro-batch that has ended the run of its query and its plan, with the metrics of all operators. */
private[cqels] final class FinishedBatches(tell: (UUID, SparkPlan) => Unit) extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd => end.qe match {
      case batch: IncrementalExecution if end.executionFailure.isEmpty => tell(batch.runId, batch.executedPlan)
      case _ =>
    }
    case _ =>
  }
}

private[cqels] object FinishedBatches {
  def listen(sc: SparkContext)(tell: (UUID, SparkPlan) => Unit): Unit = sc.addSparkListener(new FinishedBatches(tell))
}
