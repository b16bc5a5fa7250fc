package org.apache.spark.sql.cqels
package answers

import java.io.FileOutputStream
import java.nio.file.Path

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.spark.Arrow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types.StructType

/** Writes rows as an Arrow stream with the columns that Spark itself gives to `toArrow`; its buffers are kept from run to run. */
final class ArrowAnswers(schema: StructType, timeZone: String) extends AutoCloseable {
  private val allocator = Arrow.allocator("cqels-answers")
  private val root: VectorSchemaRoot =
    try VectorSchemaRoot.create(Arrow.schema(schema, timeZone), allocator)
    catch { case failure: Throwable => allocator.close(); throw failure }
  private val writer = ArrowWriter.create(root)

  /** Writes the rows that `give` hands out one by one; returns how many there were. */
  def write(file: Path)(give: (InternalRow => Unit) => Unit): Long = {
    var rows = 0L
    var held = 0
    val out = new FileOutputStream(file.toFile)
    try {
      val stream = new ArrowStreamWriter(root, null, out.getChannel)
      def flush(): Unit = { writer.finish(); stream.writeBatch(); writer.reset(); held = 0 }
      stream.start()
      writer.reset()
      give { row =>
        writer.write(row)
        rows += 1
        held += 1
        if (held == ArrowAnswers.BatchRows) flush()
      }
      if (held > 0) flush()
      stream.end()
      rows
    } finally {
      writer.reset()
      out.close()
    }
  }

  override def close(): Unit = { root.close(); allocator.close() }
}

private[cqels] object ArrowAnswers {
  final val BatchRows = 32768
}
