package org.apache.spark.sql.cqels
package columns

import java.util.Arrays

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.types.{IntegerType, StructType, TimestampNTZType, TimestampType}

/** The rows of one batch of a streaming DataFrame, as its tasks have read them; terms are in no dictionary yet. */
final class BatchRows private (private[cqels] val parts: Array[TermRows])

object BatchRows {
  /** Has tasks read the columns subject, predicate, object, time and perhaps graph: text, and moments or milliseconds. */
  def read(batch: Dataset[Row], rdf12: Boolean, accepts: Boolean): BatchRows = {
    val schema = batch.schema
    val parts = Jobs.mapPartitions(batch.queryExecution.toRdd)(rows => Iterator.single(part(rows, schema, rdf12, accepts)))
    new BatchRows(parts.collect().filter(_.rows > 0))
  }

  private def part(rows: Iterator[InternalRow], schema: StructType, rdf12: Boolean, accepts: Boolean): TermRows = {
    val named = TermReader.Names.filter(schema.fieldNames.contains)
    val texts = named.map(name => new TextBuilder(schema.fieldIndex(name)))
    val place = schema.fieldIndex("time")
    val isInt = schema(place).dataType == IntegerType
    val isMoment = Seq(TimestampType, TimestampNTZType).contains(schema(place).dataType)
    var times = new Array[Long](64)
    var count = 0
    rows.foreach { row =>
      if (count == times.length) times = Arrays.copyOf(times, count * 2)
      val time =
        if (row.isNullAt(place)) TermRows.NoTime
        else if (isInt) row.getInt(place).toLong
        else if (isMoment) Math.floorDiv(row.getLong(place), 1000L)
        else row.getLong(place)
      times(count) = if (time == TermRows.NoTime) time else TermRows.inRange(time)
      texts.foreach(_.add(row))
      count += 1
    }
    val reader = new TermReader(rdf12, accepts)
    val terms = named.indices.map(role => ReadTerms.of(texts(role).column(named(role)).coded, role, reader)).toArray
    new TermRows(Arrays.copyOf(times, count), terms)
  }

  /** A column of texts in the making. */
  private final class TextBuilder(place: Int) {
    private val bytes = new ByteSink(1024)
    private var offsets = new Array[Int](65)
    private var missing = new Array[Byte](8)
    private var rows = 0

    def add(row: InternalRow): Unit = {
      if (rows + 1 == offsets.length) offsets = Arrays.copyOf(offsets, rows * 2 + 1)
      if (rows / 8 == missing.length) missing = Arrays.copyOf(missing, missing.length * 2)
      if (row.isNullAt(place)) missing(rows >> 3) = (missing(rows >> 3) | (1 << (rows & 7))).toByte
      else bytes.append(row.getUTF8String(place).getBytes)
      rows += 1
      offsets(rows) = bytes.length
    }

    def column(name: String): TextColumn = new TextColumn(name, rows, new Nulls(missing, false), bytes.array, offsets)
  }
}
