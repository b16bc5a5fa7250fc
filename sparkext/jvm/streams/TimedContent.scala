package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable}
import org.apache.spark.sql.cqels.relations.{KeyedRows, RelationContent, StageContent, StaticContent, TimeCells, WindowContent, WindowIndex, WindowTable}
import org.apache.spark.sql.execution.joins.IdRelation

/** The rows of one pattern in one window, each with one more column: the time at which it was sighted last. */
final class TimedContent(content: WindowContent) extends RelationContent(content.name, content.arity + 1) {
  private val table = content.table

  override def live: Boolean = true
  override def rowCount: Long = content.rowCount
  // The table knows of the column behind its own.
  override def index(columns: Array[Int], keys: Array[Int]): WindowIndex = table.index(columns, keys)
  override def indexType(columns: Array[Int], keys: Array[Int]): IdRelation = new WindowTable(content.arity).index(columns, keys)

  override def keyed(keys: Array[Int]): Array[KeyedRows] = Array(table.keyed(keys, timed = true))
  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = table.append(slice, slices, to, most)

  override def snapshot(): StaticContent = {
    val copy = new LongTable(arity, math.max(1, table.rowCount))
    var row = 0
    while (row < table.capacityUsed) {
      if (table.isPresent(row)) {
        val at = copy.appendRow()
        var c = 0
        while (c < arity) { copy.set(at + c, table.value(row, c)); c += 1 }
      }
      row += 1
    }
    StaticContent(name, copy, null, lasting = false)
  }

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
    val from = (table.capacityUsed.toLong * slice / slices).toInt
    val until = (table.capacityUsed.toLong * (slice + 1) / slices).toInt
    new Iterator[InternalRow] {
      private val cells = new IdRow(arity)
      private var at = ahead(from)
      private def ahead(row: Int): Int = { var r = row; while (r < until && !table.isPresent(r)) r += 1; r }
      override def hasNext: Boolean = at < until
      override def next(): InternalRow = {
        var c = 0
        while (c < arity) { cells.set(c, table.value(at, c)); c += 1 }
        at = ahead(at + 1)
        cells.row
      }
    }
  }
}

/** Rows that have just arrived, each with the time until which it holds by way of its window, as a relation that is filled
 *  before it is read.
 */
trait Arrivals {
  def content: StageContent
  /** Whether something came too late to be among `fill`'s rows since this was last asked. */
  private[cqels] def missed(): Boolean
  /** Fills the relation with what is there of after `time`, or with all there is; how many rows these are. */
  private[cqels] def fill(time: Long): Int
}

/** The rows that one pattern finds in what entered one window last, each with its time, as a relation: filled before it
 *  is read. A row may be there several times.
 */
final class ArrivedRows private[cqels] (stream: StreamLog, window: StreamWindow, spec: QuadPattern, name: String) extends Arrivals {
  private val matcher = new QuadMatcher(spec, stream.dictionary)
  private val width = spec.columns.length
  private var lateSeen = 0L

  override val content = new StageContent(name, width + 1)

  override private[cqels] def missed(): Boolean = {
    val before = lateSeen
    lateSeen = window.lateArrivals
    lateSeen != before
  }

  override private[cqels] def fill(time: Long): Int = {
    val rows = new LongTable(width + 1)
    stream.eachAfter(window, time) { (t, pane) =>
      pane.each { (data, from) =>
        if (matcher.matches(data, from)) {
          val at = rows.appendRow()
          var c = 0
          while (c < width) { rows.set(at + c, matcher.row(c)); c += 1 }
          rows.set(at + width, TimeCells.write(t))
        }
      }
    }
    content.replace(rows)
    rows.rowCount
  }
}
