package org.apache.spark.sql.cqels
package mapped

import scala.collection.mutable

import org.apache.spark.sql.cqels.columns.RowColumns
import org.apache.spark.sql.cqels.loading.{BlockEncoder, EncodedBlock, QuadBlock, TextPart}
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.rdf.{LoadProblem, OnError}
import org.apache.spark.sql.cqels.terms.{TermEncoder, TermHasher}

/** What is the same for all rows of a load: the prefix of blank nodes, the graph of quads that name none (null: the default graph),
 *  and what becomes of rows of which a term cannot be made.
 */
private[cqels] final case class RowLoad(scope: String, graph: String, hasher: TermHasher, onError: String)

/** Rows of input `number` of a load, mapped by a program, as blocks of encoded quads; for one thread at a time. */
private[mapped] final class RowEncoder(number: Int, program: String, load: RowLoad) {
  private val encoder = new TermEncoder(load.hasher)
  private val fixed = mutable.LinkedHashMap[Long, String]()
  private val mapping = new MappedProgram(program, fix)
  private val graph = if (load.graph == null) 0L else fix(load.graph)
  private var quads = new QuadBlock
  private var lines = 0L
  private var position = 0L
  private var problem: LoadProblem = _
  private val skipped = new mutable.ArrayBuffer[LoadProblem]

  def isFull: Boolean = problem != null || quads.size >= RowEncoder.QuadsPerBlock || encoder.memoryBytes >= RowEncoder.BytesPerBlock ||
    skipped.size >= BlockEncoder.FlawsPerBlock
  def isEnded: Boolean = problem != null

  /** The rows from now on lie at this position of the input. */
  def beginAt(position: Long): Unit = this.position = position

  /** Takes in the rows of columns; `elements` says which of them were one row, null: none; `before` is how many have been taken in
   *  from this position.
   */
  def add(rows: RowColumns, elements: Array[Long], before: Long): Unit = {
    val terms = new LoadTerms(encoder, load.scope, fixed, rows.rows)
    // Each block has all terms that its quads may need.
    fixed.valuesIterator.foreach(encoder.encode(_, 0))
    val slots = mapping.slots(mapping.columnsOf(rows), terms)
    val made = new RowQuads(mapping.quads, slots, distinct = true)
    val flaws = RowFlaws(rows)
    var row = 0
    var element = 0L
    while (row < rows.rows && problem == null) {
      val first = row
      row += 1
      if (elements != null) while (row < rows.rows && elements(row) == elements(first)) row += 1
      element += 1
      try {
        flaws.check(first)
        made.makeAll(first, row)
        made.addTo(quads, graph)
      } catch {
        case flaw: RowFlaw =>
          val found = LoadProblem(number, position, (before + element).toInt, 0, flaw.getMessage, null)
          if (load.onError == OnError.Skip) skipped += found else problem = found
      }
    }
    lines += element
  }

  /** What has been taken in since the last block. */
  def takeBlock(): EncodedBlock = {
    val block = new EncodedBlock(quads.grouped, encoder.takeBlock(), problem, skipped.toArray, TextPart(number, position, lines))
    quads = new QuadBlock
    skipped.clear()
    lines = 0
    block
  }

  private def fix(text: String): Long = {
    val id = encoder.encode(text, 0)
    fixed(id) = text
    id
  }
}

private[mapped] object RowEncoder {
  final val QuadsPerBlock = 1 << 18
  final val BytesPerBlock = 48L << 20
}

/** Terms of rows that are loaded: each block notes its own. `fixed` are the texts of those that are the same for all rows. */
private[mapped] final class LoadTerms(encoder: TermEncoder, scope: String, fixed: collection.Map[Long, String], rows: Int) extends RowTerms(rows) {
  private val text = new ByteSink(256)

  def encoded(): Long = encoder.encode(sink.array, 0, sink.length)

  def encoded(text: String): Long = encoder.encode(text, 3)

  def quoted(subject: Long, predicate: Long, obj: Long): Long = {
    text.reset()
    text.appendAscii("<< ")
    append(subject)
    text.appendByte(' ')
    append(predicate)
    text.appendByte(' ')
    append(obj)
    text.appendAscii(" >>")
    encoder.encode(text.array, 0, text.length)
  }

  private def append(id: Long): Unit =
    if (!encoder.appendText(id, text)) throw new IllegalStateException(s"the term $id is of no row")

  def elementScope: String = scope
}
