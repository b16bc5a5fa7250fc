package org.apache.spark.sql.cqels
package dictionary

import org.apache.spark.sql.cqels.terms.TermCodec

/** Ids of terms to be retained or released together. */
private[cqels] final class IdBuffer(expected: Int = 256) {
  private var values = new Array[Long](expected)
  private var used = 0
  def size: Int = used
  def array: Array[Long] = values
  def reset(): Unit = used = 0
  /** Keeps ids that live in a dictionary; 0 and inline terms hold nothing. */
  def add(id: Long): Unit = if (id != 0 && !TermCodec.isInline(id)) {
    if (used == values.length) values = java.util.Arrays.copyOf(values, used * 2)
    values(used) = id
    used += 1
  }
}
