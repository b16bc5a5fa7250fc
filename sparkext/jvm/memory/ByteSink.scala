package org.apache.spark.sql.cqels
package memory

import java.nio.{ByteBuffer, LongBuffer}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.unsafe.Platform

/** A growable byte array that terms are written to; one is reused for many rows, so it never
  * shrinks.
  */
final class ByteSink(initialCapacity: Int) {

  def this() = this(256)

  private var bytes = new Array[Byte](math.max(16, initialCapacity))
  private var used = 0

  /** The bytes written so far lie in `array` from 0 until `length`; the array is replaced on
    * growth.
    */
  def array: Array[Byte] = bytes

  def length: Int = used

  def reset(): Unit = used = 0

  def append(source: Array[Byte], offset: Int, count: Int): Unit = {
    reserve(count)
    System.arraycopy(source, offset, bytes, used, count)
    used += count
  }

  /** Appends bytes of a buffer, wherever its position is. */
  def append(source: ByteBuffer, offset: Int, count: Int): Unit = {
    reserve(count)
    source.get(offset, bytes, used, count)
    used += count
  }

  /** Appends the first bytes of little-endian words. */
  private[memory] def appendWords(source: LongBuffer, offset: Int, count: Int): Unit = {
    reserve(count + 7) // the last word is written whole
    var at = offset
    var to = Platform.BYTE_ARRAY_OFFSET.toLong + used
    val end = to + count
    while (to < end) {
      Platform.putLong(bytes, to, MappedBytes.littleEndian(source.get(at)))
      at += 1
      to += 8
    }
    used += count
  }

  def append(source: Array[Byte]): Unit = append(source, 0, source.length)

  def appendByte(value: Int): Unit = {
    reserve(1)
    bytes(used) = value.toByte
    used += 1
  }

  /** Appends a text whose characters all lie below U+0080. */
  def appendAscii(text: String): Unit = {
    val count = text.length
    reserve(count)
    var i = 0
    while (i < count) {
      bytes(used + i) = text.charAt(i).toByte
      i += 1
    }
    used += count
  }

  /** Appends the decimal digits of a number, with a minus sign when it is negative. */
  def appendLong(value: Long): Unit =
    if (value == Long.MinValue) appendAscii(value.toString)
    else {
      if (value < 0) appendByte('-')
      appendPadded(math.abs(value), 1)
    }

  /** Appends the digits of a number >= 0, with leading zeros up to `width` digits. */
  def appendPadded(value: Long, width: Int): Unit = {
    val count = math.max(width, ByteSink.digits(value))
    reserve(count)
    var rest = value
    var at = used + count - 1
    while (at >= used) {
      bytes(at) = ('0' + rest % 10).toByte
      rest /= 10
      at -= 1
    }
    used += count
  }

  /** A copy of what was written. */
  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, used)

  /** What was written, read as UTF-8. */
  def text: String = new String(bytes, 0, used, UTF_8)

  private def reserve(count: Int): Unit = {
    val needed = used.toLong + count
    if (needed > bytes.length) {
      val room = math.min(math.max(needed, bytes.length * 2L), Int.MaxValue - 8L)
      if (needed > room) throw new OutOfMemoryError(s"a ByteSink cannot hold $needed bytes")
      bytes = java.util.Arrays.copyOf(bytes, room.toInt)
    }
  }
}

object ByteSink {

  /** How many decimal digits a number >= 0 has. */
  private[cqels] def digits(value: Long): Int = {
    var count = 1
    var bound = 10L
    while (count < 19 && value >= bound) {
      count += 1
      bound *= 10
    }
    count
  }
}
