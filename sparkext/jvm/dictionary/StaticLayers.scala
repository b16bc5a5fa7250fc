package org.apache.spark.sql.cqels
package dictionary

import scala.annotation.tailrec

import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.terms.TermKey

/** The static layers of a dictionary, read without a lock.
 *
 *  A term is looked for in one layer after the other, so small ones do not stay: a layer that is at most `Growth` times
 *  as large as the one after it is merged with it. There are about as many as the logarithm of the number of terms,
 *  after thousands of small loads, too, and a term is copied about as often. What would be more than `most` terms
 *  together is left apart.
 */
private[cqels] final class StaticLayers(most: Int) {

  @volatile private var held = new Array[DictionaryLayer](0)

  /** All layers of this moment; some terms may be in several. */
  def all: Array[DictionaryLayer] = held

  /** The number of terms, those in several layers counted once for each. */
  def size: Long = held.iterator.map(_.size.toLong).sum

  def memoryBytes: Long = held.iterator.map(_.memoryBytes).sum

  /** The first layer that holds an id, null when none does. */
  def of(id: Long): DictionaryLayer = {
    val known = held
    var i = 0
    while (i < known.length) {
      if (known(i).find(id) >= 0) return known(i)
      i += 1
    }
    null
  }

  /** Whether the id is that of the term with this text; not for quoted triples. */
  def hasText(id: Long, bytes: Array[Byte], from: Int, until: Int): Boolean = {
    val known = held
    var i = 0
    while (i < known.length) {
      val slot = known(i).find(id)
      if (slot >= 0) return known(i).hasText(slot, bytes, from, until)
      i += 1
    }
    false
  }

  /** Whether the id is that of this term. */
  def holds(id: Long, key: TermKey): Boolean = {
    val layer = of(id)
    layer != null && LayerTerms.holds(layer, layer.find(id), key)
  }

  /** Writes the canonical text of a term; false when no layer has it. */
  def appendText(id: Long, out: ByteSink): Boolean = {
    val known = held
    var i = 0
    while (i < known.length) {
      val slot = known(i).find(id)
      if (slot >= 0) {
        known(i).appendText(slot, out)
        return true
      }
      i += 1
    }
    false
  }

  /** Takes in a layer, which must agree with all others. */
  def add(layer: DictionaryLayer): Unit = synchronized {
    if (layer.size > 0) held = held :+ layer
  }

  /** Merges the last layers where they are small; needs no lock, as those that read go on with what there was. */
  @tailrec
  def merge(): Unit = {
    val known = held
    if (known.length >= 2) {
      val Array(before, last) = known.takeRight(2)
      val total = before.size.toLong + last.size
      if (before.size <= StaticLayers.Growth * last.size.toLong && total <= most) {
        val merged = CompactDictionary.merged(before, last)
        // False when another thread was faster, which then goes on.
        if (replace(before, last, merged)) merge()
      }
    }
  }

  private def replace(before: DictionaryLayer, last: DictionaryLayer, merged: DictionaryLayer): Boolean = synchronized {
    val at = held.indexWhere(_ eq before)
    val there = at >= 0 && at + 1 < held.length && (held(at + 1) eq last)
    if (there) held = held.patch(at, Seq(merged), 2)
    there
  }
}

private[cqels] object StaticLayers {
  final val Growth = 2

  /** Merging so many terms takes seconds, in the thread that loads, and their memory once more. */
  final val MostMerged = 1 << 22
}
