package org.apache.spark.sql.cqels
package memory

/** A growable, row-major table of 64-bit ids: `arity` longs a row, no object per row.
 *
 *  Row-major because every consumer reads whole rows: one cache line serves a key and its payload.
 */
final class LongTable(val arity: Int, initialRows: Int = 16) {
  private var cells = new Array[Long](math.max(1, initialRows) * math.max(1, arity))
  private var rows = 0

  def rowCount: Int = rows

  /** The backing array; valid up to `rowCount * arity`. */
  def data: Array[Long] = cells

  def apply(row: Int, column: Int): Long = cells(row * arity + column)

  /** Reserves one more row and returns the offset of its first cell in `data`. */
  def appendRow(): Int = {
    val at = rows * arity
    if (at.toLong + arity > cells.length) grow(at.toLong + arity)
    rows += 1
    at
  }

  def set(offset: Int, value: Long): Unit = cells(offset) = value

  def appendAll(source: Array[Long], from: Int, count: Int): Unit = {
    val at = rows * arity
    val length = count.toLong * arity
    if (at + length > cells.length) grow(at + length)
    System.arraycopy(source, from * arity, cells, at, length.toInt)
    rows += count
  }

  def clear(): Unit = rows = 0

  /** Keeps the first rows only. */
  def truncate(count: Int): Unit = rows = math.min(rows, count)

  /** As `clear`, with room for no more than so many cells kept. */
  def release(most: Int): Unit = {
    rows = 0
    if (cells.length > most) cells = new Array[Long](math.max(1, arity))
  }

  def memoryBytes: Long = 8L * cells.length

  /** The rows as one exact array (a copy). */
  def toArray: Array[Long] = java.util.Arrays.copyOf(cells, rows * arity)

  private def grow(needed: Long): Unit = {
    if (needed > LongTable.MostCells) throw new IllegalStateException(s"more than ${LongTable.MostCells} cells in one relation")
    val doubled = if (cells.length > (1 << 29)) LongTable.MostCells else cells.length * 2
    cells = java.util.Arrays.copyOf(cells, math.max(needed.toInt, doubled))
  }
}

object LongTable {
  /** Arrays of Java are not much longer. */
  private final val MostCells = Int.MaxValue - 8

  def of(arity: Int, cells: Array[Long]): LongTable = {
    val table = new LongTable(arity, if (arity == 0) 0 else cells.length / arity)
    if (arity > 0) table.appendAll(cells, 0, cells.length / arity)
    table
  }
}
