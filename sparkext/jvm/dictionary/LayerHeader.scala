package org.apache.spark.sql.cqels
package dictionary

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.zip.CRC32C

/** A file of terms is none, or not a whole one; `reason` goes on after its name. */
final class UnreadableTerms(val reason: String) extends RuntimeException(reason)

/** What a file of terms says of itself; `checksum` is that of all bytes behind the header. */
private[dictionary] final case class LayerHeader(hashBits: Int, terms: Int, capacity: Int, textBytes: Long, salted: Int, checksum: Long) {
  def textsAt: Long = LayerFile.textsAt(capacity)
  def saltedAt: Long = textsAt + textBytes
  def fileBytes: Long = saltedAt + 8L * salted

  def write(file: FileChannel): Unit = {
    val bytes = ByteBuffer.allocate(LayerHeader.Bytes).order(ByteOrder.LITTLE_ENDIAN)
    bytes.put(LayerHeader.Magic).putLong(LayerHeader.Version)
    Seq(hashBits.toLong, terms.toLong, capacity.toLong, textBytes, salted.toLong, fileBytes, checksum).foreach(bytes.putLong)
    bytes.putLong(LayerHeader.checksum(bytes)).flip()
    while (bytes.hasRemaining) file.write(bytes, bytes.position.toLong)
  }
}

private[dictionary] object LayerHeader {
  /** A file whose slots are found, or whose terms are hashed, in another way has another number. */
  final val Version = 1L
  private val Magic = "CQELSTRM".getBytes(US_ASCII)
  private final val Bytes = 80

  private def checksum(bytes: ByteBuffer): Long = {
    val sum = new CRC32C
    sum.update(bytes.array, 0, Bytes - 8)
    sum.getValue
  }

  def read(file: FileChannel): LayerHeader = {
    val bytes = ByteBuffer.allocate(Bytes).order(ByteOrder.LITTLE_ENDIAN)
    while (bytes.hasRemaining && file.read(bytes, bytes.position.toLong) > 0) {}
    val there = bytes.position
    bytes.rewind()
    val magic = new Array[Byte](Magic.length)
    bytes.get(magic)
    if (there < Magic.length || !magic.sameElements(Magic)) throw new UnreadableTerms("is no file of terms")
    val version = bytes.getLong()
    if (there < Bytes) throw new UnreadableTerms(s"is cut off after $there bytes")
    if (version != Version) throw new UnreadableTerms(s"has format version $version; this program reads $Version")
    val Seq(hashBits, terms, capacity, textBytes, salted, fileBytes, content) = Seq.fill(7)(bytes.getLong())
    if (bytes.getLong() != checksum(bytes)) throw new UnreadableTerms("has a damaged header")
    if (file.size != fileBytes) throw new UnreadableTerms(s"has ${file.size} bytes in place of $fileBytes: cut off or damaged")
    LayerHeader(hashBits.toInt, terms.toInt, capacity.toInt, textBytes, salted.toInt, content)
  }
}
