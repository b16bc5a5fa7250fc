package org.apache.spark.sql.cqels
package streams

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Paths
import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{Handover, TimeRules}
import org.apache.spark.sql.cqels.memory.Json
import org.apache.spark.sql.cqels.recordings.{MergedRecordings, RecordedSource, RecordingProblem, ReplayBlock, ReplayOptions, ReplaySequence}

/** Recorded streams that are taken into their logs, block by block. */
final class ReplayedStreams private[streams] (recordings: MergedRecordings, logs: Array[StreamLog]) {

  private val known = new Array[Long](logs.length)

  /** Says that a stream has so many of the elements already, from another process: they are passed over. */
  def passOver(stream: Int, elements: Long): Unit = known(stream) = elements

  /** Has the streams take in the next block; later ones are of about that many elements.
   *
   *  A line `{"streams": [n, ...], "newest": time, "setAside": [[stream, file, line, graph, reason], ...], "ignored": [n, ...],
   *  "position": bytes, "last": whether it was}`, with nothing and 0 for what is not known, and a line for each of these streams, see Intake; or
   *  `{"problem": [file, reason]}`.
   */
  def next(handover: Handover, elements: Int): String = handover.answer(next(elements))

  private def next(elements: Int): String = {
    val block = recordings.next(elements)
    if (block == null) throw new IllegalStateException("the replay is over")
    block.problem match {
      case null => json(block)
      case p: RecordingProblem => s"""{"problem":[${Json.quote(p.file)},${Json.quote(p.reason)}]}"""
      case other => throw other
    }
  }

  /** Lets go of the elements of a block that a stream has already; whether these are all. */
  private def passedOver(stream: Int, block: ReplayBlock): Boolean = known(stream) > 0 && {
    val elements = block.elements(stream)
    val first = math.min(known(stream), elements.onTime.toLong).toInt
    val left = elements.without(first)
    known(stream) -= first
    block.elements(stream) = left
    left.size == 0
  }

  def close(): Unit = recordings.close()

  private def json(block: ReplayBlock): String = {
    val streams = logs.indices.filter(stream => block.elements(stream) != null && !passedOver(stream, block))
    val intakes = streams.map { stream =>
      // What is late, or beyond belief, has been told from the rest already.
      val intake = logs(stream).take(block.elements(stream), TimeRules.none, allOrNothing = false)
      block.ahead(stream).foreach(intake.notBelieved)
      "\n" + intake.json
    }
    val flaws = block.setAside.map(f => s"[${f.stream},${Json.quote(f.file)},${f.line},${if (f.graph == null) "null" else Json.quote(f.graph)},${Json.quote(f.reason)}]")
    val newest = if (block.newest == Long.MinValue) "null" else block.newest.toString
    s"""{"streams":${streams.mkString("[", ",", "]")},"newest":$newest,"setAside":${flaws.mkString("[", ",", "]")},""" +
      s""""ignored":${block.ignored.mkString("[", ",", "]")},"position":${block.position},"last":${block.isLast}}""" + intakes.mkString
  }
}

object ReplayedStreams {
  /** `sequences`: other elements of the streams, which somebody hands over as they are wanted. `sources`: of each file the number of its stream, its packing, whether it has notes (0, 1), its name, where it is and how far it may unpack; `floors`:
   *  up to which time elements are late, and how far one may lie behind the newest of its stream, by stream, "time|lateness". See [[ReplayOptions]] and [[RecordedSource]] for the others.
   */
  def open(
      dictionary: Dictionary, logs: JList[StreamLog], sequences: JList[ReplaySequence], sources: JList[String], timeProperties: JList[String], inTimeOrder: Boolean,
      rdf12: Boolean, accepts: Boolean, lookAhead: Int, maxAhead: Long, first: Int, floors: JList[String]): ReplayedStreams = {
    val files = sources.asScala.toSeq.grouped(6).toSeq.map { file =>
      RecordedSource(file(0).toInt, file(3), Paths.get(file(4)), file(1), file(2) == "1", rdf12, accepts, file(5).toDouble)
    }
    val properties = timeProperties.asScala.map(iri => s"<$iri>".getBytes(UTF_8)).toArray
    val mostBytes = math.max(LeastBytes, MostBytes / math.max(1, files.size + sequences.size))
    sequences.forEach(_.mostBytes = mostBytes)
    val options = ReplayOptions(properties, inTimeOrder, lookAhead, mostBytes, maxAhead, first)
    val targets = logs.asScala.toArray
    val distinct = targets.exists(_.countsOccurrencesOfTriples)
    val limits = floors.asScala.map(_.split('|').map(_.toLong)).toArray
    new ReplayedStreams(
      new MergedRecordings(
        dictionary, files, sequences.asScala.toSeq, targets.map(_.recordLayout), options, distinct, limits.map(_(0)), limits.map(_(1))),
      targets)
  }

  /** Of the texts that are held to be put together, and again of those that are held to be put in order. */
  private final val MostBytes = 64L << 20
  private final val LeastBytes = 1L << 20
}
