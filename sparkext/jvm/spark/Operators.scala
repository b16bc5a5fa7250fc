package org.apache.spark.sql.cqels
package spark

import org.apache.spark.QueryContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.{CollationKey, Expression}
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.SparkPlan

/** An operator whose result a hash join is handed as a broadcast. */
private[cqels] trait HandedOver extends SparkPlan {
  protected def handed: Broadcast[_]
  override protected[sql] def doExecuteBroadcast[T](): Broadcast[T] = handed.asInstanceOf[Broadcast[T]]
}

/** How Spark's own operators treat values. */
private[cqels] object Operators {
  /** A term as Spark's joins compare it, byte by byte: -0.0 is 0.0, one NaN is another, and texts are what their collation makes of them. */
  def comparable(term: Expression): Expression = {
    val collated = CollationKey.injectCollationKey(term)
    if (NormalizeFloatingNumbers.needNormalize(collated.dataType)) NormalizeFloatingNumbers.normalize(collated) else collated
  }

  /** What a scalar subquery of several rows ends with. */
  def severalRows(context: QueryContext): Throwable = QueryExecutionErrors.multipleRowScalarSubqueryError(context)
}
