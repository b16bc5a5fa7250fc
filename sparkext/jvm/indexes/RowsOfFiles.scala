package org.apache.spark.sql.cqels
package indexes

/** Walks the rows (subject, object) of an index from one hash on until another one, or as far as somebody reads. */
private[indexes] final class RowsOfFiles(rows: MappedRows, column: Int, first: Long, end: Long) {
  private val layout = rows.layout
  private var number = IndexLayout.blockOf(first, layout.blockBits)
  private var block = rows.block(number)
  private var slot = block.from(first) - 1
  private var n = 0
  private var length = 0
  private var key = 0L

  /** The row of now. */
  def subject: Long = if (column == 0) key else block.value(slot, n)
  def obj: Long = if (column == 0) block.value(slot, n) else key

  /** Goes to the next row; false where there is none. */
  def next(): Boolean = {
    n += 1
    if (n < length) true
    else {
      n = 0
      length = 0
      while (length == 0) {
        slot += 1
        if (slot >= block.layout.slots) {
          if (number + 1 == layout.blocks.length) return false
          number += 1
          block = rows.block(number)
          slot = -1
        } else {
          val hash = block.hash(slot)
          if (hash != 0L) {
            if (end != 0L && java.lang.Long.compareUnsigned(hash, end) >= 0) return false
            key = block.key(slot)
            length = block.length(slot)
          }
        }
      }
      true
    }
  }
}
