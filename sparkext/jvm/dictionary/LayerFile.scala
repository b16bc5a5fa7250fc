package org.apache.spark.sql.cqels
package dictionary

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.channels.FileChannel.MapMode
import java.nio.file.{Path, StandardOpenOption}
import java.util.zip.CRC32C

import org.apache.spark.sql.cqels.memory.{ByteSink, MappedBytes}

/** The static terms of a dictionary in a file that is used as it lies.
 *
 *  A page with the header; a table with open addressing and linear probing over ids, two thirds full: all ids first, so
 *  that what is not there is known soon, and the places of their texts after them, together 24 bytes a term; the texts,
 *  in the order of the slots of the layers that they come from; the slots of terms whose ids are not their plain hashes.
 *  Numbers are little-endian, of 8 bytes.
 *
 *  The id of a free slot is 0. A text ends with zeros up to a whole word. Its place is counted in words from the first
 *  text, with the length in bytes in the upper 24 bits; that of a text that is too long for them stands before it. A quoted triple has the ids of its three parts in place of a text.
 */
private[cqels] object LayerFile {
  private final val HeaderBytes = 4096L
  /** The word of the first slot's id; the places come after the last slot's. */
  final val IdsAt = HeaderBytes / 8
  /** The length that says that the length is beside the text. */
  final val LongText = 0xffffff

  private final val PlaceBits = 40
  private final val PlaceMask = (1L << PlaceBits) - 1
  private final val BufferBytes = 1 << 20

  @inline def lengthOf(placed: Long): Int = (placed >>> PlaceBits).toInt
  @inline def placeOf(placed: Long): Long = placed & PlaceMask

  def textsAt(capacity: Int): Long = HeaderBytes + 16L * capacity

  /** Slots for so many terms. */
  private def capacityFor(terms: Long): Int = math.min(terms + terms / 2 + 2, DictionaryLayer.MaxCapacity.toLong).toInt

  /** The checksum of all that is behind the header. */
  def checksum(bytes: MappedBytes): Long = {
    val sum = new CRC32C
    bytes.addTo(sum, HeaderBytes)
    sum.getValue
  }

  /** Writes the terms of layers that agree, each once, to a new file; answers how many. It is on disk afterwards. */
  def write(layers: Array[DictionaryLayer], hashBits: Int, path: Path, pieceBits: Int = MappedBytes.PieceBits): Int = {
    import StandardOpenOption._
    val file = FileChannel.open(path, CREATE_NEW, READ, WRITE)
    try {
      val terms = layers.indices.map(i => ownSlots(layers, i).size.toLong).sum
      val capacity = capacityFor(terms)
      if (terms >= capacity) throw new IllegalStateException(s"a file cannot hold $terms terms")
      val texts = new Appender(file)
      // Not left out: a full disk is to be met here, where it is an exception, and not in the mapped slots.
      texts.zeros(textsAt(capacity))
      texts.flush()
      val slots = MappedBytes.map(file, MapMode.READ_WRITE, texts.at, pieceBits)
      val begin = texts.at
      val salted = Array.newBuilder[Long]
      val sink = new ByteSink
      for (i <- layers.indices) {
        val layer = layers(i)
        val saltedHere = layer.saltedSlots.toSet
        for (from <- ownSlots(layers, i)) {
          val id = layer.idAt(from)
          var slot = DictionaryLayer.home(id, capacity)
          while (slots.word(IdsAt + slot) != 0) { slot += 1; if (slot == capacity) slot = 0 }
          slots.setWord(IdsAt + slot, id)
          slots.setWord(IdsAt + capacity + slot, append(layer, from, id, texts, begin, sink))
          if (saltedHere(from)) salted += slot
        }
      }
      val textBytes = texts.at - begin
      val saltedSlots = salted.result()
      saltedSlots.foreach(texts.long)
      texts.flush()
      slots.force()
      val content = checksum(MappedBytes.map(file, MapMode.READ_ONLY, texts.at, pieceBits))
      LayerHeader(hashBits, terms.toInt, capacity, textBytes, saltedSlots.length, content).write(file)
      file.force(true)
      terms.toInt
    } finally file.close()
  }

  /** The slots of a layer whose terms are in none before it. */
  private def ownSlots(layers: Array[DictionaryLayer], i: Int): Iterator[Int] = {
    val layer = layers(i)
    val slots = Iterator.iterate(layer.nextSlot(-1))(layer.nextSlot).takeWhile(_ >= 0)
    if (i == 0) slots
    else slots.filter { slot =>
      val id = layer.idAt(slot)
      var before = 0
      while (before < i && layers(before).find(id) < 0) before += 1
      before == i
    }
  }

  private def append(layer: DictionaryLayer, slot: Int, id: Long, texts: Appender, begin: Long, sink: ByteSink): Long = {
    var length = 0
    val place = (texts.at - begin) / 8
    if (place > PlaceMask) throw new IllegalStateException(s"a file cannot hold more than $PlaceMask words of texts")
    if (id < 0) layer.quotedAt(slot).foreach(texts.long)
    else {
      sink.reset()
      layer.appendText(slot, sink)
      length = math.min(sink.length, LongText)
      if (length == LongText) texts.long(sink.length)
      texts.bytes(sink.array, sink.length)
      texts.align()
    }
    length.toLong << PlaceBits | place
  }

  /** Writes one after the other. */
  private final class Appender(file: FileChannel) {
    private val buffer = ByteBuffer.allocateDirect(BufferBytes).order(ByteOrder.LITTLE_ENDIAN)
    private var flushed = 0L

    def at: Long = flushed + buffer.position

    def flush(): Unit = {
      buffer.flip()
      while (buffer.hasRemaining) flushed += file.write(buffer, flushed)
      buffer.clear()
    }

    def long(value: Long): Unit = { if (buffer.remaining < 8) flush(); buffer.putLong(value) }

    def bytes(source: Array[Byte], length: Int): Unit = {
      var from = 0
      while (from < length) {
        if (!buffer.hasRemaining) flush()
        val count = math.min(length - from, buffer.remaining)
        buffer.put(source, from, count)
        from += count
      }
    }

    def align(): Unit = while (at % 8 != 0) { if (!buffer.hasRemaining) flush(); buffer.put(0.toByte) }

    def zeros(until: Long): Unit = {
      val none = new Array[Byte](BufferBytes)
      while (at < until) bytes(none, math.min(none.length.toLong, until - at).toInt)
    }
  }
}
