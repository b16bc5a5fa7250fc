package org.apache.spark.sql.cqels
package ingest

import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.Json

/** What became of a block of elements: which times were taken in, how many elements were not, and the last ones that came too late, at
 *  most `lateTold`.
 */
private[cqels] final class Intake(val flaws: Flaws, lateTold: Int) {
  private var late = 0
  private val lateOnes = mutable.Queue[String]()
  private var times = new Array[Long](16)
  private var counts = new Array[Int](16)
  private var used = 0
  private var accepted = 0
  private val ahead = mutable.ArrayBuffer[Long]()
  private var beyond = 0

  /** How many times the stream has elements of, afterwards. */
  var panes = 0

  /** An element was taken in; to be told in order of time. */
  def take(time: Long): Unit = {
    accepted += 1
    if (used > 0 && times(used - 1) == time) counts(used - 1) += 1
    else {
      if (used == times.length) {
        times = Arrays.copyOf(times, used * 2)
        counts = Arrays.copyOf(counts, used * 2)
      }
      times(used) = time
      counts(used) = 1
      used += 1
    }
  }

  /** An element comes too late. */
  def tooLate(block: ElementBlock, element: Int): Unit = {
    late += 1
    lateOnes += Intake.text(block, element)
    if (lateOnes.size > lateTold) lateOnes.dequeue()
  }

  /** An element's time is not believed. */
  def notBelieved(time: Long): Unit = {
    if (ahead.length < Flaws.Most) ahead += time
    beyond += 1
  }

  /** `{"accepted", "late", "late_elements": [[time, graph or null, [its triples], [those of the default graph]], ...], "ahead": [how many, [the first times]], "rejected": [how many, [[time, column, reason], ...]],
   *  "panes", "times", "counts"}`; a row that was rejected has null as its time, and its number as the column.
   */
  def json: String = {
    val out = new java.lang.StringBuilder(64 + 20 * used)
    out.append("{\"accepted\":").append(accepted).append(",\"late\":").append(late)
    if (late > 0) out.append(lateOnes.mkString(",\"late_elements\":[", ",", "]"))
    out.append(",\"ahead\":[").append(beyond).append(",").append(ahead.mkString("[", ",", "]"))
    out.append("],\"rejected\":[").append(flaws.count).append(",")
    out.append(flaws.first.map(f => s"[${if (f.time == Flaws.NoTime) "null" else f.time},${f.column},${Json.quote(f.reason)}]").mkString("[", ",", "]"))
    out.append("],\"panes\":").append(panes).append(",\"times\":[")
    var i = 0
    while (i < used) { if (i > 0) out.append(','); out.append(times(i)); i += 1 }
    out.append("],\"counts\":[")
    i = 0
    while (i < used) { if (i > 0) out.append(','); out.append(counts(i)); i += 1 }
    out.append("]}").toString
  }
}

private object Intake {
  /** An element as JSON, its triples as N-Triples. */
  def text(block: ElementBlock, element: Int): String = {
    var graph = 0L
    val (inside, outside) = (mutable.ArrayBuffer[String](), mutable.ArrayBuffer[String]())
    block.each(element) { (cells, at) =>
      val triple = Json.quote((0 to 2).map(place => block.dictionary.text(cells(at + place))).mkString("", " ", " ."))
      if (cells(at + 3) == 0) outside += triple
      else { graph = cells(at + 3); inside += triple }
    }
    // Without a name all triples are in the default graph.
    val named = graph != 0
    val (own, about) = if (named) (inside, outside) else (outside, inside)
    val name = if (named) Json.quote(block.dictionary.text(graph)) else "null"
    s"[${block.time(element)},$name,${own.mkString("[", ",", "]")},${about.mkString("[", ",", "]")}]"
  }
}
