package org.apache.spark.sql.cqels
package ingest

import java.util.Arrays

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.terms.TermId

/** Gives terms their ids and holds these, each time that one is asked for; what stood last in a place of a quad is known.
 *
 *  Predicates and graphs are mostly what they were in the line before.
 */
private[cqels] final class HeldTerms(dictionary: Dictionary) {
  private val lastBytes = Array.fill(4)(Array.emptyByteArray)
  private val lastIds = new Array[Long](4)
  private val lastStays = new Array[Boolean](4) // whether the id lives without being held

  /** The id of a canonical text in `bytes`; `place`: 0 subject, 1 predicate, 2 object, 3 graph. */
  def id(bytes: Array[Byte], from: Int, until: Int, place: Int): Long = {
    val last = lastBytes(place)
    // What can be held no more, as it was let go of meanwhile, is looked up.
    if (lastStays(place) && Arrays.equals(last, 0, last.length, bytes, from, until)) lastIds(place)
    else {
      val id = dictionary.encodeRetained(bytes, from, until)
      val repeats = place == 1 || place == 3
      if (repeats) {
        lastStays(place) = TermId.isInline(id) || dictionary.isStatic(id)
        lastBytes(place) = if (lastStays(place)) Arrays.copyOfRange(bytes, from, until) else Array.emptyByteArray
        lastIds(place) = id
      }
      id
    }
  }

  def id(text: String): Long = dictionary.encodeRetained(text)
}
