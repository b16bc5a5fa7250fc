package org.apache.spark.sql.cqels
package columns

import java.util.Arrays

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.ElementBlock
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.types.{IntegerType, StructType, TimestampNTZType, TimestampType}

/** The rows of one batch of a streaming DataFrame, as its tasks have read them; terms are in no dictionary yet. */
abstract class BatchRows {
  /** How many rows there are. */
  def rows: Int

  /** Their elements; `distinct`: as [[org.apache.spark.sql.cqels.ingest.ElementLines]] has it. */
  private[cqels] def elements(dictionary: Dictionary, distinct: Boolean): ElementBlock
}

/** Rows of columns of terms. */
private final class TermBatch(parts: Array[TermRows]) extends BatchRows {
  override def rows: Int = parts.map(_.rows).sum
  override private[cqels] def elements(dictionary: Dictionary, distinct: Boolean): ElementBlock =
    new TermElements(dictionary, distinct, numbered = false).read(parts)
}

object BatchRows {
  private[columns] def of(rows: TermRows): BatchRows = new TermBatch(Array(rows).filter(_.rows > 0))

  /** Has tasks read the columns subject, predicate, object, time and perhaps graph: text, and moments or milliseconds. */
  def read(batch: Dataset[Row], rdf12: Boolean, accepts: Boolean): BatchRows = {
    val schema = batch.schema
    val parts = Jobs.mapPartitions(batch.queryExecution.toRdd)(rows => Iterator.single(part(rows, schema, rdf12, accepts)))
    new TermBatch(parts.collect().filter(_.rows > 0))
  }

  private def part(rows: Iterator[InternalRow], schema: StructType, rdf12: Boolean, accepts: Boolean): TermRows = {
    val named = TermReader.Names.filter(schema.fieldNames.contains)
    val places = named.map(schema.fieldIndex)
    val texts = named.map(_ => new TextBuilder)
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
      texts.indices.foreach(role => texts(role).add(if (row.isNullAt(places(role))) null else row.getUTF8String(places(role)).getBytes))
      count += 1
    }
    val reader = new TermReader(rdf12, accepts)
    val terms = named.indices.map(role => ReadTerms.of(texts(role).column(named(role)).coded, role, reader)).toArray
    new TermRows(Arrays.copyOf(times, count), terms)
  }
}
