package org.apache.spark.sql.cqels
package memory

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Rows packed into byte pages, 16 bytes a row beside their own: no object a row. */
final class RowPages(val fields: Int) {
  private var pages = new Array[Array[Byte]](4)
  private var pageCount = 0
  private var free = 0 // offset in the last page
  private var starts = new Array[Long](16) // page in the upper half, offset in the lower
  private var rows = 0

  def rowCount: Int = rows

  /** How many pages there are: a row may be as large as many. */
  def pageTotal: Int = pageCount

  /** Keeps a copy of the row. */
  def append(row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    if (pageCount == 0 || free.toLong + 8 + size > pages(pageCount - 1).length) addPage(size + 8)
    val page = pages(pageCount - 1)
    Platform.putInt(page, Platform.BYTE_ARRAY_OFFSET + free, size)
    row.writeToMemory(page, Platform.BYTE_ARRAY_OFFSET + free + 8)
    if (rows == starts.length) starts = java.util.Arrays.copyOf(starts, RowPages.grown(rows))
    starts(rows) = ((pageCount - 1).toLong << 32) | free
    rows += 1
    free += 8 + size
  }

  private def addPage(least: Int): Unit = {
    if (pageCount == pages.length) pages = java.util.Arrays.copyOf(pages, pageCount * 2)
    // Small relations get small pages: 64 KB first, up to 1 MB.
    val usual = math.min(1 << 20, (1 << 16) << math.min(pageCount, 4))
    pages(pageCount) = new Array[Byte](math.max(usual, least))
    pageCount += 1
    free = 0
  }

  /** Makes the rows of another its own, after those it has; the other one is not to be used any more. */
  def take(other: RowPages): Unit = if (other.rows > 0) {
    pages = java.util.Arrays.copyOf(pages, math.max(pages.length, pageCount + other.pageCount))
    System.arraycopy(other.pages, 0, pages, pageCount, other.pageCount)
    if (rows.toLong + other.rows > Int.MaxValue - 8) throw new IllegalArgumentException("too many rows for one in-memory index")
    if (rows + other.rows > starts.length) starts = java.util.Arrays.copyOf(starts, math.max(rows + other.rows, 16))
    var r = 0
    while (r < other.rows) { starts(rows + r) = other.starts(r) + (pageCount.toLong << 32); r += 1 }
    pageCount += other.pageCount
    rows += other.rows
    free = other.free
  }

  /** Makes `cursor` show a row. */
  def point(cursor: UnsafeRow, row: Int): Unit = pointAt(cursor, starts(row))

  /** Where a row lies, for `pointAt`; not below 0. */
  def placeOf(row: Int): Long = starts(row)

  /** Makes `cursor` show the row that lies there. */
  def pointAt(cursor: UnsafeRow, place: Long): Unit = {
    val page = pages((place >>> 32).toInt)
    val at = Platform.BYTE_ARRAY_OFFSET + (place & 0xffffffffL)
    cursor.pointTo(page, at + 8, Platform.getInt(page, at))
  }

  def memoryBytes: Long = { var sum = 8L * starts.length; var i = 0; while (i < pageCount) { sum += pages(i).length; i += 1 }; sum }
}

private[cqels] object RowPages {
  def grown(size: Int): Int = math.min(size.toLong * 3 / 2 + 16, Int.MaxValue - 8L).toInt
}
