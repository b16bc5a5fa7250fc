package org.apache.spark.sql.cqels
package spark

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types.StructType

/** DataFrames over plans and rows of ours, and rows of Spark's plans. */
private[cqels] object Frames {
  def of(session: SparkSession, plan: LogicalPlan): Dataset[Row] = Dataset.ofRows(session, plan)

  def ofRows(session: SparkSession, rows: RDD[InternalRow], schema: StructType): Dataset[Row] =
    session.internalCreateDataFrame(rows, schema, false)

  /** All rows of a plan, here as Spark packs them, unpacked one by one. */
  def collected(plan: SparkPlan): Iterator[InternalRow] = plan.executeCollectIterator()._2
}
