package org.apache.spark.sql.cqels
package spark

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

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
