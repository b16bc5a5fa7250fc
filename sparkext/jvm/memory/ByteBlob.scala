package org.apache.spark.sql.cqels
package memory

import java.io.{ObjectInput, ObjectOutput}
import java.util.Arrays

/** Byte strings one after another in chunks, up to 2^40 bytes; a string may lie across chunks.
  *
  * A string is preceded by its length: seven bits a byte, the lowest first, the top bit meaning
  * "more".
  */
private[cqels] final class ByteBlob {

  import ByteBlob._

  private var chunks = new Array[Array[Byte]](1)
  private var used = 0L

  chunks(0) = new Array[Byte](FirstChunk)

  def memoryBytes: Long = chunks.iterator.map(_.length.toLong).sum

  /** Adds a string; answers the place to give to the other methods. */
  def append(bytes: Array[Byte]): Long = {
    val place = used
    var rest = bytes.length
    while (rest >= 0x80) {
      put(rest & 0x7f | 0x80)
      rest >>>= 7
    }
    put(rest)
    var from = 0
    while (from < bytes.length) {
      ensureRoom()
      val chunk = chunks((used >>> ChunkBits).toInt)
      val start = (used & ChunkMask).toInt
      val count = math.min(bytes.length - from, chunk.length - start)
      System.arraycopy(bytes, from, chunk, start, count)
      from += count
      used += count
    }
    place
  }

  /** Adds numbers of 8 bytes each, without a length. */
  def appendLongs(values: Array[Long]): Long = {
    val place = used
    for (value <- values; shift <- 0 until 64 by 8) put((value >>> shift).toInt)
    place
  }

  def lengthAt(place: Long): Int = {
    var at = place
    var length = 0
    var shift = 0
    var more = true
    while (more) {
      val b = byteAt(at)
      length |= (b & 0x7f) << shift
      shift += 7
      at += 1
      more = b < 0
    }
    length
  }

  /** Where the bytes of the string begin. */
  def startOf(place: Long): Long = {
    var at = place
    while (byteAt(at) < 0) at += 1
    at + 1
  }

  def longAt(place: Long): Long = {
    var value = 0L
    var i = 7
    while (i >= 0) {
      value = value << 8 | (byteAt(place + i) & 0xffL)
      i -= 1
    }
    value
  }

  def copy(from: Long, length: Int, out: ByteSink): Unit = {
    var at = from
    var rest = length
    while (rest > 0) {
      val start = (at & ChunkMask).toInt
      val count = math.min(rest, ChunkSize - start)
      out.append(chunks((at >>> ChunkBits).toInt), start, count)
      at += count
      rest -= count
    }
  }

  def sameAt(place: Long, bytes: Array[Byte]): Boolean = sameAt(place, bytes, 0, bytes.length)

  def sameAt(place: Long, bytes: Array[Byte], begin: Int, until: Int): Boolean =
    lengthAt(place) == until - begin && {
      var at = startOf(place)
      var from = begin
      var same = true
      while (same && from < until) {
        val start = (at & ChunkMask).toInt
        val count = math.min(until - from, ChunkSize - start)
        val chunk = chunks((at >>> ChunkBits).toInt)
        same = Arrays.equals(chunk, start, start + count, bytes, from, from + count)
        from += count
        at += count
      }
      same
    }

  /** Gives back the room that is not used. */
  def trim(): Unit = {
    val last = ((used + ChunkMask) >>> ChunkBits).toInt - 1
    chunks = Arrays.copyOf(chunks, math.max(1, last + 1))
    val index = chunks.length - 1
    chunks(index) = Arrays.copyOf(chunks(index), (used - (index.toLong << ChunkBits)).toInt)
  }

  private def byteAt(at: Long): Byte = chunks((at >>> ChunkBits).toInt)((at & ChunkMask).toInt)

  private def put(value: Int): Unit = {
    ensureRoom()
    chunks((used >>> ChunkBits).toInt)((used & ChunkMask).toInt) = value.toByte
    used += 1
  }

  private def ensureRoom(): Unit = {
    val index = (used >>> ChunkBits).toInt
    if (index == chunks.length) chunks = Arrays.copyOf(chunks, index + index / 2 + 1)
    if (chunks(index) == null) chunks(index) = new Array[Byte](ChunkSize)
    else if ((used & ChunkMask).toInt == chunks(index).length)
      chunks(index) = Arrays.copyOf(chunks(index), math.min(ChunkSize, chunks(index).length * 2))
  }

  def write(out: ObjectOutput): Unit = {
    out.writeLong(used)
    var at = 0L
    while (at < used) {
      val count = math.min(used - at, ChunkSize).toInt
      out.write(chunks((at >>> ChunkBits).toInt), 0, count)
      at += count
    }
  }
}

private[cqels] object ByteBlob {

  private final val ChunkBits = 24
  private final val ChunkSize = 1 << ChunkBits
  private final val ChunkMask = ChunkSize - 1L
  private final val FirstChunk = 1024

  def read(in: ObjectInput): ByteBlob = {
    val blob = new ByteBlob
    blob.used = in.readLong()
    val count = math.max(1L, (blob.used + ChunkMask) >>> ChunkBits).toInt
    blob.chunks = Array.tabulate(count) { index =>
      val rest = blob.used - (index.toLong << ChunkBits)
      val chunk = new Array[Byte](math.min(ChunkSize.toLong, rest).toInt)
      in.readFully(chunk)
      chunk
    }
    blob
  }
}
