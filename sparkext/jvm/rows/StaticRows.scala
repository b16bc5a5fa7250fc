package org.apache.spark.sql.cqels
package rows

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.cqels.relations.StaticContent
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.StructType

/** The rows of a static part of a query, computed once, with an index a join key. */
final class StaticRows(name: String, schema: StructType, rows: RowPages) extends RowContent(name, schema) {
  private val indexes = new ConcurrentHashMap[Seq[Expression], StaticRowIndex]()
  private val relations = new ConcurrentHashMap[RowKeys, StaticContent]()
  override val numbers: PageNumbers = new PageNumbers(rows)
  private val counted = new ConcurrentHashMap[Expression, java.lang.Double]()

  override def live: Boolean = false
  override def rowCount: Long = rows.rowCount

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
    val from = (rows.rowCount.toLong * slice / slices).toInt
    val until = (rows.rowCount.toLong * (slice + 1) / slices).toInt
    new Iterator[InternalRow] {
      private val row = new UnsafeRow(rows.fields)
      private var at = from
      override def hasNext: Boolean = at < until
      override def next(): InternalRow = { rows.point(row, at); at += 1; row }
    }
  }

  override def copies(): Array[UnsafeRow] = scan(0, 1).map(_.asInstanceOf[UnsafeRow].copy()).toArray

  override def index(key: Seq[Expression]): IdRelation =
    indexes.computeIfAbsent(RowContent.normalised(key), StaticRowIndex.build(rows, _))

  override def distinct(value: Expression): Double = {
    val known = RowContent.normalised(Seq(value))
    val index = indexes.get(known)
    if (index != null) index.keyCount
    else counted.computeIfAbsent(known.head, v => DistinctValues.estimate(scan(0, 1), rowCount, v))
  }

  override def relation(keys: RowKeys): StaticContent =
    relations.computeIfAbsent(keys, FixedRelations.of(this, name, rows, numbers, _))

  def indexCount: Int = indexes.size
  def memoryBytes: Long = { var sum = rows.memoryBytes; indexes.values.forEach(i => sum += i.estimatedSize); relations.values.forEach(r => sum += r.memoryBytes); sum }
}
