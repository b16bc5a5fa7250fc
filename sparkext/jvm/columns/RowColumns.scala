package org.apache.spark.sql.cqels
package columns

import java.math.{BigDecimal => JBigDecimal}
import java.nio.charset.StandardCharsets.UTF_8

/** The columns of a block of rows, by name; plain arrays of this process, which nobody has to give back. */
private[cqels] final class RowColumns(val rows: Int, val columns: Array[RowColumn]) {
  def names: Array[String] = columns.map(_.name)

  /** The column of a name, null where there is none. */
  def find(name: String): RowColumn = {
    var i = 0
    while (i < columns.length && columns(i).name != name) i += 1
    if (i < columns.length) columns(i) else null
  }

  def apply(name: String): RowColumn = {
    val found = find(name)
    if (found == null) throw new IllegalArgumentException(s"no column $name among ${names.mkString(", ")}")
    found
  }
}

/** A column of so many rows; what its values are, its class says. */
private[cqels] sealed abstract class RowColumn(val name: String, val rows: Int, nulls: Nulls) {
  def isNull(row: Int): Boolean = nulls.at(row)

  /** The column as codes of distinct values, as far as that pays; a column of distinct values has one code a row. */
  def coded: CodedColumn = new CodedColumn(name, Array.tabulate(rows)(row => if (isNull(row)) -1 else row), this)
}

/** UTF-8: the text of a row lies in `bytes`, from `from(row)` until `until(row)`. */
private[cqels] final class TextColumn(name: String, rows: Int, nulls: Nulls, val bytes: Array[Byte], offsets: Array[Int])
    extends RowColumn(name, rows, nulls) {
  def from(row: Int): Int = offsets(row)
  def until(row: Int): Int = offsets(row + 1)
  def text(row: Int): String = new String(bytes, from(row), until(row) - from(row), UTF_8)
  override def coded: CodedColumn = DistinctTexts.of(this)
}

/** Whole numbers. */
private[cqels] final class LongColumn(name: String, rows: Int, nulls: Nulls, val values: Array[Long]) extends RowColumn(name, rows, nulls)

/** Floating-point numbers; with `single`, each is the value of a float. */
private[cqels] final class DoubleColumn(name: String, rows: Int, nulls: Nulls, val values: Array[Double], val single: Boolean)
    extends RowColumn(name, rows, nulls)

private[cqels] final class BooleanColumn(name: String, rows: Int, nulls: Nulls, values: Nulls) extends RowColumn(name, rows, nulls) {
  def value(row: Int): Boolean = values.at(row)
}

private[cqels] final class DecimalColumn(name: String, rows: Int, nulls: Nulls, val values: Array[JBigDecimal]) extends RowColumn(name, rows, nulls)

/** Moments, in ticks since the epoch, so many a second; `zone` is null for local times without one. */
private[cqels] final class TimestampColumn(
    name: String, rows: Int, nulls: Nulls, val values: Array[Long], val perSecond: Long, val zone: String)
    extends RowColumn(name, rows, nulls) {
  /** Milliseconds since the epoch, as if the zone were UTC where there is none. */
  def millis(row: Int): Long = {
    val ticks = values(row)
    if (perSecond >= 1000) Math.floorDiv(ticks, perSecond / 1000) else Math.multiplyExact(ticks, 1000 / perSecond)
  }
}

/** Days since the epoch. */
private[cqels] final class DateColumn(name: String, rows: Int, nulls: Nulls, val days: Array[Int]) extends RowColumn(name, rows, nulls)

/** Codes of the values of another column, of which each code is a row; -1 is null. */
private[cqels] final class CodedColumn(name: String, val codes: Array[Int], val values: RowColumn) extends RowColumn(name, codes.length, Nulls.none) {
  def code(row: Int): Int = codes(row)
  override def isNull(row: Int): Boolean = codes(row) < 0
  override def coded: CodedColumn = this
}

/** A bit a row, as Arrow has them; `bits` null: all of them are `otherwise`. */
private[cqels] final class Nulls(bits: Array[Byte], inverted: Boolean) {
  def at(row: Int): Boolean = bits != null && (((bits(row >> 3) >> (row & 7)) & 1) == 1) != inverted
}

private[cqels] object Nulls {
  val none = new Nulls(null, true)
}
