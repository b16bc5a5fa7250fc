package org.apache.spark.sql.cqels
package memory

import java.nio.{ByteBuffer, ByteOrder, LongBuffer, MappedByteBuffer}
import java.nio.channels.FileChannel
import java.nio.channels.FileChannel.MapMode
import java.util.zip.CRC32C

import org.apache.spark.unsafe.Platform

/** Bytes of a file as they lie, mapped into memory in pieces: a buffer holds 2 GiB at most.
 *
 *  The system reads pages when they are touched and drops them when memory is short, so a file may be larger than
 *  memory. All is laid out in little-endian words of 8 bytes, and what is read often is read word by word, through
 *  `LongBuffer`s: for texts of some dozen bytes that costs half of what copying and comparing through a `ByteBuffer`
 *  does. Buffers check their bounds: a wrong place in a damaged file is an exception and not the end of the process.
 *  For any thread. Mapped as long as somebody holds it.
 */
private[cqels] final class MappedBytes private (pieces: Array[ByteBuffer], val size: Long, pieceBits: Int) {
  import MappedBytes._

  private val words: Array[LongBuffer] = pieces.map(_.asLongBuffer)
  private val wordBits = pieceBits - 3
  private val wordMask = (1 << wordBits) - 1

  /** The word of 8 bytes that stands at byte `8 * i`. */
  def word(i: Long): Long = words((i >>> wordBits).toInt).get(i.toInt & wordMask)
  def setWord(i: Long, value: Long): Unit = words((i >>> wordBits).toInt).put(i.toInt & wordMask, value)

  /** The first words of the file, if so many lie in one piece; else null. */
  def firstWords(count: Long): LongBuffer = if (count <= wordMask + 1L) words(0) else null

  /** Appends `length` bytes, those from word `from` on. */
  def copy(from: Long, length: Int, out: ByteSink): Unit = {
    val here = (from >>> wordBits).toInt
    val start = from.toInt & wordMask
    val most = (wordMask + 1 - start) * 8L
    if (length > most) {
      out.append(pieces(here), start * 8, most.toInt)
      copy(from + most / 8, length - most.toInt, out)
    } else if (length > LongCopy) out.append(pieces(here), start * 8, length)
    else out.appendWords(words(here), start, length)
  }

  /** Whether the bytes of an array from `begin` until `until` are those from word `from` on, followed by zeros up to
   *  the end of a word.
   */
  def same(from: Long, bytes: Array[Byte], begin: Int, until: Int): Boolean = {
    val here = words((from >>> wordBits).toInt)
    var at = from.toInt & wordMask
    val whole = math.min(here.capacity - at, (until - begin) >>> 3)
    val end = at + whole
    var i = Platform.BYTE_ARRAY_OFFSET.toLong + begin
    while (at < end) {
      if (here.get(at) != littleEndian(Platform.getLong(bytes, i))) return false
      at += 1
      i += 8
    }
    val done = begin + 8 * whole
    if (done == until) true
    else if (until - done >= 8 || at == here.capacity) same(from + whole, bytes, done, until)
    else here.get(at) == lastWord(bytes, done, until, begin)
  }

  /** Adds all bytes from `from` on to a checksum. */
  def addTo(checksum: CRC32C, from: Long): Unit = {
    var at = from
    while (at < size) {
      val rest = pieces((at >>> pieceBits).toInt).duplicate().position((at & ((1L << pieceBits) - 1)).toInt)
      at += rest.remaining
      checksum.update(rest)
    }
  }

  /** Has the system write to disk what was set. */
  def force(): Unit = pieces.foreach { case mapped: MappedByteBuffer => mapped.force() }
}

private[cqels] object MappedBytes {
  /** Pieces of 1 GiB. */
  final val PieceBits = 30

  /** Above so many bytes a bulk copy is faster. */
  private final val LongCopy = 256

  private val swapped = ByteOrder.nativeOrder == ByteOrder.BIG_ENDIAN

  @inline private[memory] def littleEndian(native: Long): Long = if (swapped) java.lang.Long.reverseBytes(native) else native

  /** Fewer than 8 bytes as a word that ends in zeros; those from `begin` on may be read. */
  private def lastWord(bytes: Array[Byte], from: Int, until: Int, begin: Int): Long =
    if (until - begin >= 8)
      littleEndian(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + until - 8)) >>> 8 * (8 - (until - from))
    else {
      var word = 0L
      var i = until
      while (i > from) { i -= 1; word = word << 8 | bytes(i) & 0xffL }
      word
    }

  /** So many bytes of a file; of a file that is written, where it is shorter it grows. */
  def map(file: FileChannel, mode: MapMode, size: Long, pieceBits: Int = PieceBits): MappedBytes = {
    val count = ((size + (1L << pieceBits) - 1) >>> pieceBits).toInt
    val pieces = Array.tabulate(count) { i =>
      val from = i.toLong << pieceBits
      file.map(mode, from, math.min(1L << pieceBits, size - from)).order(ByteOrder.LITTLE_ENDIAN): ByteBuffer
    }
    new MappedBytes(pieces, size, pieceBits)
  }
}
