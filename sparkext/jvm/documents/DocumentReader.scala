package org.apache.spark.sql.cqels
package documents

import org.apache.spark.sql.cqels.recordings.{Assembled, ElementAssembler, LineStatements, RecordedElement, RecordedLines}

/** Reads documents of N-Quads, each by itself: no name of a graph, and no blank node, is known in another.
 *
 *  `timeProperties`: IRIs in angle brackets; `rdf12` and `accepts` as [[org.apache.spark.sql.cqels.rdf.NQuadsReader]] has them.
 */
private[documents] final class DocumentReader(timeProperties: Array[Array[Byte]], rdf12: Boolean, accepts: Boolean) {
  import DocumentReader._

  val read = new DocumentRowsBuilder
  private val plain = new LineStatements(false, rdf12, accepts)
  private lazy val noted = new LineStatements(true, rdf12, accepts)
  private val target = new Assembled {
    override def take(element: RecordedElement): Unit = read.add(element)
    override def setAside(line: Int, graph: String, reason: String): Unit =
      read.setAside(s"document${if (line == 0) "" else s":$line"}: ${if (graph == null) "" else s"$graph: "}$reason")
  }

  /** Reads one; null: there is none. `hasNotes`: its lines are those of another format, see
   *  [[org.apache.spark.sql.cqels.recordings.RecordedSource]].
   */
  def take(document: Array[Byte], hasNotes: Boolean): Unit =
    if (document == null) read.setAside("no document (null)")
    else {
      val assembler = new ElementAssembler(timeProperties, Int.MaxValue, Long.MaxValue, Nil, target)
      val lines = new RecordedLines(document)
      val statements = if (hasNotes) noted else plain
      statements.begin(lines, assembler)
      while (lines.advance()) statements.take()
      assembler.finish()
    }
}

private[documents] object DocumentReader {
  /** Whether a document is TriG by its looks: it has a brace that is in no string, no IRI and no comment. */
  def looksLikeTrig(document: Array[Byte]): Boolean = {
    val end = document.length
    var i = 0
    while (i < end && document(i) != '{') i += 1
    if (i == end) return false
    i = 0
    while (i < end && document(i) != '{') {
      val after = document(i) match {
        case '"' => endOfString(document, i + 1)
        case '<' => endOfIri(document, i + 1)
        case '#' => endOfLine(document, i + 1)
        case _ => -1
      }
      i = if (after < 0) i + 1 else after
    }
    i < end
  }

  /** Where what begins at `from` ends; -1 if it does not. */
  private def endOfString(document: Array[Byte], from: Int): Int = {
    var i = from
    while (i < document.length && document(i) != '"') i += (if (document(i) == '\\') 2 else 1)
    if (i < document.length) i + 1 else -1
  }

  private def endOfIri(document: Array[Byte], from: Int): Int = {
    var i = from
    while (i < document.length && { val c = document(i); c != '<' && c != '>' && !isSpace(c) }) i += 1
    if (i < document.length && document(i) == '>') i + 1 else -1
  }

  private def endOfLine(document: Array[Byte], from: Int): Int = {
    var i = from
    while (i < document.length && document(i) != '\n') i += 1
    i
  }

  private def isSpace(c: Byte): Boolean = c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f)
}
