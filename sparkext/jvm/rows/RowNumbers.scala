package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.cqels.memory.RowPages

/** Finds rows by their numbers, none of which is 0. The object stays the same while rows come and go. */
abstract class RowNumbers {
  /** A way to the rows for one thread, which may show each in the same object. */
  def cursor(): RowCursor
}

abstract class RowCursor {
  def row(number: Long): UnsafeRow
}

/** Rows packed into pages, whose numbers tell where they lie. */
final class PageNumbers(pages: RowPages) extends RowNumbers {
  def numberOf(row: Int): Long = pages.placeOf(row) + 1
  override def cursor(): RowCursor = new RowCursor {
    private val shown = new UnsafeRow(pages.fields)
    private var last = 0L
    override def row(number: Long): UnsafeRow = {
      if (number != last) { pages.pointAt(shown, number - 1); last = number }
      shown
    }
  }
}

/** Row objects by numbers from 1 on; the number of one that leaves is given to another one. */
final class HeldNumbers extends RowNumbers {
  private var rows = new Array[UnsafeRow](64)
  private var free = new Array[Int](16)
  private var freed = 0
  private var used = 0

  /** One past the highest place in use. */
  def capacityUsed: Int = used

  /** Takes in a row; its place, which is one below its number. */
  def add(row: UnsafeRow): Int = {
    val at = if (freed > 0) { freed -= 1; free(freed) } else { used += 1; used - 1 }
    if (at == rows.length) rows = java.util.Arrays.copyOf(rows, at * 2)
    rows(at) = row
    at
  }

  def remove(at: Int): Unit = {
    rows(at) = null
    if (freed == free.length) free = java.util.Arrays.copyOf(free, freed * 2)
    free(freed) = at
    freed += 1
  }

  /** The row at a place, null where there is none. */
  def at(place: Int): UnsafeRow = rows(place)

  def clear(): Unit = {
    if (rows.length > 1024 && used < rows.length / 4) rows = new Array[UnsafeRow](math.max(64, used * 2))
    else java.util.Arrays.fill(rows.asInstanceOf[Array[AnyRef]], 0, used, null)
    used = 0
    freed = 0
  }

  override def cursor(): RowCursor = new RowCursor {
    override def row(number: Long): UnsafeRow = rows((number - 1).toInt)
  }
}
