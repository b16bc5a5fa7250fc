package org.apache.spark.sql.cqels
package columns

import java.io.ByteArrayInputStream
import java.nio.ByteOrder.LITTLE_ENDIAN

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector._
import org.apache.arrow.vector.ipc.ArrowStreamReader
import org.apache.arrow.vector.types.FloatingPointPrecision.SINGLE
import org.apache.arrow.vector.types.TimeUnit
import org.apache.arrow.vector.types.pojo.ArrowType

import org.apache.spark.sql.cqels.ingest.Handover
import org.apache.spark.sql.cqels.spark.Arrow

/** Reads the columns of an Arrow IPC stream with one batch of rows at most; of dictionaries those without deltas.
 *
 *  Types are those that `sparkext.bridge.arrow_blocks` leaves: text with offsets of 32 bits, numbers, booleans, decimals of 128
 *  bits, timestamps, days; and dictionaries of them whose codes are whole numbers.
 */
private[cqels] object ArrowColumns {
  def read(handover: Handover, length: Int): RowColumns = read(handover.read(length), length)

  def read(stream: Array[Byte], length: Int): RowColumns = {
    val memory = Arrow.allocator("columns")
    try {
      val reader = new ArrowStreamReader(new ByteArrayInputStream(stream, 0, length), memory)
      try {
        val root = reader.getVectorSchemaRoot
        val rows = if (reader.loadNextBatch()) root.getRowCount else 0
        new RowColumns(rows, root.getFieldVectors.asScala.map { vector =>
          val name = vector.getField.getName
          val encoding = vector.getField.getDictionary
          if (rows == 0) new TextColumn(name, 0, Nulls.none, Array.emptyByteArray, new Array[Int](1))
          else if (encoding == null) column(name, vector, rows)
          else coded(name, vector, rows, reader.lookup(encoding.getId).getVector)
        }.toArray)
      } finally reader.close()
    } finally memory.close()
  }

  private def coded(name: String, codes: FieldVector, rows: Int, values: FieldVector): CodedColumn = {
    val distinct = column(name, values, values.getValueCount)
    val numbers = longs(codes, rows)
    val nulls = nullsOf(codes, rows)
    val found = new Array[Int](rows)
    var i = 0
    while (i < rows) {
      // A dictionary may have null among its values.
      found(i) = if (nulls.at(i) || distinct.isNull(numbers(i).toInt)) -1 else numbers(i).toInt
      i += 1
    }
    new CodedColumn(name, found, distinct)
  }

  private def column(name: String, vector: FieldVector, rows: Int): RowColumn = {
    val nulls = nullsOf(vector, rows)
    vector.getField.getType match {
      case _: ArrowType.Utf8 =>
        val offsets = new Array[Int](rows + 1)
        if (rows > 0) vector.getOffsetBuffer.nioBuffer(0, 4 * (rows + 1)).order(LITTLE_ENDIAN).asIntBuffer.get(offsets)
        new TextColumn(name, rows, nulls, bytesOf(vector.getDataBuffer, offsets(rows)), offsets)
      case _: ArrowType.Int => new LongColumn(name, rows, nulls, longs(vector, rows))
      case kind: ArrowType.FloatingPoint =>
        val values = vector match {
          case single: Float4Vector => Array.tabulate(rows)(row => if (nulls.at(row)) 0.0 else single.get(row).toDouble)
          case double: Float8Vector => Array.tabulate(rows)(row => if (nulls.at(row)) 0.0 else double.get(row))
          case _ => refuse(name, kind)
        }
        new DoubleColumn(name, rows, nulls, values, kind.getPrecision == SINGLE)
      case _: ArrowType.Bool => new BooleanColumn(name, rows, nulls, new Nulls(bytesOf(vector.getDataBuffer, (rows + 7) / 8), false))
      case kind: ArrowType.Timestamp =>
        val perSecond = kind.getUnit match {
          case TimeUnit.SECOND => 1L
          case TimeUnit.MILLISECOND => 1000L
          case TimeUnit.MICROSECOND => 1000000L
          case TimeUnit.NANOSECOND => 1000000000L
        }
        new TimestampColumn(name, rows, nulls, raw(vector, rows), perSecond, kind.getTimezone)
      case kind: ArrowType.Date => vector match {
        case days: DateDayVector => new DateColumn(name, rows, nulls, Array.tabulate(rows)(row => if (nulls.at(row)) 0 else days.get(row)))
        case _ => refuse(name, kind)
      }
      case kind: ArrowType.Decimal => vector match {
        case decimals: DecimalVector =>
          new DecimalColumn(name, rows, nulls, Array.tabulate(rows)(row => if (nulls.at(row)) null else decimals.getObject(row)))
        case _ => refuse(name, kind)
      }
      case other => refuse(name, other)
    }
  }

  private def refuse(name: String, kind: ArrowType): Nothing = throw new IllegalArgumentException(s"column $name: no values of type $kind can be read")

  private def longs(vector: FieldVector, rows: Int): Array[Long] = vector match {
    case wide: BigIntVector => raw(wide, rows)
    case numbers: BaseIntVector => Array.tabulate(rows)(row => if (vector.isNull(row)) 0L else numbers.getValueAsLong(row))
    case other => refuse(other.getField.getName, other.getField.getType)
  }

  private def raw(vector: FieldVector, rows: Int): Array[Long] = {
    val values = new Array[Long](rows)
    vector.getDataBuffer.nioBuffer(0, 8 * rows).order(LITTLE_ENDIAN).asLongBuffer.get(values)
    values
  }

  private def nullsOf(vector: FieldVector, rows: Int): Nulls =
    if (vector.getNullCount == 0) Nulls.none else new Nulls(bytesOf(vector.getValidityBuffer, (rows + 7) / 8), true)

  private def bytesOf(buffer: ArrowBuf, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    if (length > 0) buffer.getBytes(0, bytes)
    bytes
  }
}
