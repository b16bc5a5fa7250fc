package org.apache.spark.sql.cqels
package dictionary

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.memory.{ByteSink, LongTable}
import org.apache.spark.sql.cqels.rdf.{LoadProblem, MalformedLine, NQuadsReader}
import org.apache.spark.sql.cqels.terms.TermId

/** Triples of changes to static graphs as ids: few, read on the driver, their terms held one by one.
 *
 *  Their terms live in the dictionary's stream layer as long as they are held: changes that come and go leave nothing.
 *  Ids travel as bytes, little end first: py4j would make one call an element of an array.
 */
final class ChangeTerms(dictionary: Dictionary) {
  private var found: LoadProblem = _

  /** What was wrong with the text read last, null when nothing was; lines and columns count from 1. */
  def problem: LoadProblem = found

  /** Subject, predicate and object of each statement, every one of them held once more.
   *
   *  With a problem nothing is held, and the result is empty.
   */
  def encode(text: String, blankScope: String): Array[Byte] = {
    val triples = new LongTable(3)
    val complete = read(text, blankScope) { reader =>
      val at = triples.appendRow()
      triples.set(at, dictionary.encodeRetained(reader.subject))
      triples.set(at + 1, dictionary.encodeRetained(reader.predicate))
      triples.set(at + 2, dictionary.encodeRetained(reader.obj))
    }
    if (!complete) {
      dictionary.release(triples.data, 3 * triples.rowCount)
      triples.clear()
    }
    ChangeTerms.bytes(triples)
  }

  /** The same for statements whose terms are all known, the others left out; nothing is held. */
  def lookup(text: String): Array[Byte] = {
    val triples = new LongTable(3)
    read(text, "") { reader =>
      val terms = Array(reader.subject, reader.predicate, reader.obj).map(dictionary.lookup)
      if (!terms.contains(0L)) triples.appendAll(terms, 0, 1)
    }
    ChangeTerms.bytes(triples)
  }

  private def read(text: String, blankScope: String)(take: NQuadsReader => Unit): Boolean = {
    found = null
    // The text was checked when it was read.
    val reader = new NQuadsReader(blankScope, false, false, true)
    val lines = text.split("\n", -1)
    var i = 0
    try while (i < lines.length) {
      if (reader.parse(lines(i))) take(reader)
      i += 1
    } catch {
      case e: MalformedLine => found = LoadProblem(0, 0L, i + 1, e.column, e.message, lines(i))
    }
    found == null
  }

  /** The canonical texts of terms in UTF-8, each with the `\n` after it that none holds; all must be known. */
  def texts(ids: Array[Byte]): Array[Byte] = {
    val out = new ByteSink
    for (id <- ChangeTerms.numbers(ids)) {
      dictionary.appendText(id, out)
      out.appendByte('\n')
    }
    out.toBytes
  }

  /** Holds terms once more each. */
  def retain(ids: Array[Byte]): Unit = {
    val numbers = ChangeTerms.numbers(ids)
    dictionary.retain(numbers, numbers.length)
  }

  /** Lets go of ids that were held, once each. */
  def release(ids: Array[Byte]): Unit = {
    val numbers = ChangeTerms.numbers(ids)
    dictionary.release(numbers, numbers.length)
  }

  /** Makes those terms static that are not: files are going to hold them. */
  def settle(ids: Array[Byte]): Unit = {
    val loose = ChangeTerms.numbers(ids).distinct.filter(id => id != 0 && !TermId.isInline(id) && !dictionary.isStatic(id))
    if (loose.nonEmpty) {
      val builder = new CompactDictionary.Builder(loose.length, dictionary.hasher())
      loose.foreach(id => builder.add(id, dictionary.text(id).getBytes(UTF_8)))
      dictionary.addStatic(builder.build())
    }
  }
}

private[cqels] object ChangeTerms {
  def bytes(rows: LongTable): Array[Byte] = {
    val cells = rows.rowCount * rows.arity
    val buffer = ByteBuffer.allocate(8 * cells).order(ByteOrder.LITTLE_ENDIAN)
    buffer.asLongBuffer().put(rows.data, 0, cells)
    buffer.array
  }

  def numbers(bytes: Array[Byte]): Array[Long] = {
    val ids = new Array[Long](bytes.length / 8)
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(ids)
    ids
  }
}
