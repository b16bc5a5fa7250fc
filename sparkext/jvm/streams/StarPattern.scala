package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.ingest.RecordLayout

/** Triple patterns with one subject, each with a predicate of its own choice: `objects` are ids, 0 for a variable, all different.
 *
 *  Its columns are the subject and those objects that are variables. With `defaultGraph` only quads without a graph are seen; with
 *  `bag`, a row counts as often as its triples do together.
 */
final case class StarPattern(predicates: Seq[Long], objects: Seq[Long], defaultGraph: Boolean, bag: Boolean) {
  require(predicates.length == objects.length, s"${predicates.length} predicates for ${objects.length} objects")

  def columns: Int = 1 + objects.count(_ == 0)

  /** Whether a quad may be one that the `i`th pattern finds; 0 stands for a cell that varies. */
  private[streams] def mayFind(i: Int, layout: RecordLayout, quad: Int): Boolean = {
    def fits(place: Int, wanted: Long) = wanted == 0 || layout.column(quad, place) >= 0 || layout.constant(quad, place) == wanted
    fits(1, predicates(i)) && fits(2, objects(i)) && !(defaultGraph && inNamedGraph(layout, quad))
  }

  private def inNamedGraph(layout: RecordLayout, quad: Int) = layout.column(quad, 3) >= 0 || layout.constant(quad, 3) != 0

  /** How records answer it: the column of the subject, and for each pattern the quad that it finds; null where they do not. */
  private[streams] def ways(layout: RecordLayout): StarWays = {
    val quads = 0 until layout.size
    val subjects = quads.map(layout.column(_, 0)).filter(_ >= 0).distinct
    val found = subjects.iterator.map { subject =>
      new StarWays(subject, predicates.indices.map { i =>
        quads.indexWhere(q => layout.column(q, 0) == subject && layout.column(q, 1) < 0 && mayFind(i, layout, q))
      }.toArray)
    }
    found.find(!_.quads.contains(-1)).orNull
  }
}

private[streams] final class StarWays(val subject: Int, val quads: Array[Int])

object StarPattern {
  /** Reads "predicates|objects|default or any|set or bag", numbers with commas between them. */
  def parse(text: String): StarPattern = {
    val Array(predicates, objects, graph, counted) = text.split('|')
    StarPattern(Numbers.list(predicates).toSeq, Numbers.list(objects).toSeq, graph == "default", counted == "bag")
  }
}
