package org.apache.spark.sql.cqels
package ingest

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Path, StandardOpenOption}

/** Bytes that Python hands over, and long answers to it, in a file that lies in memory where the machine has such files.
 *
 *  py4j would encode the bytes, and sends what it cannot send at once 40 milliseconds later. One block at a time; what is read
 *  is valid until the next call.
 */
final class Handover(file: Path) {
  import Handover._

  private var channel: FileChannel = _
  private var held = Array.emptyByteArray

  /** The first `length` bytes of the file, in an array that may be longer. */
  def read(length: Int): Array[Byte] = synchronized {
    if (held.length < length || held.length > MostKept) held = new Array[Byte](math.max(length, Least))
    val target = ByteBuffer.wrap(held, 0, length)
    while (target.hasRemaining)
      if (opened().read(target, target.position.toLong) < 0) throw new EOFException(s"$file has fewer than $length bytes")
    held
  }

  /** An answer for Python: the text itself, or where it is long "@" and how many bytes of it the file holds. */
  def answer(text: String): String =
    if (text.length <= MostSent) text
    else synchronized {
      val bytes = ByteBuffer.wrap(text.getBytes(UTF_8))
      val length = bytes.remaining
      while (bytes.hasRemaining) opened().write(bytes, bytes.position.toLong)
      s"@$length"
    }

  private def opened(): FileChannel = {
    if (channel == null) channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)
    channel
  }

  def close(): Unit = synchronized { if (channel != null) channel.close(); channel = null }
}

private object Handover {
  final val Least = 1 << 16
  /** Longer texts do not fit into the first packet. */
  final val MostSent = 2000
  /** A larger array is let go with the next block. */
  final val MostKept = 1 << 25
}
