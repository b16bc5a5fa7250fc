package org.apache.spark.sql.cqels
package ingest

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}

/** Bytes that Python hands over, in a file that lies in memory where the machine has such files: py4j would encode them.
 *
 *  One block at a time; what is read is valid until the next call.
 */
final class Handover(file: Path) {
  import Handover._

  private var channel: FileChannel = _
  private var held = Array.emptyByteArray

  /** The first `length` bytes of the file, in an array that may be longer. */
  def read(length: Int): Array[Byte] = synchronized {
    if (channel == null) channel = FileChannel.open(file, StandardOpenOption.READ)
    if (held.length < length || held.length > MostKept) held = new Array[Byte](math.max(length, Least))
    val target = ByteBuffer.wrap(held, 0, length)
    while (target.hasRemaining)
      if (channel.read(target, target.position.toLong) < 0) throw new EOFException(s"$file has fewer than $length bytes")
    held
  }

  def close(): Unit = synchronized { if (channel != null) channel.close(); channel = null }
}

private object Handover {
  final val Least = 1 << 16
  /** A larger array is let go with the next block. */
  final val MostKept = 1 << 25
}
