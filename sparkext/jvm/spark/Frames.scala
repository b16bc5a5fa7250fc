package org.apache.spark.sql.cqels
package spark

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** DataFrames over plans and rows of ours, and rows of Spark's plans. */
private[cqels] object Frames {
  def of(session: SparkSession, plan: LogicalPlan): Dataset[Row] = Dataset.ofRows(session, plan)

  def ofRows(session: SparkSession, rows: RDD[InternalRow], schema: StructType): Dataset[Row] =
    session.internalCreateDataFrame(rows, schema, false)

  /** All rows of a plan, here as Spark packs them, unpacked one by one. */
  def collected(plan: SparkPlan): Iterator[InternalRow] = plan.executeCollectIterator()._2
}

/** Spark's way with Arrow: its memory, its column types, its reader. */
private[cqels] object Arrow {
  def allocator(name: String): BufferAllocator = ArrowUtils.rootAllocator.newChildAllocator(name, 0, Long.MaxValue)

  def schema(of: StructType, timeZone: String): Schema = ArrowSchemas.of(of, timeZone)

  /** Has `take` read the rows of an IPC stream, whose memory is given back after it. */
  def read[T](stream: Array[Byte])(take: Iterator[InternalRow] => T): T = {
    val (rows, _) = ArrowConverters.fromIPCStream(stream)
    try take(rows) finally rows.close()
  }
}

/** A row whose columns are those of other rows. */
private[cqels] trait ShownColumns extends SpecializedGetters {
  /** The row that has a column, as it is now. */
  protected def shownRow(field: Int): UnsafeRow
  /** The how manieth it is there. */
  protected def shownPlace(field: Int): Int
}
