package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.rdf.UnknownTermException

/** A triple pattern over quads of ids, with quoted triples to any depth.
 *
 *  Its places are numbered: s p o g are 0 to 3, and the subject, predicate and object inside the n-th of the `quoted` places
 *  (from 0, outer ones first) are 4 + 3n to 6 + 3n. `constants` are ids by place, 0 for a variable; that of g may also be
 *  `AnyName` or `NoName`. `columns` are the places shown, `equal` pairs of places that hold the same term (a variable used
 *  twice). With `bag`, a row counts as often as it is sighted.
 */
final case class QuadPattern(
    constants: Seq[Long], quoted: Seq[Int], columns: Seq[Int], equal: Seq[(Int, Int)], bag: Boolean = false) {
  require(constants.length == 4 + 3 * quoted.length, s"${constants.length} places for ${quoted.length} quoted triples")

  def predicate: Long = constants(1)
}

object QuadPattern {
  /** Of the graph: the named ones only, or the default graph of each element only. Negative ids are quoted triples, which
   *  name no graph.
   */
  final val AnyName = -1L
  final val NoName = -2L

  /** Reads "constants|quoted|columns|equal|set or bag", numbers with commas between them; g, or all from it on, may be left out. */
  def parse(text: String): QuadPattern = {
    val parts = text.split("\\|", -1)
    val quoted = Numbers.list(parts(1)).map(_.toInt).toSeq
    val constants = Numbers.list(parts(0)).toSeq.padTo(4 + 3 * quoted.length, 0L)
    val equal = Numbers.list(parts(3)).grouped(2).map(p => (p(0).toInt, p(1).toInt)).toSeq
    QuadPattern(constants, quoted, Numbers.list(parts(2)).map(_.toInt).toSeq, equal, parts(4) == "bag")
  }
}

/** Matches quads one by one; not for several threads at a time. */
private[cqels] final class QuadMatcher(spec: QuadPattern, dictionary: Dictionary) {
  private val Array(subject, predicate, obj, graph) = spec.constants.take(4).toArray
  private val inner = spec.constants.toArray
  private val quoted = spec.quoted.toArray
  private val equal = spec.equal.toArray.flatMap { case (a, b) => Array(a, b) }
  private val columns = spec.columns.toArray
  private val cells = new Array[Long](inner.length)

  /** The columns of the quad that matched last. */
  val row = new Array[Long](columns.length)

  def matches(data: Array[Long], at: Int): Boolean =
    (subject == 0 || data(at) == subject) && (predicate == 0 || data(at + 1) == predicate) && (obj == 0 || data(at + 2) == obj) &&
      (graph == 0 || inGraph(data(at + 3))) && (if (quoted.length == 0) plain(data, at) else nested(data, at))

  private def inGraph(g: Long): Boolean =
    if (graph == QuadPattern.AnyName) g != 0 else if (graph == QuadPattern.NoName) g == 0 else g == graph

  private def plain(data: Array[Long], at: Int): Boolean = {
    var i = 0
    while (i < equal.length) { if (data(at + equal(i)) != data(at + equal(i + 1))) return false; i += 2 }
    var c = 0
    while (c < columns.length) { row(c) = data(at + columns(c)); c += 1 }
    true
  }

  private def nested(data: Array[Long], at: Int): Boolean = {
    System.arraycopy(data, at, cells, 0, 4)
    var n = 0
    while (n < quoted.length) {
      val id = cells(quoted(n))
      if (id >= 0) return false
      val from = 4 + 3 * n
      if (!dictionary.copyQuoted(id, cells, from)) throw new UnknownTermException(id)
      var k = from
      while (k < from + 3) { if (inner(k) != 0 && inner(k) != cells(k)) return false; k += 1 }
      n += 1
    }
    plain(cells, 0)
  }
}
