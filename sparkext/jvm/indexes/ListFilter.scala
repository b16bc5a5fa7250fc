package org.apache.spark.sql.cqels
package indexes

import org.apache.spark.sql.cqels.memory.KeyHash

/** Bits behind a long list in a file, one for each of some sixteen hashes an id (a Bloom filter with one hash function, as in an `IdSet`).
 *
 *  A search of a list reads a line of memory for nearly each of its steps; of what is not there, most is found missing by one bit.
 */
private[indexes] object ListFilter {
  /** Lists up to this length have none. */
  final val Short = 64
  private final val IdsAWord = 4

  /** Words of 64 bits behind a list of so many ids. */
  def words(length: Int): Int = if (length <= Short) 0 else (length - 1) / IdsAWord + 1

  /** The bit of an id among those of so many words. */
  @inline def bit(id: Long, words: Int): Long = ((KeyHash.spread(id) >>> 32) * (words.toLong << 6)) >>> 32
}
