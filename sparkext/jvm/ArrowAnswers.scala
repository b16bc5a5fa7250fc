package org.apache.spark.sql.cqels

import java.io.FileOutputStream
import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector.{FieldVector, VarCharVector, VectorSchemaRoot}
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.arrow.vector.ipc.message.ArrowFieldNode
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType}

/** Answers as an Arrow stream of N-Triples texts, one column a variable, null where unbound: the one place where ids become terms.
 *
 *  A whole column is decoded at once into one buffer. The file is how the columns reach Python without a copy: it is
 *  mapped there and removed at once.
 */
object ArrowAnswers {
  private lazy val allocator = new RootAllocator(Long.MaxValue)

  def write(rows: LongTable, names: Seq[String], dictionary: Dictionary, path: String): Unit = {
    val columns = names.indices.map(c => column(rows, c, names(c), dictionary))
    try {
      val root = new VectorSchemaRoot(columns.map(_.asInstanceOf[FieldVector]).asJava)
      root.setRowCount(rows.rowCount)
      val out = new FileOutputStream(path)
      try {
        val writer = new ArrowStreamWriter(root, null, out.getChannel)
        writer.start()
        writer.writeBatch()
        writer.end()
      } finally out.close()
    } finally columns.foreach(_.close())
  }

  private def column(rows: LongTable, c: Int, name: String, dictionary: Dictionary): VarCharVector = {
    val n = rows.rowCount
    val text = new TermColumn(dictionary, n)
    var nulls = 0
    val validity = new Array[Byte]((n + 7) / 8)
    var row = 0
    while (row < n) {
      val id = rows(row, c)
      if (id == 0L) nulls += 1
      else {
        validity(row >> 3) = (validity(row >> 3) | (1 << (row & 7))).toByte
        text.append(id)
      }
      text.endRow(row)
      row += 1
    }
    val vector = new VarCharVector(new Field(name, new FieldType(true, ArrowType.Utf8.INSTANCE, null), null), allocator)
    val data = allocator.buffer(math.max(1, text.sink.length))
    val offsets = allocator.buffer(4L * (n + 1))
    val valid = allocator.buffer(math.max(1, validity.length))
    data.setBytes(0, text.sink.array, 0, text.sink.length)
    data.writerIndex(text.sink.length)
    val ends = ByteBuffer.allocate(4 * (n + 1)).order(java.nio.ByteOrder.LITTLE_ENDIAN)
    ends.asIntBuffer().put(text.ends, 0, n + 1)
    offsets.setBytes(0, ends.array, 0, 4 * (n + 1))
    offsets.writerIndex(4L * (n + 1))
    valid.setBytes(0, validity, 0, validity.length)
    valid.writerIndex(validity.length)
    vector.loadFieldBuffers(new ArrowFieldNode(n, nulls), List(valid, offsets, data).asJava)
    Seq(data, offsets, valid).foreach(_.close()) // the vector holds its own references
    vector
  }
}

/** One column's texts. A term seen lately is copied from where it stands in the column, not looked up again. */
private final class TermColumn(dictionary: Dictionary, rows: Int) {
  val sink = new ByteSink(rows * 24)
  val ends = new Array[Int](rows + 1)
  private val seen = new Array[Long](TermColumn.CacheSize)
  private val from = new Array[Int](TermColumn.CacheSize)
  private val until = new Array[Int](TermColumn.CacheSize)

  def append(id: Long): Unit = {
    val slot = (LongTable.mix(0L, id) >>> 40).toInt & (TermColumn.CacheSize - 1)
    if (seen(slot) == id) sink.append(sink.array, from(slot), until(slot) - from(slot))
    else {
      val start = sink.length
      dictionary.appendText(id, sink)
      seen(slot) = id
      from(slot) = start
      until(slot) = sink.length
    }
  }

  def endRow(row: Int): Unit = ends(row + 1) = sink.length
}

private object TermColumn {
  val CacheSize = 8192
}
