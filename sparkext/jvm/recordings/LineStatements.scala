package org.apache.spark.sql.cqels
package recordings

import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

import org.apache.spark.sql.cqels.rdf.{MalformedLine, NQuadsReader, SimpleLine}

/** Reads lines of N-Quads as statements for an assembler; `noted`, `rdf12` and `accepts` as [[RecordedSource]] has them. */
private[cqels] final class LineStatements(noted: Boolean, rdf12: Boolean, accepts: Boolean) {
  private val simple = new SimpleLine
  private val reader = new NQuadsReader("", true, rdf12 && !noted, accepts || noted)
  private val decoder = UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT)
  private val plain = new StatementText
  private val written = new StatementText
  private var lines: RecordedLines = _
  private var assembler: ElementAssembler = _
  private var notedLine = 0

  /** Has the statements of other lines go to another assembler. */
  def begin(lines: RecordedLines, assembler: ElementAssembler): Unit = {
    this.lines = lines
    this.assembler = assembler
    notedLine = 0
  }

  /** Takes in the line of now. */
  def take(): Unit =
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

  private def lineNumber: Int = if (noted) notedLine else lines.number

  private def slowly(): Unit = {
    if (noted && lines.bytes(lines.from) == '#') note(text)
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
