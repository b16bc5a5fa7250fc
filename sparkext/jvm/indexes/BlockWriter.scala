package org.apache.spark.sql.cqels
package indexes

import java.io.{IOException, OutputStream}
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.cqels.loading.PairBuffer

/** Writes one block from its pairs: hash of the key, value. */
private[indexes] object BlockWriter {
  /** Of five slots, four hold a key: keys stand in their order, so that one which is not there is found missing as fast. */
  private def homeFor(keys: Int): Int = keys + keys / 4 + 1

  /** Hashes are put into a buffer in this form, so that signed numbers have their order. */
  @inline def ordered(hash: Long): Long = hash ^ Long.MinValue

  /** Sorts pairs (see `ordered`), and writes them to the file of a block, whole or not at all; null, where these are more than `most` words. */
  def write(pairs: PairBuffer, layout: IndexLayout, number: Int, attempt: Long, conf: Configuration, most: Int): BlockLayout = {
    pairs.sort()
    val size = distinct(pairs)
    val block = measured(pairs, size, layout.blockBits)
    if (block.words > most) return null
    val (to, partial) = (new Path(layout.file(number)), new Path(s"${layout.file(number)}.$attempt"))
    val system = to.getFileSystem(conf)
    val out = new Words(system.create(partial, true))
    try { table(pairs, size, block, layout.blockBits, out); if (!block.unique) lists(pairs, size, out) } finally out.close()
    system.delete(to, false) // of another attempt
    if (!system.rename(partial, to)) throw new IOException(s"cannot rename $partial to $to")
    block
  }

  /** Moves each pair that is there several times together; how many are left. */
  private def distinct(pairs: PairBuffer): Int = {
    var kept = 0
    var i = 0
    while (i < pairs.size) {
      if (kept == 0 || pairs.left(i) != pairs.left(kept - 1) || pairs.right(i) != pairs.right(kept - 1)) { pairs.move(i, kept); kept += 1 }
      i += 1
    }
    kept
  }

  private def measured(pairs: PairBuffer, size: Int, blockBits: Int): BlockLayout = {
    var keys, filters = 0
    var i = 0
    while (i < size) {
      val until = end(pairs, i, size)
      keys += 1
      filters += ListFilter.words(until - i)
      i = until
    }
    val home = homeFor(keys)
    var next = 0
    i = 0
    while (i < size) {
      next = math.max(next, IndexLayout.homeOf(ordered(pairs.left(i)), blockBits, home)) + 1
      i = end(pairs, i, size)
    }
    BlockLayout(home, math.max(home, next) + 1, keys, size, size + filters, unique = keys == size)
  }

  /** Where the pairs of another key begin. */
  private def end(pairs: PairBuffer, from: Int, size: Int): Int = {
    var until = from + 1
    while (until < size && pairs.left(until) == pairs.left(from)) until += 1
    until
  }

  private def table(pairs: PairBuffer, size: Int, block: BlockLayout, blockBits: Int, out: Words): Unit = {
    var next, place = 0
    var i = 0
    while (i < size) {
      val until = end(pairs, i, size)
      val hash = ordered(pairs.left(i))
      val at = math.max(next, IndexLayout.homeOf(hash, blockBits, block.home))
      out.zeros(2L * (at - next))
      out.put(hash)
      out.put(if (block.unique) pairs.right(i) else place.toLong << 32 | (until - i))
      next = at + 1
      place += until - i + ListFilter.words(until - i)
      i = until
    }
    out.zeros(2L * (block.slots - next))
  }

  private def lists(pairs: PairBuffer, size: Int, out: Words): Unit = {
    var i = 0
    while (i < size) {
      val until = end(pairs, i, size)
      val filter = new Array[Long](ListFilter.words(until - i))
      while (i < until) {
        val id = pairs.right(i)
        out.put(id)
        if (filter.length > 0) { val bit = ListFilter.bit(id, filter.length); filter((bit >>> 6).toInt) |= 1L << bit }
        i += 1
      }
      filter.foreach(out.put)
    }
  }

  private final class Words(out: OutputStream) {
    private val bytes = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN)
    def put(word: Long): Unit = { if (!bytes.hasRemaining) flush(); bytes.putLong(word) }
    def zeros(count: Long): Unit = { var left = count; while (left > 0) { put(0L); left -= 1 } }
    private def flush(): Unit = { out.write(bytes.array, 0, bytes.position); bytes.clear() }
    def close(): Unit = try flush() finally out.close()
  }
}
