package org.apache.spark.sql.cqels
package recordings

import java.nio.file.Path

/** A file of a recorded stream.
 *
 *  `name` stands for it in messages. With `noted`, its lines are the canonical ones of another format, with notes between
 *  them: `#@ n` for the line of the statements that follow (0: not known), and `#! n graph|- reason` for an element that is
 *  malformed. With `rdf12`, quoted triples are written as RDF 1.2 has them; with `accepts`, IRIs are taken as they stand; packed,
 *  it may unpack to `mostExpansion` times its size.
 */
private[cqels] final case class RecordedSource(
    stream: Int, name: String, path: Path, packing: String, noted: Boolean, rdf12: Boolean, accepts: Boolean, mostExpansion: Double)

/** Reads the statements of a file, one after the other, into an assembler. */
private[recordings] final class RecordedFile(source: RecordedSource, assembler: ElementAssembler) {
  private val bytes =
    try new RecordedBytes(source.path, source.packing, source.mostExpansion)
    catch { case e: RecordingProblem => throw new RecordingProblem(source.name, e.reason) }
  private val lines = new RecordedLines(bytes)
  private val statements = new LineStatements(source.noted, source.rdf12, source.accepts)
  statements.begin(lines, assembler)

  def position: Long = bytes.position

  def close(): Unit = bytes.close()

  /** Takes in the next line; false at the end of the file, which the assembler is told of. */
  def advance(): Boolean =
    try {
      val more = lines.advance()
      if (more) statements.take()
      else {
        assembler.finish()
        close()
      }
      more
    } catch { case e: RecordingProblem => throw new RecordingProblem(source.name, e.reason) }
}
