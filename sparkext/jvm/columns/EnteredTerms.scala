package org.apache.spark.sql.cqels
package columns

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.rdf.NQuadsReader

/** Columns of terms, by part and role, entered into the dictionary: each distinct term once, and held once until `settle`. */
private[cqels] final class EnteredTerms(dictionary: Dictionary, parts: Array[Array[ReadTerms]]) {
  import TermReader._

  private val ids: Array[Array[Array[Long]]] = parts.map(_.map(entered)) // by part, role and code
  private val counts: Array[Array[Array[Int]]] = parts.map(_.map(terms => new Array[Int](terms.size)))
  private var scope: String = _ // of the blank nodes of the element of now; null: none yet

  /** Ids of all terms that are not another one in each element. */
  private def entered(terms: ReadTerms): Array[Long] = {
    val found = new Array[Long](terms.size)
    var code = 0
    while (code < found.length) {
      val state = terms.states(code)
      if (state == AsItStands || state == Term) found(code) = dictionary.encodeRetained(terms.bytes(code), terms.from(code), terms.until(code))
      code += 1
    }
    found
  }

  /** From now on blank nodes are those of another element. */
  def beginElement(): Unit = scope = null

  /** The id of a term that is the same in all elements, held no more for it. */
  def id(part: Int, role: Int, code: Int): Long = ids(part)(role)(code)

  /** The id of a row's term, held once more. */
  def hold(part: Int, role: Int, row: Int): Long = {
    val terms = parts(part)(role)
    val code = terms.codes(row)
    if (terms.states(code) == Scoped) scoped(terms.text(code))
    else {
      counts(part)(role)(code) += 1
      ids(part)(role)(code)
    }
  }

  private def scoped(text: String): Long = {
    if (scope == null) scope = dictionary.takeElementScope()
    if (text.startsWith("_:")) dictionary.encodeRetained("_:" + scope + text.substring(2))
    else dictionary.encodeRetained(new NQuadsReader(scope, false, false, true).parseTerm(text))
  }

  /** Holds each term as often as `hold` gave it, but for rows of ids that were taken out again. */
  def settle(gone: LongTable): Unit = {
    for (part <- ids.indices; role <- ids(part).indices) {
      val (held, cells) = (ids(part)(role), counts(part)(role))
      val unused = new Array[Long](held.length)
      var n = 0
      var code = 0
      while (code < held.length) {
        if (held(code) != 0 && cells(code) == 0) { unused(n) = held(code); n += 1 }
        cells(code) = math.max(0, cells(code) - 1)
        code += 1
      }
      dictionary.retain(held, cells)
      dictionary.release(unused, n)
    }
    // Not before: of terms that are held once until now, the others would be lost.
    dictionary.release(gone.data, gone.rowCount * gone.arity)
  }
}
