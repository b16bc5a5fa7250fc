package org.apache.spark.sql.cqels
package clusters

import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.join.{JoinItem, JoinSpec, JoinedRelation, VectorRow}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.rows.{RowCursor, RowNumbers}
import org.apache.spark.sql.cqels.spark.{BinaryViews, NanosecondTimes}
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types._

/** A column of a joined row: of which relation, and the how manieth of its rows' columns. */
final case class RowField(relation: Int, column: Int)

/** Rows that are joined as one row of all their columns, each found by its number when it is read. Not for two threads. */
abstract class RowsView(fields: Array[RowField], numbers: Array[RowNumbers])
    extends VectorRow(fields.length) with BinaryViews with NanosecondTimes {
  private val relations = fields.map(_.relation)
  private val places = fields.map(_.column)
  private val cursors: Array[RowCursor] = numbers.map(_.cursor())

  /** The number of the row that a relation has in it. */
  protected def number(relation: Int): Long

  @inline private def row(field: Int): UnsafeRow = { val r = relations(field); cursors(r).row(number(r)) }
  override protected def shownRow(field: Int): UnsafeRow = row(field)
  override protected def shownPlace(field: Int): Int = places(field)

  override def isNullAt(field: Int): Boolean = row(field).isNullAt(places(field))
  override def getBoolean(field: Int): Boolean = row(field).getBoolean(places(field))
  override def getByte(field: Int): Byte = row(field).getByte(places(field))
  override def getShort(field: Int): Short = row(field).getShort(places(field))
  override def getInt(field: Int): Int = row(field).getInt(places(field))
  override def getLong(field: Int): Long = row(field).getLong(places(field))
  override def getFloat(field: Int): Float = row(field).getFloat(places(field))
  override def getDouble(field: Int): Double = row(field).getDouble(places(field))
  override def getDecimal(field: Int, precision: Int, scale: Int): Decimal = row(field).getDecimal(places(field), precision, scale)
  override def getUTF8String(field: Int): UTF8String = row(field).getUTF8String(places(field))
  override def getBinary(field: Int): Array[Byte] = row(field).getBinary(places(field))
  override def getInterval(field: Int): CalendarInterval = row(field).getInterval(places(field))
  override def getVariant(field: Int): VariantVal = row(field).getVariant(places(field))
  override def getStruct(field: Int, width: Int): InternalRow = row(field).getStruct(places(field), width)
  override def getArray(field: Int): ArrayData = row(field).getArray(places(field))
  override def getMap(field: Int): MapData = row(field).getMap(places(field))
  override def get(field: Int, dataType: DataType): AnyRef = row(field).get(places(field), dataType)
  override protected def genericGet(field: Int): Any = throw new UnsupportedOperationException("a column is read as what it is")
}

/** A join of rows: items see the columns of the rows that are joined. `rowVariables` tells by relation the variable of its rows' numbers. */
final class RowJoinSpec(
    relations: Array[JoinedRelation], items: Array[JoinItem], shape: Array[Attribute], output: Array[Int],
    fields: Array[RowField], override val expressionShape: Seq[Attribute], rowVariables: Array[Int], numbers: Array[RowNumbers])
    extends JoinSpec(shape.map(_.name), relations, items, shape, output) {
  override def expressionRow(): VectorRow = new RowsView(fields, numbers) {
    override protected def number(relation: Int): Long = columns(rowVariables(relation))(at)
  }

  /** The rows of answers, which are told as a table of the output variables. */
  def answers: AnswerRows = new AnswerRows(fields, numbers, rowVariables.map(output.indexOf(_)))
}

/** A row of answers as one row of all columns; only those are read whose relations' numbers are told. */
final class AnswerRows(fields: Array[RowField], numbers: Array[RowNumbers], cells: Array[Int]) extends RowsView(fields, numbers) {
  private var data: Array[Long] = _
  private var base = 0

  def show(table: LongTable, row: Int): Unit = { data = table.data; base = row * table.arity }
  override protected def number(relation: Int): Long = data(base + cells(relation))
}
