package org.apache.spark.sql.cqels
package indexes

import java.nio.{ByteOrder, LongBuffer}
import java.nio.channels.FileChannel
import java.nio.channels.FileChannel.MapMode
import java.nio.file.{Files, Path, StandardOpenOption}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.cqels.memory.KeyHash

/** A block of an index as it lies in its file, mapped into memory: pages are read when they are touched, and go when memory is short.
 *
 *  Slots hold the hashes of keys, in their order: a search ends where a larger one stands, and keys are found again by turning the hash back.
 *  Values of a key stand in their order, before the bits of a [[ListFilter]] where they are many. Buffers check their bounds: a wrong place in a damaged file is an exception. For any thread.
 */
private[indexes] final class IndexBlock(words: LongBuffer, val layout: BlockLayout, blockBits: Int) {
  private val unique = layout.unique
  private val home = layout.home
  private val rest = 2 * layout.slots

  /** The slot of a hash; -1 where it is not there. */
  def find(hash: Long): Int = {
    var at = IndexLayout.homeOf(hash, blockBits, home)
    while (true) {
      val here = words.get(2 * at)
      if (here == hash) return at
      if (here == 0L || java.lang.Long.compareUnsigned(here, hash) > 0) return -1
      at += 1
    }
    -1
  }

  /** The first slot whose key has at least this hash. */
  def from(hash: Long): Int = {
    var at = IndexLayout.homeOf(hash, blockBits, home)
    while (at < layout.slots && (words.get(2 * at) == 0L || java.lang.Long.compareUnsigned(words.get(2 * at), hash) < 0)) at += 1
    at
  }

  /** The hash in a slot; 0 where it is free. */
  def hash(slot: Int): Long = words.get(2 * slot)
  def key(slot: Int): Long = KeyHash.unmixed(words.get(2 * slot))
  def length(slot: Int): Int = if (unique) 1 else words.get(2 * slot + 1).toInt
  @inline private def first(slot: Int): Int = if (unique) 2 * slot + 1 else rest + (words.get(2 * slot + 1) >>> 32).toInt

  def value(slot: Int, n: Int): Long = words.get(first(slot) + n)
  def copy(slot: Int, from: Int, count: Int, to: Array[Long], start: Int): Unit =
    if (count == 1) to(start) = words.get(first(slot) + from) else words.get(first(slot) + from, to, start, count)

  /** Whether a slot's key has a row with a value. */
  def has(slot: Int, value: Long): Boolean =
    if (unique) words.get(2 * slot + 1) == value
    else { val end = first(slot) + length(slot); may(end, ListFilter.words(length(slot)), value) && search(first(slot), end, value) }

  /** Puts those of `n` ids that a slot's key has a row with into `found`, which may be the same array; how many they are. */
  def select(slot: Int, ids: Array[Long], n: Int, found: Array[Long]): Int = {
    val from = if (unique) 2 * slot + 1 else first(slot)
    val end = from + length(slot)
    val filter = if (unique) 0 else ListFilter.words(length(slot))
    var kept = 0
    var i = 0
    while (i < n) {
      val id = ids(i)
      if (may(end, filter, id) && search(from, end, id)) { found(kept) = id; kept += 1 }
      i += 1
    }
    kept
  }

  /** Whether a value may be in a list, by the bits that begin at `at`. */
  @inline private def may(at: Int, filter: Int, value: Long): Boolean =
    filter == 0 || { val bit = ListFilter.bit(value, filter); (words.get(at + (bit >>> 6).toInt) & 1L << bit) != 0L }

  private def search(from: Int, end: Int, value: Long): Boolean = {
    var low = from
    var high = end - 1
    while (high - low > IndexBlock.Short) {
      val middle = (low + high) >>> 1
      if (words.get(middle) < value) low = middle + 1 else high = middle
    }
    while (low < end && words.get(low) < value) low += 1
    low < end && words.get(low) == value
  }
}

private[indexes] object IndexBlock {
  /** So few values are looked through one by one. */
  private final val Short = 8

  /** Opens a block; a file of a file system that is not this machine's is copied. */
  def open(layout: IndexLayout, number: Int, conf: Configuration): IndexBlock = {
    val block = layout.blocks(number)
    val path = new HadoopPath(layout.file(number))
    val system = path.getFileSystem(conf)
    try {
      if (system.getScheme == "file") new IndexBlock(map(Path.of(path.toUri.getPath), block, path.toString), block, layout.blockBits)
      else {
        val copy = Files.createTempFile("cqels-index", ".bin")
        try {
          system.copyToLocalFile(false, path, new HadoopPath(copy.toUri), true)
          new IndexBlock(map(copy, block, path.toString), block, layout.blockBits)
        } finally Files.deleteIfExists(copy) // what is mapped of it stays
      }
    } catch { case e: java.io.IOException => throw new UnreadableIndex(s"$path cannot be read: ${e.getMessage}", e) }
  }

  private def map(file: Path, block: BlockLayout, name: String): LongBuffer = {
    val channel = FileChannel.open(file, StandardOpenOption.READ)
    try {
      if (channel.size != 8 * block.words)
        throw new UnreadableIndex(s"$name has ${channel.size} bytes in place of ${8 * block.words}: cut off or damaged")
      channel.map(MapMode.READ_ONLY, 0, channel.size).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer
    } finally channel.close()
  }
}
