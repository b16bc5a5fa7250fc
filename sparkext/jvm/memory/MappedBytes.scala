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
 *  memory. Numbers are little-endian, of 8 bytes, and lie at multiples of 8: word 1 at byte 8. They are read through
 *  `LongBuffer`s, which costs less than the same of a `ByteBuffer` and little more than an array. Buffers check their
 *  bounds: a wrong place in a damaged file is an exception and not the end of the process.
 *  For any thread. Mapped as long as somebody holds it.
 */
private[cqels] final class MappedBytes private (pieces: Array[ByteBuffer], val size: Long, pieceBits: Int) {
  import MappedBytes._

  private val words: Array[LongBuffer] = pieces.map(_.asLongBuffer)
  private val wordBits = pieceBits - 3
  private val wordMask = (1 << wordBits) - 1
  private val pieceMask = (1L << pieceBits) - 1

  @inline private def piece(at: Long): ByteBuffer = pieces((at >>> pieceBits).toInt)
  @inline private def inside(at: Long): Int = (at & pieceMask).toInt

  /** The number at byte `8 * i`. */
  def word(i: Long): Long = words((i >>> wordBits).toInt).get(i.toInt & wordMask)
  def setWord(i: Long, value: Long): Unit = words((i >>> wordBits).toInt).put(i.toInt & wordMask, value)

  /** Appends the bytes from `from` on to `out`. */
  def copy(from: Long, length: Int, out: ByteSink): Unit = {
    val here = piece(from)
    val start = inside(from)
    if (start + length <= here.capacity) out.append(here, start, length)
    else {
      val count = here.capacity - start
      out.append(here, start, count)
      copy(from + count, length - count, out)
    }
  }

  /** Whether the bytes from `at` on are those of an array from `from` until `until`. */
  def same(at: Long, bytes: Array[Byte], from: Int, until: Int): Boolean = {
    val here = piece(at)
    val start = inside(at)
    val count = math.min(until - from, here.capacity - start)
    var i = 0
    while (i + 8 <= count) {
      if (here.getLong(start + i) != littleEndian(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + from + i))) return false
      i += 8
    }
    while (i < count) {
      if (here.get(start + i) != bytes(from + i)) return false
      i += 1
    }
    from + count == until || same(at + count, bytes, from + count, until)
  }

  /** Adds all bytes from `from` on to a checksum. */
  def addTo(checksum: CRC32C, from: Long): Unit = {
    var at = from
    while (at < size) {
      val rest = piece(at).duplicate().position(inside(at))
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

  private val swapped = ByteOrder.nativeOrder == ByteOrder.BIG_ENDIAN

  @inline private def littleEndian(native: Long): Long = if (swapped) java.lang.Long.reverseBytes(native) else native

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
