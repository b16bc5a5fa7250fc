package org.apache.spark.sql.cqels
package indexes

import java.io.{ByteArrayInputStream, DataInputStream, DataOutputStream, IOException}
import java.util.zip.CRC32C

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

/** Files of an index are none, or not whole ones; the message names the folder. */
final class UnreadableIndex(message: String, cause: Throwable = null) extends RuntimeException(message, cause)

/** A block of an index would be larger than what is mapped in one piece; the message names the folder. */
final class OversizedIndex(message: String) extends RuntimeException(message)

/** One block of an index: the keys whose hashes are in one of equal ranges, with their rows.
 *
 *  `home` slots are where keys belong, `slots` are there: a key goes to the first free one from its own on, and the last one is free. Where
 *  `unique`, each key has one row; else `cells` are words of lists, each with its [[ListFilter]] behind it.
 */
private[indexes] final case class BlockLayout(home: Int, slots: Int, keys: Int, rows: Int, cells: Int, unique: Boolean) {
  /** Words of 8 bytes: of a slot the hash of its key and, packed, the place and the number of its rows; then the lists. */
  def words: Long = 2L * slots + (if (unique) 0 else cells)
}

/** An index of one table by one of its two columns: a folder of blocks, a power of two of them, and a file that says that they are whole. */
private[indexes] final class IndexLayout(val folder: String, val blocks: Array[BlockLayout]) extends Serializable {
  val blockBits: Int = 31 - Integer.numberOfLeadingZeros(blocks.length)
  def rows: Long = blocks.foldLeft(0L)(_ + _.rows)
  def keys: Long = blocks.foldLeft(0L)(_ + _.keys)
  def bytes: Long = blocks.foldLeft(0L)(_ + 8 * _.words)
  def file(block: Int): String = s"$folder/${IndexLayout.name(block)}"
}

private[indexes] object IndexLayout {
  private final val Magic = 0x4351454C53494458L // "CQELSIDX"
  /** Another one where slots, hashes, blocks or lists are others. */
  private final val Version = 2
  private final val Head = "index.bin"

  def name(block: Int): String = "block-%05d.bin".formatLocal(java.util.Locale.ROOT, block)

  /** Words of a block, at most: a file is mapped in one piece. */
  final val MostWords = Int.MaxValue / 8

  /** With more, places would leave less than a million slots to each. */
  private final val MostBlocks = 512

  /** How many blocks so many rows get: about a million rows each. */
  def blocksFor(rows: Long): Int = {
    var count = 1
    while (count < MostBlocks && rows > (count.toLong << 20)) count *= 2
    count
  }

  @inline def blockOf(hash: Long, blockBits: Int): Int = ((hash >>> 32) >>> (32 - blockBits)).toInt
  @inline def homeOf(hash: Long, blockBits: Int, home: Int): Int = ((((hash << blockBits) >>> 32) * home) >>> 32).toInt

  def isThere(folder: String, conf: Configuration): Boolean = {
    val head = new Path(folder, Head)
    head.getFileSystem(conf).exists(head)
  }

  /** Says that the blocks are whole: after they have been written. */
  def write(layout: IndexLayout, conf: Configuration): Unit = {
    val bytes = new java.io.ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeLong(Magic)
    out.writeInt(Version)
    out.writeInt(layout.blocks.length)
    layout.blocks.foreach { b => Seq(b.home, b.slots, b.keys, b.rows, b.cells).foreach(out.writeInt); out.writeBoolean(b.unique) }
    out.writeLong(checksum(bytes.toByteArray))
    val (to, partial) = (new Path(layout.folder, Head), new Path(layout.folder, s"$Head.partial"))
    val system = to.getFileSystem(conf)
    val file = system.create(partial, true)
    try file.write(bytes.toByteArray) finally file.close()
    if (!system.rename(partial, to)) throw new IOException(s"cannot rename $partial to $to")
  }

  def read(folder: String, conf: Configuration): IndexLayout = {
    val head = new Path(folder, Head)
    val system = head.getFileSystem(conf)
    def broken(why: String) = throw new UnreadableIndex(s"$folder/$Head $why")
    if (!system.exists(head)) broken("is missing: not a whole index")
    val file = system.open(head)
    val bytes = try file.readAllBytes() finally file.close()
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    if (bytes.length < 24 || in.readLong() != Magic) broken("is no index")
    val version = in.readInt()
    if (version != Version) broken(s"has format version $version; this program reads $Version: load the data again, and save them")
    val count = in.readInt()
    if (count < 1 || bytes.length != 24L + 21L * count) broken("is cut off or damaged")
    val blocks = Array.fill(count)(BlockLayout(in.readInt(), in.readInt(), in.readInt(), in.readInt(), in.readInt(), in.readBoolean()))
    if (in.readLong() != checksum(bytes.take(bytes.length - 8))) broken("is damaged")
    new IndexLayout(folder, blocks)
  }

  private def checksum(bytes: Array[Byte]): Long = { val sum = new CRC32C; sum.update(bytes, 0, bytes.length); sum.getValue }
}
