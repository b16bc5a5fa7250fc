package org.apache.spark.sql.cqels
package memory

/** Hashes of ids and of keys of several ids, for tables with slots; ids carry tags in their high bits.
 *
 *  Files that are saved rest on `spread` and on `mix` of one id: they stay as they are.
 */
object KeyHash {
  // The golden ratio: a product's upper bits spread numbers whose lower or upper bits differ little (Knuth, volume 3, 6.4).
  private final val Golden = 0x9E3779B97F4A7C15L

  /** One id, well spread in the upper bits only: enough where few bits are looked at. */
  @inline def spread(id: Long): Long = id * Golden

  /** A key of one cell more, well spread in all bits; a key begins with 0. */
  @inline def mix(seed: Long, value: Long): Long = {
    var h = (seed ^ value) * Golden
    h ^= h >>> 29
    h * 0xBF58476D1CE4E5B9L
  }

  /** The id whose `mix` with 0 this is: no two ids have the same. */
  def unmixed(hash: Long): Long = {
    var h = hash * 0x96DE1B173F119089L // the inverse of what is multiplied by last
    h ^= h >>> 29 ^ h >>> 58
    h * 0xF1DE83E19937733DL // that of Golden
  }

  /** The hash of `count` cells beside each other. */
  def of(cells: Array[Long], from: Int, count: Int): Long = {
    var hash = 0L
    var c = from
    while (c < from + count) { hash = mix(hash, cells(c)); c += 1 }
    hash
  }

  /** The hash of a row's key: the cells at `columns` from `base` on. */
  def of(cells: Array[Long], base: Int, columns: Array[Int]): Long = {
    var hash = 0L
    var c = 0
    while (c < columns.length) { hash = mix(hash, cells(base + columns(c))); c += 1 }
    hash
  }

  /** The slot of a hash in a table with a power of two of them. */
  @inline def slot(hash: Long, mask: Int): Int = (hash >>> 32).toInt & mask
}
