package org.apache.spark.sql.cqels
package ingest

import java.util.Arrays

import org.apache.spark.sql.cqels.memory.Json

/** What became of a block of elements: which times were taken in, and how many elements were not. */
private[cqels] final class Intake(val late: Int, val flaws: Flaws) {
  private var times = new Array[Long](16)
  private var counts = new Array[Int](16)
  private var used = 0
  private var accepted = 0
  private val ahead = scala.collection.mutable.ArrayBuffer[Long]()
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

  /** An element's time is not believed. */
  def notBelieved(time: Long): Unit = {
    if (ahead.length < Flaws.Most) ahead += time
    beyond += 1
  }

  /** `{"accepted", "late", "ahead": [how many, [the first times]], "rejected": [how many, [[time, column, reason], ...]],
   *  "panes", "times", "counts"}`; a row that was rejected has null as its time, and its number as the column.
   */
  def json: String = {
    val out = new java.lang.StringBuilder(64 + 20 * used)
    out.append("{\"accepted\":").append(accepted).append(",\"late\":").append(late)
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
