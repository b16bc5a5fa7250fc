package org.apache.spark.sql.cqels
package loading

import java.io.{Externalizable, ObjectInput, ObjectOutput}
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import org.apache.spark.sql.cqels.rdf.{LoadProblem, MalformedLine, NQuadsReader, OnError, SimpleLine}
import org.apache.spark.sql.cqels.terms.{TermBlock, TermEncoder, TermHasher}

/** Quads and new terms of up to `BlockEncoder.StatementsPerBlock` statements, or why there are none; what was left out of them;
 *  and for lines of text, where in which file their part begins and how many they are.
 */
private[cqels] final class EncodedBlock(var quads: QuadBlock, var terms: TermBlock, var problem: LoadProblem,
    var skipped: Array[LoadProblem], var part: TextPart) extends Externalizable {
  def this() = this(null, null, null, null, null)

  override def writeExternal(out: ObjectOutput): Unit = {
    quads.writeExternal(out)
    terms.writeExternal(out)
    out.writeObject(problem)
    out.writeObject(skipped)
    out.writeObject(part)
  }

  override def readExternal(in: ObjectInput): Unit = {
    quads = new QuadBlock
    quads.readExternal(in)
    terms = new TermBlock
    terms.readExternal(in)
    problem = in.readObject().asInstanceOf[LoadProblem]
    skipped = in.readObject().asInstanceOf[Array[LoadProblem]]
    part = in.readObject().asInstanceOf[TextPart]
  }
}

/** Lines of a part of a text file that begins at this position. */
private[cqels] final case class TextPart(file: Int, position: Long, lines: Long)

/** A line of a file, from a part that begins at `start`. */
private[cqels] sealed trait FileLine {
  def file: Int
  def start: Long
}

private[cqels] final case class TextLine(file: Int, start: Long, text: String, undecodable: Boolean = false) extends FileLine

/** Lines of a part as their bytes: one object for all, good until the next is asked for. */
private[cqels] final class ByteLine(val file: Int, val start: Long) extends FileLine {
  var bytes: Array[Byte] = _
  var length = 0

  /** The same as text, `undecodable` where it is not UTF-8. */
  def decoded: TextLine = {
    val text = new String(bytes, 0, length, UTF_8)
    TextLine(file, start, text, text.indexOf('\uFFFD') >= 0 && !isUtf8)
  }

  private def isUtf8: Boolean =
    try {
      UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(bytes, 0, length))
      true
    } catch { case _: CharacterCodingException => false }
}

private[cqels] object BlockEncoder {
  /** A line, or a problem and whether it ends the part. */
  type LineOrProblem = Either[(LoadProblem, Boolean), FileLine]

  final val StatementsPerBlock = 1 << 18
  final val TermBytesPerBlock = 48L << 20
  final val FlawsPerBlock = 1 << 12
  final val MostText = 2000 // of a malformed line that is shown
}

/** Turns lines into blocks; the first problem ends the part, unless malformed lines are to be skipped. */
private[cqels] final class BlockEncoder(files: Array[LoadFile], graph: String, hasher: TermHasher, onError: String) {
  import BlockEncoder._

  private val encoder = new TermEncoder(hasher)
  private var reader: NQuadsReader = _
  private val simple = new SimpleLine
  private var file = -1
  private var start = -1L
  private var lineCount = 0
  private var linesOfBlock = 0L
  private var problem: LoadProblem = _
  private val skipped = new mutable.ArrayBuffer[LoadProblem]

  def blocks(lines: Iterator[LineOrProblem]): Iterator[EncodedBlock] = new Iterator[EncodedBlock] {
    override def hasNext: Boolean = problem == null && lines.hasNext
    override def next(): EncodedBlock = {
      val quads = new QuadBlock
      linesOfBlock = 0
      skipped.clear()
      while (problem == null && !isFull(quads) && lines.hasNext)
        lines.next() match {
          case Right(line: ByteLine) => read(line, quads)
          case Right(line: TextLine) => enter(line.file, line.start); read(line, quads)
          case Left((found, fatal)) =>
            enter(found.file, found.position)
            if (fatal) problem = found else skipped += found
        }
      new EncodedBlock(quads, encoder.takeBlock(), problem, skipped.toArray, TextPart(file, start, linesOfBlock))
    }
  }

  private def isFull(quads: QuadBlock): Boolean =
    quads.size >= StatementsPerBlock || encoder.memoryBytes >= TermBytesPerBlock || skipped.size >= FlawsPerBlock

  /** Counts a line of a file; what was left out is one, too. */
  private def enter(lineFile: Int, from: Long): Unit = {
    if (lineFile != file) {
      val LoadFile(_, scope, allowGraph, rdf12) = files(lineFile)
      reader = new NQuadsReader(scope, allowGraph, rdf12, onError == OnError.Accept)
      file = lineFile
      start = from
      lineCount = 0
    }
    lineCount += 1
    linesOfBlock += 1
  }

  private def read(line: ByteLine, quads: QuadBlock): Unit = {
    enter(line.file, line.start)
    if (simple.read(line.bytes, 0, line.length, files(file).allowGraph) && isSound(line.bytes, simple.from(2), simple.until(2))) {
      def id(term: Int): Long = encoder.encode(line.bytes, simple.from(term), simple.until(term), term)
      val s = id(0)
      val p = id(1)
      val o = id(2)
      quads.add(s, p, o, if (simple.hasGraph) id(3) else if (graph == null) 0L else encoder.encode(graph, 3))
    } else read(line.decoded, quads)
  }

  /** Whether these bytes are UTF-8; false for some odd text that is so, too. */
  private def isSound(bytes: Array[Byte], from: Int, until: Int): Boolean = {
    var i = from
    while (i < until && bytes(i) >= 0) i += 1
    i == until || new String(bytes, from, until - from, UTF_8).indexOf('\uFFFD') < 0
  }

  private def read(line: TextLine, quads: QuadBlock): Unit =
    try {
      if (line.undecodable) throw new MalformedLine("not UTF-8", line.text.indexOf('\uFFFD') + 1)
      if (reader.parse(line.text)) {
        val g = if (reader.graph != null) reader.graph else graph
        quads.add(encoder.encode(reader.subject, 0), encoder.encode(reader.predicate, 1),
          encoder.encode(reader.obj, 2), if (g == null) 0L else encoder.encode(g, 3))
      }
    } catch {
      case e: MalformedLine =>
        val found = LoadProblem(line.file, line.start, lineCount, e.column, e.message, shortened(line.text))
        if (onError == OnError.Skip) skipped += found else problem = found
    }

  private def shortened(text: String): String =
    if (text.length <= MostText) text else text.substring(0, text.offsetByCodePoints(0, MostText / 2)) + "..."
}
