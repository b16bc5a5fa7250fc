package org.apache.spark.sql.cqels
package documents

import java.io.{Externalizable, ObjectInput, ObjectOutput}

import scala.collection.mutable

import org.apache.spark.sql.cqels.columns.{ReadTerms, TermReader, TextBuilder}
import org.apache.spark.sql.cqels.ingest.Flaws
import org.apache.spark.sql.cqels.memory.{LongRuns, LongTable}
import org.apache.spark.sql.cqels.recordings.RecordedElement

/** The elements of documents, read but in no dictionary: of each its time and how many statements it has, and the terms of all
 *  statements, by subject, predicate, object and, but in the default graph, graph.
 */
private[documents] final class DocumentRows(
    var times: Array[Long], var statements: Array[Int], var terms: Array[ReadTerms], var flawCount: Int, var flaws: Array[String],
    var isForeign: Boolean) extends Externalizable {
  def this() = this(null, null, null, 0, null, false)

  /** How many elements there are. */
  def size: Int = times.length

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(size)
    LongRuns.write(times, out)
    LongRuns.writeInts(statements, out)
    terms.foreach(_.writeExternal(out))
    out.writeInt(flawCount)
    out.writeObject(flaws)
    out.writeBoolean(isForeign)
  }

  override def readExternal(in: ObjectInput): Unit = {
    val count = in.readInt()
    times = LongRuns.read(count, in)
    statements = LongRuns.readInts(count, in)
    terms = Array.fill(TermReader.Names.length) { val read = new ReadTerms; read.readExternal(in); read }
    flawCount = in.readInt()
    flaws = in.readObject().asInstanceOf[Array[String]]
    isForeign = in.readBoolean()
  }
}

/** Takes elements of documents, and what was wrong with others, one after the other. */
private[documents] final class DocumentRowsBuilder {
  import TermReader._

  private val texts = Names.map(_ => new TextBuilder)
  private val elements = new LongTable(2) // time and number of statements
  private val flaws = mutable.ArrayBuffer[String]()
  private var flawCount = 0

  def add(element: RecordedElement): Unit = {
    val row = elements.appendRow()
    elements.data(row) = element.time
    elements.data(row + 1) = element.statementCount
    val bytes = element.array
    var at = 0
    while (at < element.statementCount) {
      var place = Subject
      while (place <= Object) { texts(place).add(bytes, element.from(at, place), element.until(at, place)); place += 1 }
      texts(Graph).add(if (element.inGraph(at)) element.name.bytes else null)
      at += 1
    }
  }

  def setAside(reason: String): Unit = {
    if (flawCount < Flaws.Most) flaws += reason
    flawCount += 1
  }

  /** `isForeign`: a document was of another format, and nothing of what was read is to be used. */
  def rows(isForeign: Boolean): DocumentRows = {
    val terms = Names.indices.map(role => ReadTerms.ofCanonical(texts(role).column(Names(role)).coded)).toArray
    val times = Array.tabulate(elements.rowCount)(e => elements.data(2 * e))
    val statements = Array.tabulate(elements.rowCount)(e => elements.data(2 * e + 1).toInt)
    new DocumentRows(times, statements, terms, flawCount, flaws.toArray, isForeign)
  }
}
