package org.apache.spark.sql.cqels
package columns

import java.util.Arrays

import org.apache.spark.sql.cqels.terms.TermId

/** Finds the distinct texts of a column, as long as there are clearly fewer of them than rows. */
private[cqels] object DistinctTexts {
  private final val Trial = 1 << 10

  /** The texts of a column by their codes; where they hardly repeat, each row has a code of its own. */
  def of(column: TextColumn): CodedColumn = {
    val rows = column.rows
    val codes = new Array[Int](rows)
    var slots = new Array[Int](1 << 8) // the first row of a text, plus 1
    var hashes = new Array[Int](1 << 8)
    var distinct = 0
    var last = -1 // the row before that is not null
    var row = 0
    while (row < rows) {
      if (column.isNull(row)) codes(row) = -1
      else {
        if (last >= 0 && same(column, last, row)) codes(row) = codes(last)
        else {
          val hash = hashOf(column, row)
          var mask = slots.length - 1
          var slot = hash & mask
          while (slots(slot) != 0 && !(hashes(slot) == hash && same(column, slots(slot) - 1, row))) slot = (slot + 1) & mask
          if (slots(slot) != 0) codes(row) = slots(slot) - 1
          else {
            if (row >= Trial && distinct > row / 2) return allDistinct(column)
            slots(slot) = row + 1
            hashes(slot) = hash
            codes(row) = row
            distinct += 1
            if (2 * distinct > slots.length) {
              val (oldSlots, oldHashes) = (slots, hashes)
              slots = new Array[Int](oldSlots.length * 4)
              hashes = new Array[Int](oldSlots.length * 4)
              mask = slots.length - 1
              var i = 0
              while (i < oldSlots.length) {
                if (oldSlots(i) != 0) {
                  var at = oldHashes(i) & mask
                  while (slots(at) != 0) at = (at + 1) & mask
                  slots(at) = oldSlots(i)
                  hashes(at) = oldHashes(i)
                }
                i += 1
              }
            }
          }
        }
        last = row
      }
      row += 1
    }
    new CodedColumn(column.name, codes, column)
  }

  private def allDistinct(column: TextColumn): CodedColumn =
    new CodedColumn(column.name, Array.tabulate(column.rows)(row => if (column.isNull(row)) -1 else row), column)

  private def same(column: TextColumn, a: Int, b: Int): Boolean =
    Arrays.equals(column.bytes, column.from(a), column.until(a), column.bytes, column.from(b), column.until(b))

  private def hashOf(column: TextColumn, row: Int): Int = {
    val hash = TermId.hashBytes(column.bytes, column.from(row), column.until(row) - column.from(row), 0)
    (hash ^ (hash >>> 32)).toInt
  }
}
