package org.apache.spark.sql.cqels
package memory

/** Rows of so many longs in pages, so that growing copies nothing; rows that are given back are used again. */
private[cqels] final class PagedRows(val width: Int) {
  import PagedRows._

  private var pages = new Array[Array[Long]](4)
  private var used = 0
  private var held = 0
  private var free = -1 // free rows are chained through their first cell

  /** Rows in use, and one past the highest of them. */
  def size: Int = held
  def capacityUsed: Int = used
  def memoryBytes: Long = {
    val full = (used + PageMask) >>> PageBits
    8L * full * width * PageRows
  }

  @inline def page(row: Int): Array[Long] = pages(row >>> PageBits)
  @inline def offset(row: Int): Int = (row & PageMask) * width
  @inline def apply(row: Int, column: Int): Long = pages(row >>> PageBits)((row & PageMask) * width + column)
  @inline def update(row: Int, column: Int, value: Long): Unit = pages(row >>> PageBits)((row & PageMask) * width + column) = value

  /** Whether a row is in use. Its first cell is never below `Free`'s range then. */
  @inline def isHeld(row: Int): Boolean = !isFree(apply(row, 0))

  def take(): Int = {
    held += 1
    if (free >= 0) {
      val row = free
      free = apply(row, 0).toInt
      row
    } else {
      if (used == Int.MaxValue) throw new IllegalStateException("too many rows in one table")
      val at = used >>> PageBits
      if (at == pages.length) pages = java.util.Arrays.copyOf(pages, at * 2)
      if (pages(at) == null) pages(at) = new Array[Long](width * PageRows)
      used += 1
      used - 1
    }
  }

  def giveBack(row: Int): Unit = {
    update(row, 0, FreeMark | (free & 0xFFFFFFFFL))
    free = row
    held -= 1
    if (held == 0) clear()
  }

  def clear(): Unit = {
    // The first page stays: a table that is filled and emptied in turns would make it each time.
    java.util.Arrays.fill(pages.asInstanceOf[Array[AnyRef]], 1, pages.length, null)
    used = 0
    held = 0
    free = -1
  }
}

private[cqels] object PagedRows {
  private final val PageBits = 8
  private final val PageRows = 1 << PageBits
  private final val PageMask = PageRows - 1
  private final val FreeMark = 0x8000000000000000L

  /** First cells of rows in use are pairs of row numbers of at least -1, or anything else above this. */
  @inline private def isFree(cell: Long): Boolean = (cell >>> 32) == (FreeMark >>> 32)
}
