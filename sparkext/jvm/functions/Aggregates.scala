package org.apache.spark.sql.cqels
package functions

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.cqels.terms.TermCodec

/** SPARQL's set functions over the gathered values of a group (SPARQL 1.1, section 18.5.1).
 *
 *  An element 0 stands for an error or an unbound value, which makes the whole one.
 */
object Aggregates {
  def sum(room: Long, values: ArrayData): java.lang.Long = {
    val total = new Numbers.Sum
    var i = 0
    while (i < values.numElements()) {
      val id = values.getLong(i)
      if (id == 0 || Numbers.rank(room, id) == 0) return null
      total.add(room, id)
      i += 1
    }
    if (i == 0) TermCodec.integerId(0) else total.term(room)
  }

  def average(room: Long, values: ArrayData): java.lang.Long = {
    val n = values.numElements()
    if (n == 0) TermCodec.integerId(0)
    else {
      val total = sum(room, values)
      if (total == null) null else TermValues.divide(room, total, TermCodec.integerId(n))
    }
  }

  /** GROUP_CONCAT: the STR of each value, with a string between them; the order is that of the rows. */
  def concatenation(room: Long, values: ArrayData, separator: Long): java.lang.Long = {
    val between = TermValues.lexical(room, separator)
    val out = new StringBuilder
    var i = 0
    while (i < values.numElements()) {
      val id = values.getLong(i)
      if (!TermCodec.isIri(id) && !TermValues.isLiteral(id)) return null
      if (i > 0) out.append(between)
      out.append(TermValues.lexical(room, id))
      if (out.length > Bounds.MostText) return null
      i += 1
    }
    TermValues.string(room, out.toString)
  }
}
