package org.apache.spark.sql.cqels
package indexes

import org.apache.spark.sql.cqels.memory.KeyHash

/** One of `parts` equal ranges of the hashes of a column: what one part of a cluster is given. */
private[indexes] final case class HashRange(column: Int, part: Int, parts: Int) {
  /** The least hash in it. */
  def first: Long = HashRange.border(part, parts)
  /** The least hash behind it; 0: it is the last range. */
  def end: Long = if (part + 1 == parts) 0L else HashRange.border(part + 1, parts)
  def holds(row: (Long, Long)): Boolean = {
    val hash = KeyHash.mix(0L, if (column == 0) row._1 else row._2)
    (((hash >>> 32) * parts) >>> 32).toInt == part
  }
}

private[indexes] object HashRange {
  // The least upper half u of a hash with u * parts / 2^32 >= part.
  private def border(part: Int, parts: Int): Long = ((part.toLong << 32) + parts - 1) / parts << 32
}
