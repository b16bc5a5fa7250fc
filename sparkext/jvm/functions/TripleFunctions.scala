package org.apache.spark.sql.cqels
package functions

import org.apache.spark.sql.cqels.terms.TermCodec

/** Quoted triples in expressions: made from their parts and taken apart again; null is an error. */
object TripleFunctions {

  /** A literal is no subject, in RDF 1.2 neither is a triple, and only an IRI is a predicate. */
  def triple(room: Long, subject: Long, predicate: Long, obj: Long): java.lang.Long =
    if (TermValues.isLiteral(subject) || !TermCodec.isIri(predicate) || (TermCodec.isQuoted(subject) && TermValues.readsRdf12(room))) null
    else if ((TermCodec.isQuoted(subject) || TermCodec.isQuoted(obj)) && within(room, subject, within(room, obj, Bounds.MostTriples)) <= 0) null
    else TermValues.dictionary(room).encodeQuoted(subject, predicate, obj)

  /** What is left of `left` when the quoted triples that a term holds are taken off, itself included; 0 when they are more. */
  private def within(room: Long, id: Long, left: Int): Int =
    if (left <= 0 || !TermCodec.isQuoted(id)) left
    else {
      val all = parts(room, id)
      within(room, all(2), within(room, all(0), left - 1))
    }

  def isTriple(id: Long): Boolean = TermCodec.isQuoted(id)

  def subject(room: Long, id: Long): java.lang.Long = part(room, id, 0)
  def predicate(room: Long, id: Long): java.lang.Long = part(room, id, 1)
  def obj(room: Long, id: Long): java.lang.Long = part(room, id, 2)

  private def part(room: Long, id: Long, place: Int): java.lang.Long = {
    val all = parts(room, id)
    if (all == null) null else all(place)
  }

  /** Ids of subject, predicate and object; null for every other term. */
  private[cqels] def parts(room: Long, id: Long): Array[Long] =
    if (TermCodec.isQuoted(id)) TermValues.dictionary(room).quoted(id) else null

  /** `a = b` for two quoted triples that are not the same term: by their parts; null when it cannot be told. */
  private[cqels] def equal(room: Long, a: Long, b: Long): java.lang.Boolean = {
    val (x, y) = (parts(room, a), parts(room, b))
    var known = true
    var i = 0
    while (i < 3) {
      val same = TermValues.equal(room, x(i), y(i))
      if (same == null) known = false
      else if (!same) return false
      i += 1
    }
    if (known) true else null
  }

  /** The order of two quoted triples as `<` has it: by the first parts that differ, if these have an order. */
  private[cqels] def compare(room: Long, a: Long, b: Long): Int = {
    val (x, y) = (parts(room, a), parts(room, b))
    var i = 0
    while (i < 3) {
      val same = TermValues.equal(room, x(i), y(i))
      if (same == null) return TermValues.Undecided
      if (!same) return TermValues.compareKnown(room, x(i), y(i))
      i += 1
    }
    0
  }

  /** Their place in the order of ORDER BY: by subject, then predicate, then object. */
  private[cqels] def order(room: Long, a: Long, b: Long): Int = {
    val (x, y) = (parts(room, a), parts(room, b))
    var i = 0
    while (i < 3) {
      val c = TermValues.order(room, x(i), y(i))
      if (c != 0) return c
      i += 1
    }
    0
  }
}
