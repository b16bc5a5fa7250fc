package org.apache.spark.sql.cqels
package recordings

import scala.collection.mutable

import org.apache.spark.sql.cqels.ingest.ElementBlock

/** What comes next of a replay: elements by stream, and what was found on the way to them. */
private[cqels] final class ReplayBlock(streams: Int) {
  /** Null where a stream has none. */
  val elements = new Array[ElementBlock](streams)
  /** Times that are not believed, by stream. */
  val ahead = Array.fill(streams)(mutable.ArrayBuffer[Long]())
  val setAside = mutable.ArrayBuffer[RecordedFlaw]()
  /** The newest time taken so far. */
  var newest = Long.MinValue
  /** How many triples about no element there were so far, by stream. */
  var ignored = new Array[Long](streams)
  /** How many bytes of the files have been read so far. */
  var position = 0L
  var isLast = false
  /** What ends the replay before its end; null: nothing. */
  var problem: Throwable = _

  def isEmpty: Boolean = elements.forall(_ == null) && ahead.forall(_.isEmpty) && setAside.isEmpty

  def release(): Unit = elements.foreach(block => if (block != null) (0 until block.size).foreach(block.release))
}

/** What could not be used of a file, 0 and null where the line or the graph is not known. */
private[cqels] final case class RecordedFlaw(stream: Int, file: String, line: Int, graph: String, reason: String)
