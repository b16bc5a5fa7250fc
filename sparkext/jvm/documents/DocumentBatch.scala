package org.apache.spark.sql.cqels
package documents

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.cqels.columns.{BatchRows, EnteredTerms, TermReader}
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{ElementBlock, ElementLines}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.types.{StringType, StructType}

/** The documents of one batch of a streaming DataFrame, as its tasks have read them. */
final class DocumentBatch private (parts: Array[DocumentRows]) extends BatchRows {
  /** How many elements there are. */
  override def rows: Int = parts.map(_.size).sum

  override private[cqels] def elements(dictionary: Dictionary, distinct: Boolean): ElementBlock = {
    val block = new ElementBlock(dictionary)
    val terms = new EnteredTerms(dictionary, parts.map(_.terms))
    val repeated = new LongTable(4)
    for (p <- parts.indices) {
      val part = parts(p)
      var row = 0
      var element = 0
      while (element < part.size) {
        block.beginElement(part.times(element))
        terms.beginElement()
        val end = row + part.statements(element)
        while (row < end) {
          val s = terms.hold(p, TermReader.Subject, row)
          val o = terms.hold(p, TermReader.Object, row)
          val g = if (part.terms(TermReader.Graph).codes(row) < 0) 0L else terms.hold(p, TermReader.Graph, row)
          block.add(s, terms.hold(p, TermReader.Predicate, row), o, g)
          row += 1
        }
        if (distinct) ElementLines.takeRepeated(block, repeated)
        element += 1
      }
      block.flaws.addRows(part.flawCount, part.flaws)
    }
    terms.settle(repeated)
    block
  }
}

object DocumentBatch {
  /** Has tasks read the column `value`, text or bytes, and where there is a column `noted`, which of them have notes.
   *
   *  `timeProperties`: IRIs in angle brackets, divided by line breaks. With `refusesTrig`, it ends at a document that looks
   *  like TriG, and nothing (null) is read.
   */
  def read(batch: Dataset[Row], timeProperties: String, refusesTrig: Boolean, rdf12: Boolean, accepts: Boolean): DocumentBatch = {
    val schema = batch.schema
    val properties = timeProperties.split('\n').map(_.getBytes(UTF_8))
    val parts = Jobs.mapPartitions(batch.queryExecution.toRdd) { rows =>
      Iterator.single(part(rows, schema, new DocumentReader(properties, rdf12, accepts), refusesTrig))
    }
    val read = parts.collect()
    if (read.exists(_.isForeign)) null else new DocumentBatch(read.filter(part => part.size > 0 || part.flawCount > 0))
  }

  private def part(rows: Iterator[InternalRow], schema: StructType, reader: DocumentReader, refusesTrig: Boolean): DocumentRows = {
    val place = schema.fieldIndex("value")
    val isText = schema(place).dataType.isInstanceOf[StringType]
    val notes = schema.fieldNames.indexOf("noted")
    var foreign = false
    while (!foreign && rows.hasNext) {
      val row = rows.next()
      val document = if (row.isNullAt(place)) null else if (isText) row.getUTF8String(place).getBytes else row.getBinary(place)
      foreign = refusesTrig && document != null && DocumentReader.looksLikeTrig(document)
      if (!foreign) reader.take(document, notes >= 0 && row.getBoolean(notes))
    }
    reader.read.rows(foreign)
  }
}
