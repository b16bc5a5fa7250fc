package org.apache.spark.sql.cqels
package loading

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{TreeSet => JTreeSet}

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.rdf.{CanonicalLines, LoadProblem}
import org.apache.spark.sql.classic.SparkSession

/** N-Quads statements that are in no file: encoded on this thread, block by block as they are handed over.
 *
 *  `graph` and `onError` are as `StaticLoader.load` has them. One round is `begin`, any number of `take` and `end`; where
 *  `end` gives null, texts had the same id, and the same blocks are to come again. `release` is called last.
 */
final class LineBlocks(spark: SparkSession, dictionary: Dictionary, blankScope: String, graph: String, onError: String) {
  private val file = Array(LoadFile(null, blankScope, true, false))
  private val blocks = new mutable.ArrayBuffer[EncodedBlock]
  private val held = new mutable.ArrayBuffer[Long]
  private var encoder: BlockEncoder = _

  def begin(): Unit = {
    blocks.clear()
    encoder = new BlockEncoder(file, graph, dictionary.hasher(), onError)
  }

  /** Encodes lines with `\n` between them; gives what ended the load, its line counted over all blocks, or null. */
  def take(lines: Array[Byte]): LoadProblem = {
    val read = CanonicalLines.EndOfLine.split(new String(lines, UTF_8), -1).iterator
    blocks ++= encoder.blocks(read.map(line => Right(TextLine(0, -1L, line))))
    blocks.last.problem
  }

  /** Puts the new terms into the dictionary. */
  def end(): StaticLoad = {
    val colliding = new JTreeSet[String]
    val load = StaticLoader.roundHere(spark, dictionary, blocks.toArray, colliding)
    // As in StaticLoader: in the order of their texts.
    colliding.forEach(text => held += dictionary.encodeRetained(text))
    load
  }

  def release(): Unit = dictionary.release(held.toArray, held.length)
}
