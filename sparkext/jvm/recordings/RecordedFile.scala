package org.apache.spark.sql.cqels
package recordings

import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.Path

import org.apache.spark.sql.cqels.ingest.SimpleLine
import org.apache.spark.sql.cqels.rdf.{MalformedLine, NQuadsReader}

/** A file of a recorded stream.
 *
 *  `name` stands for it in messages. With `noted`, its lines are the canonical ones of another format, with notes between
 *  them: `#@ n` for the line of the statements that follow (0: not known), and `#! n graph|- reason` for an element that is
 *  malformed. With `rdf12`, quoted triples are written as RDF 1.2 has them; with `accepts`, IRIs are taken as they stand.
 */
private[cqels] final case class RecordedSource(
    stream: Int, name: String, path: Path, packing: String, noted: Boolean, rdf12: Boolean, accepts: Boolean)

/** Reads the statements of a file, one after the other, into an assembler. */
private[recordings] final class RecordedFile(source: RecordedSource, assembler: ElementAssembler) {
  private val bytes =
    try new RecordedBytes(source.path, source.packing)
    catch { case e: RecordingProblem => throw new RecordingProblem(source.name, e.reason) }
  private val lines = new RecordedLines(bytes)
  private val simple = new SimpleLine
  private val reader = new NQuadsReader("", true, source.rdf12 && !source.noted, source.accepts || source.noted)
  private val decoder = UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT)
  private val plain = new StatementText
  private val written = new StatementText
  private var notedLine = 0

  def position: Long = bytes.position

  def close(): Unit = bytes.close()

  /** Takes in the next line; false at the end of the file, which the assembler is told of. */
  def advance(): Boolean =
    try {
      val more = lines.advance()
      if (more) take()
      else {
        assembler.finish()
        close()
      }
      more
    } catch { case e: RecordingProblem => throw new RecordingProblem(source.name, e.reason) }

  private def take(): Unit =
    if (isSound && simple.read(lines.bytes, lines.from, lines.until, allowGraph = true)) {
      plain.bytes = lines.bytes
      var place = 0
      while (place < 4) {
        plain.from(place) = simple.from(place)
        plain.until(place) = simple.until(place)
        place += 1
      }
      plain.hasGraph = simple.hasGraph
      plain.line = lineNumber
      assembler.take(plain)
    } else if (lines.from < lines.until) slowly()

  private def lineNumber: Int = if (source.noted) notedLine else lines.number

  private def slowly(): Unit = {
    if (source.noted && lines.bytes(lines.from) == '#') note(text)
    else {
      try {
        if (!isSound && !isComment) throw new MalformedLine("not UTF-8", columnOfBroken)
        if (reader.parse(text)) assembler.take(statement())
      } catch {
        case e: MalformedLine =>
          assembler.flaw(new FlawedLine(lineNumber, text, s"column ${e.column}: ${e.message}"))
      }
    }
  }

  private def text: String = new String(lines.bytes, lines.from, lines.until - lines.from, if (lines.isAscii) ISO_8859_1 else UTF_8)

  private def statement(): StatementText = {
    val out = new java.io.ByteArrayOutputStream(256)
    written.mayHaveBlanks = false
    written.hasGraph = reader.graph != null
    written.line = lineNumber
    for ((term, place) <- Seq(reader.subject, reader.predicate, reader.obj, reader.graph).zipWithIndex) {
      written.from(place) = out.size
      if (term != null) {
        out.writeBytes(term.getBytes(UTF_8))
        written.mayHaveBlanks |= term.contains("_:")
      }
      written.until(place) = out.size
    }
    written.bytes = out.toByteArray
    written
  }

  private def note(text: String): Unit =
    text.split(" ", 4) match {
      case Array("#@", number, _*) => notedLine = number.toInt
      case Array("#!", number, graph, reason) => assembler.spoil(if (graph == "-") null else graph, reason, number.toInt)
      case _ =>
    }

  private def isComment: Boolean = {
    var i = lines.from
    while (i < lines.until && (lines.bytes(i) == ' ' || lines.bytes(i) == '\t')) i += 1
    i == lines.until || lines.bytes(i) == '#'
  }

  /** Whether the bytes of the line are UTF-8. */
  private def isSound: Boolean =
    lines.isAscii || {
      try {
        decoder.reset().decode(ByteBuffer.wrap(lines.bytes, lines.from, lines.until - lines.from))
        true
      } catch { case _: CharacterCodingException => false }
    }

  private def columnOfBroken: Int = {
    val input = ByteBuffer.wrap(lines.bytes, lines.from, lines.until - lines.from)
    val output = java.nio.CharBuffer.allocate(lines.until - lines.from + 1)
    decoder.reset().decode(input, output, true)
    output.flip()
    Character.codePointCount(output, 0, output.length) + 1
  }
}
