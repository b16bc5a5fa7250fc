package org.apache.spark.sql.cqels
package dictionary

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.memory.{ByteSink, KeyHash}
import org.apache.spark.sql.cqels.rdf.UnknownTermException
import org.apache.spark.sql.cqels.terms.{TermCodec, TermId}

/** An immutable layer of the dictionary: ids and their canonical texts, in slots that are found by id.
 *
 *  The parts of a quoted triple are in the same layer. There are two classes only, which compilers handle as well as one.
 */
abstract class DictionaryLayer {
  /** The number of terms. */
  def size: Int

  /** The width of the hashes in the ids. */
  def hashBits: Int

  /** Bytes of the heap. */
  def memoryBytes: Long

  /** The slot of an id, -1 when the layer does not hold it. */
  def find(id: Long): Int

  /** The id in a slot, 0 in a free one. */
  def idAt(slot: Int): Long

  private[cqels] def capacity: Int

  /** Writes the text of a slot that holds no quoted triple. */
  protected def appendOwnText(slot: Int, out: ByteSink): Unit

  protected def quotedPart(slot: Int, part: Int): Long

  /** Whether the slot holds the term with this text; not for quoted triples. */
  private[cqels] def hasText(slot: Int, bytes: Array[Byte], from: Int, until: Int): Boolean

  /** Slots of terms whose ids are not their plain hashes. */
  private[cqels] def saltedSlots: Array[Int]

  private[cqels] final def hasText(slot: Int, utf8: Array[Byte]): Boolean = hasText(slot, utf8, 0, utf8.length)

  private[cqels] final def hasParts(slot: Int, s: Long, p: Long, o: Long): Boolean =
    quotedPart(slot, 0) == s && quotedPart(slot, 1) == p && quotedPart(slot, 2) == o

  /** The first used slot after `slot`, -1 at the end; start with -1. */
  final def nextSlot(slot: Int): Int = {
    var next = slot + 1
    while (next < capacity && idAt(next) == 0) next += 1
    if (next < capacity) next else -1
  }

  /** Writes the canonical text of the term in a slot. */
  final def appendText(slot: Int, out: ByteSink): Unit =
    if (idAt(slot) >= 0) appendOwnText(slot, out)
    else {
      out.appendAscii("<< ")
      appendPart(quotedPart(slot, 0), out)
      out.appendByte(' ')
      appendPart(quotedPart(slot, 1), out)
      out.appendByte(' ')
      appendPart(quotedPart(slot, 2), out)
      out.appendAscii(" >>")
    }

  private def appendPart(id: Long, out: ByteSink): Unit =
    if (TermId.isInline(id)) TermCodec.appendInline(id, out)
    else {
      val slot = find(id)
      if (slot < 0) throw new UnknownTermException(id)
      appendText(slot, out)
    }

  /** The canonical text of the term in a slot, as UTF-8. */
  final def utf8At(slot: Int): Array[Byte] = {
    val sink = new ByteSink()
    appendText(slot, sink)
    sink.toBytes
  }

  final def textAt(slot: Int): String = new String(utf8At(slot), UTF_8)

  /** The ids of subject, predicate and object of the quoted triple in a slot, null for other terms. */
  final def quotedAt(slot: Int): Array[Long] =
    if (idAt(slot) >= 0) null
    else Array(quotedPart(slot, 0), quotedPart(slot, 1), quotedPart(slot, 2))

  /** All ids with their canonical texts as UTF-8. */
  final def iterator: Iterator[(Long, Array[Byte])] =
    Iterator
      .iterate(nextSlot(-1))(nextSlot)
      .takeWhile(_ >= 0)
      .map(slot => (idAt(slot), utf8At(slot)))
}

private[cqels] object DictionaryLayer {
  final val MaxCapacity = Int.MaxValue - 16

  /** The first slot to look at: the upper half of a multiplicative hash, scaled to the capacity. Saved layers rest on it. */
  @inline def home(id: Long, capacity: Int): Int =
    ((KeyHash.spread(id) >>> 32) * capacity >>> 32).toInt

  /** Slots for so many terms, four fifths of them used. */
  def capacityFor(entries: Long): Int =
    math.min(entries + entries / 4 + 2, MaxCapacity.toLong).toInt
}
