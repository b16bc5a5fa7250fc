package org.apache.spark.sql.cqels
package dictionary

import org.apache.spark.sql.cqels.rdf.IdCollision
import org.apache.spark.sql.cqels.terms.{QuotedKey, TermKey, TextKey}

/** Comparing the terms of static layers with other terms and with each other. */
private[cqels] object LayerTerms {

  /** What makes the term in a slot itself. */
  def key(layer: DictionaryLayer, slot: Int): TermKey = {
    val parts = layer.quotedAt(slot)
    if (parts == null) new TextKey(layer.utf8At(slot))
    else new QuotedKey(parts(0), parts(1), parts(2))
  }

  /** Whether the slot holds this term. */
  def holds(layer: DictionaryLayer, slot: Int, key: TermKey): Boolean = key match {
    case quoted: QuotedKey => layer.hasParts(slot, quoted.s, quoted.p, quoted.o)
    case text: TextKey => layer.hasText(slot, text.utf8)
  }

  /** Throws [[IdCollision]] when an id stands for one term in `known` and for another in `added`.
    */
  def requireAgreement(known: DictionaryLayer, added: DictionaryLayer): Unit = {
    val (few, many) = if (known.size < added.size) (known, added) else (added, known)
    var slot = few.nextSlot(-1)
    while (slot >= 0) {
      val id = few.idAt(slot)
      val other = many.find(id)
      if (other >= 0 && !holds(many, other, key(few, slot)))
        throw new IdCollision(id, known.textAt(known.find(id)), added.textAt(added.find(id)))
      slot = few.nextSlot(slot)
    }
  }
}
