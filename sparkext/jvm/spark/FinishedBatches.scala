package org.apache.spark.sql.cqels
package spark

import java.util.UUID

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

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
