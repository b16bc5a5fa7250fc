package org.apache.spark.sql.cqels
package memory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** An unsafe row of bigint columns, written in place. */
final class IdRow(arity: Int) {
  private val bytes = new Array[Byte](8 * ((arity + 63) / 64) + 8 * arity)
  private val base = Platform.BYTE_ARRAY_OFFSET + 8L * ((arity + 63) / 64)
  val row = new UnsafeRow(arity)
  row.pointTo(bytes, bytes.length)

  @inline def set(column: Int, value: Long): Unit = Platform.putLong(bytes, base + 8L * column, value)
}

private[cqels] final class TableScan(arity: Int, data: Array[Long], counts: Array[Int], from: Int, until: Int) extends Iterator[InternalRow] {
  private val cells = new IdRow(arity)
  private var at = from
  private var left = if (counts == null || from >= until) 1 else counts(from)

  override def hasNext: Boolean = at < until

  override def next(): InternalRow = {
    val base = at * arity
    var c = 0
    while (c < arity) { cells.set(c, data(base + c)); c += 1 }
    left -= 1
    if (left == 0) {
      at += 1
      left = if (counts == null || at >= until) 1 else counts(at)
    }
    cells.row
  }
}

private[cqels] object TableScan {
  /** The rows of one of `slices` equal parts of a table. */
  def slice(arity: Int, rows: Int, data: Array[Long], counts: Array[Int], slice: Int, slices: Int): Iterator[InternalRow] =
    new TableScan(arity, data, counts, (rows.toLong * slice / slices).toInt, (rows.toLong * (slice + 1) / slices).toInt)
}

/** Rows of ids into tables. */
private[cqels] object IdRows {
  /** Appends a row without nulls. */
  def append(table: LongTable, width: Int, row: InternalRow): Unit = {
    val at = table.appendRow()
    var c = 0
    while (c < width) { table.set(at + c, row.getLong(c)); c += 1 }
  }

  /** Appends a row whose nulls are variables that are unbound, 0 in tables: that is no term's id. */
  def appendBound(table: LongTable, width: Int, row: InternalRow): Unit = {
    val at = table.appendRow()
    var c = 0
    while (c < width) { table.set(at + c, if (row.isNullAt(c)) 0L else row.getLong(c)); c += 1 }
  }
}
