package org.apache.spark.sql.cqels
package mapped

import org.apache.spark.sql.cqels.columns.{ArrowColumns, RowColumns}
import org.apache.spark.sql.cqels.ingest.{ElementBlock, Handover, TimeRules}
import org.apache.spark.sql.cqels.streams.StreamLog
import org.apache.spark.sql.cqels.terms.TermId

/** A stream whose elements are rows that a mapping makes quads of; `program`: see [[MappedProgram]].
 *
 *  After the columns that the program reads come two: the number of the row's element, which several rows that follow each other
 *  may have together, and its time: milliseconds since 1970, or texts, see [[RowTimes]]. Before them may be a column "flaw": what is
 *  wrong with a row of which the other columns cannot tell (null: nothing). With `distinct`, what an element has twice
 *  counts once.
 */
final class MappedStream(log: StreamLog, program: String, distinct: Boolean) {
  private val dictionary = log.dictionary
  private val held = Array.newBuilder[Long]
  private val mapping = new MappedProgram(program, hold)
  private val records = mapping.records(distinct) // null: none
  if (records != null) log.takeRecords(records.layout)

  /** Takes in the rows of an Arrow stream, the first `length` bytes that were handed over; what became of them, as Intake writes it. */
  def take(handover: Handover, length: Int, allOrNothing: Boolean, rules: String): String = {
    val rows = ArrowColumns.read(handover, length)
    val times = TimeRules.parse(rules)
    val block = new ElementBlock(dictionary, if (records == null) null else records.layout)
    if (rows.rows > 0) {
      val batch = batchOf(rows)
      try {
        read(batch, block)
        batch.hold(block, 0)
      } finally batch.release()
    }
    handover.answer(log.take(block, times, allOrNothing).json)
  }

  /** The rows of a file that is replayed into stream number `stream`, to be handed over; see [[RowSequence]]. */
  def sequence(stream: Int, name: String, inTimeOrder: Boolean, lookAhead: Int): RowSequence =
    new RowSequence(stream, name, batchOf, inTimeOrder, lookAhead)

  private def batchOf(rows: RowColumns): RowBatch = new RowBatch(mapping, records, distinct, dictionary, rows)

  private def read(batch: RowBatch, block: ElementBlock): Unit =
    batch.eachElement { (first, until) =>
      try {
        val time = batch.times(first)
        batch.add(first, until, time, block)
      } catch {
        case flaw: RowFlaw => block.flaws.addRow(batch.element(first), flaw.getMessage)
      }
    }

  def close(): Unit = {
    val ids = held.result()
    dictionary.release(ids, ids.length)
    held.clear()
  }

  private def hold(text: String): Long = {
    val id = dictionary.encodeRetained(text)
    if (!TermId.isInline(id)) held += id
    id
  }
}
