package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{GrowingInts, KeyHash, LongTable}
import org.apache.spark.sql.execution.joins.IdRelation

/** An immutable index over static rows. `rowCount` counts stored rows, which may stand for several solution mappings. */
abstract class StaticIndex extends IdRelation {
  def rowCount: Int

  /** Whether no two solution mappings have the same key. */
  def hasUniqueKeys: Boolean

  /** Rows with this key, multiplicities counted, as far as `most` of them; for any thread. */
  def matchCount(key: Array[Long], most: Int): Long
}

object StaticIndex {
  // Two thirds of the largest table of group starts, so that probing always meets a free slot.
  private final val MostRows = (1 << 30) / 3 * 2

  /** Builds an index over `columns` of a table, keyed by positions `keys` among those columns.
   *
   *  The rows decide of which class it is, and generated code names the class: only for rows that stay as they are.
   */
  def build(table: LongTable, tableCounts: Array[Int], columns: Array[Int], keys: Array[Int]): StaticIndex = {
    val unique = if (tableCounts == null && keys.length == 1) UniqueIndex.build(table, columns, keys(0)) else null
    if (unique != null) unique else grouped(table, tableCounts, columns, keys)
  }

  /** As `build`, and always of the same class: for rows that are others at the next evaluation.
   *
   *  Two passes over a table of distinct keys and a counting sort: no comparison sort of the rows, no boxing.
   */
  def grouped(table: LongTable, tableCounts: Array[Int], columns: Array[Int], keys: Array[Int]): GroupedIndex = {
    val n = table.rowCount
    val width = table.arity
    val data = table.data
    val arity = columns.length
    val keyCells = keys.map(columns(_))
    if (n > MostRows || n.toLong * arity > Int.MaxValue - 8)
      throw new IllegalArgumentException(s"$n rows of $arity columns are too many for one in-memory index")
    var capacity = 16
    while (capacity < n * 3L / 2) capacity <<= 1
    val mask = capacity - 1
    val group = new Array[Int](n) // row -> group number
    val slots = java.util.Arrays.copyOf(Array.emptyIntArray, capacity)
    java.util.Arrays.fill(slots, -1)
    val firstRow = new GrowingInts(math.max(16, n / 2))
    val sizes = new GrowingInts(math.max(16, n / 2))
    var row = 0
    while (row < n) {
      val base = row * width
      var slot = KeyHash.slot(hashOf(table, keyCells, row), mask)
      var found = -1
      while (found < 0) {
        val g = slots(slot)
        if (g < 0) {
          found = firstRow.size
          slots(slot) = found
          firstRow.add(row)
          sizes.add(0)
        } else {
          val other = firstRow(g) * width
          var same = true
          var i = 0
          while (same && i < keyCells.length) { same = data(other + keyCells(i)) == data(base + keyCells(i)); i += 1 }
          if (same) found = g else slot = (slot + 1) & mask
        }
      }
      group(row) = found
      sizes(found) = sizes(found) + 1
      row += 1
    }
    val next = new Array[Int](firstRow.size)
    var total = 0
    var g = 0
    while (g < next.length) { next(g) = total; total += sizes(g); g += 1 }
    val groups = if (n / GroupedIndex.LargeGroup >= next.length) next.clone() else null
    var slot = 0
    while (slot < capacity) {
      val found = slots(slot)
      if (found >= 0) slots(slot) = next(found) | GroupedIndex.tag(hashOf(table, keyCells, firstRow(found)), mask)
      slot += 1
    }
    val cells = new Array[Long](n * arity)
    val counts = if (tableCounts == null) null else new Array[Int](n)
    row = 0
    while (row < n) {
      val to = next(group(row))
      next(group(row)) = to + 1
      var c = 0
      while (c < arity) { cells(to * arity + c) = data(row * width + columns(c)); c += 1 }
      if (counts != null) counts(to) = tableCounts(row)
      row += 1
    }
    new GroupedIndex(arity, keys, cells, counts, slots, groups)
  }

  @inline private def hashOf(table: LongTable, keyCells: Array[Int], row: Int): Long =
    KeyHash.of(table.data, row * table.arity, keyCells)

  def empty(arity: Int, keys: Array[Int]): GroupedIndex = grouped(new LongTable(arity), null, Array.range(0, arity), keys)
}
