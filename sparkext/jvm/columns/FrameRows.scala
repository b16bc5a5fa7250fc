package org.apache.spark.sql.cqels
package columns

import java.math.{BigDecimal => JBigDecimal}
import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** Rows of a DataFrame as columns, so many at a time, within the task that reads them.
 *
 *  Types are those that `sparkext.runtime.static_frames` lets through: texts, numbers, booleans, timestamps with and without a zone,
 *  days.
 */
private[cqels] final class FrameRows(rows: Iterator[InternalRow], schema: StructType) extends Iterator[RowColumns] {
  override def hasNext: Boolean = rows.hasNext

  override def next(): RowColumns = {
    val builders = schema.fields.zipWithIndex.map { case (field, place) => FrameRows.builder(field, place) }
    var count = 0
    // Spark hands out one row object again and again: each is read before the next is asked for.
    while (count < FrameRows.Most && rows.hasNext) {
      val row = rows.next()
      var i = 0
      while (i < builders.length) { builders(i).add(row); i += 1 }
      count += 1
    }
    new RowColumns(count, builders.map(_.column))
  }
}

private[cqels] object FrameRows {
  final val Most = 1 << 14

  private abstract class Builder(place: Int) {
    private var missing = new Array[Byte](64)
    protected var rows = 0

    def add(row: InternalRow): Unit = {
      if (rows / 8 == missing.length) missing = Arrays.copyOf(missing, missing.length * 2)
      if (row.isNullAt(place)) { missing(rows >> 3) = (missing(rows >> 3) | (1 << (rows & 7))).toByte; skip() } else take(row)
      rows += 1
    }

    protected def nulls: Nulls = new Nulls(missing, false)
    protected def take(row: InternalRow): Unit
    protected def skip(): Unit
    def column: RowColumn
  }

  private abstract class Longs(place: Int) extends Builder(place) {
    protected var values = new Array[Long](512)
    protected def value(row: InternalRow): Long
    protected def take(row: InternalRow): Unit = put(value(row))
    protected def skip(): Unit = put(0L)
    private def put(value: Long): Unit = {
      if (rows == values.length) values = Arrays.copyOf(values, rows * 2)
      values(rows) = value
    }
    protected def taken: Array[Long] = Arrays.copyOf(values, rows)
  }

  private final class Wholes(name: String, place: Int, read: InternalRow => Long) extends Longs(place) {
    protected def value(row: InternalRow): Long = read(row)
    def column: RowColumn = new LongColumn(name, rows, nulls, taken)
  }

  private final class Days(name: String, place: Int) extends Longs(place) {
    protected def value(row: InternalRow): Long = row.getInt(place).toLong
    def column: RowColumn = new DateColumn(name, rows, nulls, taken.map(_.toInt))
  }

  private final class Moments(name: String, place: Int, zone: String) extends Longs(place) {
    protected def value(row: InternalRow): Long = row.getLong(place)
    def column: RowColumn = new TimestampColumn(name, rows, nulls, taken, 1000000L, zone)
  }

  private final class Truths(name: String, place: Int) extends Longs(place) {
    protected def value(row: InternalRow): Long = if (row.getBoolean(place)) 1L else 0L
    def column: RowColumn = {
      val bits = new Array[Byte](rows / 8 + 1)
      for (row <- 0 until rows if values(row) == 1L) bits(row >> 3) = (bits(row >> 3) | (1 << (row & 7))).toByte
      new BooleanColumn(name, rows, nulls, new Nulls(bits, false))
    }
  }

  private final class Numbers(name: String, place: Int, single: Boolean) extends Longs(place) {
    protected def value(row: InternalRow): Long =
      java.lang.Double.doubleToRawLongBits(if (single) row.getFloat(place).toDouble else row.getDouble(place))
    def column: RowColumn = new DoubleColumn(name, rows, nulls, taken.map(java.lang.Double.longBitsToDouble), single)
  }

  private final class Decimals(name: String, place: Int, kind: DecimalType) extends Builder(place) {
    private val values = Array.newBuilder[JBigDecimal]
    protected def take(row: InternalRow): Unit = values += row.getDecimal(place, kind.precision, kind.scale).toJavaBigDecimal
    protected def skip(): Unit = values += null
    def column: RowColumn = new DecimalColumn(name, rows, nulls, values.result())
  }

  private final class Texts(name: String, place: Int) extends Builder(place) {
    private val texts = new TextBuilder
    protected def take(row: InternalRow): Unit = texts.add(row.getUTF8String(place).getBytes)
    protected def skip(): Unit = texts.add(null)
    def column: RowColumn = texts.column(name)
  }

  private def builder(field: StructField, place: Int): Builder = field.dataType match {
    case StringType => new Texts(field.name, place)
    case ByteType => new Wholes(field.name, place, _.getByte(place).toLong)
    case ShortType => new Wholes(field.name, place, _.getShort(place).toLong)
    case IntegerType => new Wholes(field.name, place, _.getInt(place).toLong)
    case LongType => new Wholes(field.name, place, _.getLong(place))
    case FloatType => new Numbers(field.name, place, single = true)
    case DoubleType => new Numbers(field.name, place, single = false)
    case BooleanType => new Truths(field.name, place)
    case kind: DecimalType => new Decimals(field.name, place, kind)
    case DateType => new Days(field.name, place)
    case TimestampType => new Moments(field.name, place, "UTC")
    case TimestampNTZType => new Moments(field.name, place, null)
    case other => throw new IllegalArgumentException(s"column ${field.name}: no values of type ${other.simpleString} can be read")
  }
}
