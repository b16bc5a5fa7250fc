package org.apache.spark.sql.cqels
package dictionary

import java.nio.channels.FileChannel
import java.nio.channels.FileChannel.MapMode
import java.nio.file.{Path, StandardOpenOption}

import org.apache.spark.sql.cqels.memory.{ByteSink, MappedBytes}

/** A layer of the dictionary that is read where it lies in a file ([[LayerFile]] says how): opening it reads the header,
 *  and look-ups have the system read the pages that they touch. A look-up touches the id's page and, where it wants the
 *  text, the one with the text's place and that of the text.
 */
final class MappedDictionary private[dictionary] (bytes: MappedBytes, header: LayerHeader) extends DictionaryLayer {
  import LayerFile._

  private val slots = header.capacity
  private val placesAt = IdsAt + slots
  private val textsAt = header.textsAt / 8
  private val table = bytes.firstWords(placesAt) // null: the ids lie in several pieces
  private val salted: Array[Int] = Array.tabulate(header.salted)(i => bytes.word(header.saltedAt / 8 + i).toInt)

  override def size: Int = header.terms
  override def hashBits: Int = header.hashBits
  override def memoryBytes: Long = 4L * salted.length
  override private[cqels] def capacity: Int = slots
  override private[cqels] def saltedSlots: Array[Int] = salted

  override def find(id: Long): Int = {
    val here = table
    var slot = DictionaryLayer.home(id, slots)
    var turns = 0
    while (turns < 2) {
      val held = if (here == null) bytes.word(IdsAt + slot) else here.get(IdsAt.toInt + slot)
      if (held == 0) return -1
      if (held == id) return slot
      slot += 1
      if (slot == slots) { slot = 0; turns += 1 }
    }
    throw new UnreadableTerms("has no free slot: damaged")
  }

  override def idAt(slot: Int): Long = bytes.word(IdsAt + slot)

  private def placed(slot: Int): Long = bytes.word(placesAt + slot)

  override protected def appendOwnText(slot: Int, out: ByteSink): Unit = {
    val there = placed(slot)
    val length = lengthOf(there)
    val at = textsAt + placeOf(there)
    if (length < LongText) bytes.copy(at, length, out) else bytes.copy(at + 1, bytes.word(at).toInt, out)
  }

  override private[cqels] def hasText(slot: Int, text: Array[Byte], from: Int, until: Int): Boolean = {
    val there = placed(slot)
    val length = lengthOf(there)
    val at = textsAt + placeOf(there)
    if (length < LongText) length == until - from && bytes.same(at, text, from, until)
    else bytes.word(at) == until - from && bytes.same(at + 1, text, from, until)
  }

  override protected def quotedPart(slot: Int, part: Int): Long = bytes.word(textsAt + placeOf(placed(slot)) + part)
}

object MappedDictionary {
  /** So small a file is read whole and held to its checksum when it is opened. */
  final val SmallFile = 16L << 20

  /** Opens what [[LayerFile]] has written; throws [[UnreadableTerms]] for anything else. */
  def open(path: Path): MappedDictionary = open(path, MappedBytes.PieceBits)

  /** The same with pieces of so many bits. */
  def open(path: Path, pieceBits: Int): MappedDictionary = {
    val file = FileChannel.open(path, StandardOpenOption.READ)
    try {
      val header = LayerHeader.read(file)
      val bytes = MappedBytes.map(file, MapMode.READ_ONLY, header.fileBytes, pieceBits)
      if (header.fileBytes <= SmallFile && LayerFile.checksum(bytes) != header.checksum)
        throw new UnreadableTerms("does not match its checksum: damaged")
      new MappedDictionary(bytes, header)
    } finally file.close()
  }
}
