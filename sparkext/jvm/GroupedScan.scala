package org.apache.spark.sql.cqels

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.join.KeyedRows
import org.apache.spark.sql.execution.joins.{LongHashedRelation, WindowIndex}

/** A window's pattern whose scans give rows with equal values in some columns one after the other, as `groupBy` says.
 *
 *  Look-ups with equal keys then find in the processor's caches what the one before has fetched. Rows are grouped once
 *  per content, by the hash of their values; many rows, and rows that count several times, come as they are kept.
 */
final class GroupedScan(base: WindowContent) extends RelationContent(base.name, base.arity) {
  private val table = base.table
  private var columns = Array.empty[Int]
  private var grouped: LongTable = _
  private var arrivals, expiries = -1L // of the table, when rows were grouped

  /** By these columns from now on; by none: rows come as they are kept. */
  def groupBy(others: JList[Integer]): Unit = synchronized {
    columns = others.asScala.map(_.intValue).toArray
    grouped = null
  }

  /** The rows of the last content go; they are grouped again when they are read. */
  def release(): Unit = synchronized { grouped = null }
  def memoryBytes: Long = synchronized(if (grouped == null) 0L else grouped.memoryBytes)

  override def shownOrder(names: Seq[String]): String =
    if (isGrouped) columns.map(names(_)).mkString(" grouped by ", ", ", "") else ""

  private def isGrouped: Boolean = synchronized(columns.nonEmpty)

  override def live: Boolean = true
  override def rowCount: Long = base.rowCount
  override def index(columns: Array[Int], keys: Array[Int]): WindowIndex = base.index(columns, keys)
  override def indexType(columns: Array[Int], keys: Array[Int]): LongHashedRelation = base.indexType(columns, keys)
  override def keyed(keys: Array[Int]): Array[KeyedRows] = base.keyed(keys)
  override def snapshot(): StaticContent = base.snapshot()

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] =
    if (!isGrouped || table.bag || table.rowCount > GroupedScan.Most) base.scan(slice, slices)
    else {
      val rows = now()
      TableScan.slice(arity, rows.rowCount, rows.data, null, slice, slices)
    }

  /** The rows of now; several threads of an evaluation may ask. */
  private def now(): LongTable = synchronized {
    if (grouped == null || arrivals != table.arrivals || expiries != table.expiries) {
      grouped = group()
      arrivals = table.arrivals
      expiries = table.expiries
    }
    grouped
  }

  private def group(): LongTable = {
    val places = new Array[Long](table.rowCount)
    var count = 0
    var row = 0
    while (row < table.capacityUsed) {
      if (table.isPresent(row)) {
        places(count) = hash(row) & ~GroupedScan.Place | row
        count += 1
      }
      row += 1
    }
    java.util.Arrays.sort(places)
    val rows = new LongTable(arity, count)
    for (place <- places) {
      val source = (place & GroupedScan.Place).toInt
      val at = rows.appendRow()
      var c = 0
      while (c < arity) { rows.set(at + c, table.cell(source, c)); c += 1 }
    }
    rows
  }

  private def hash(row: Int): Long = {
    var hash = 0L
    for (column <- columns) hash = LongTable.mix(hash, table.cell(row, column))
    hash
  }
}

private object GroupedScan {
  // More would take memory and time of their own.
  final val Most = 1 << 18
  final val Place = 0xFFFFFFFFL
}
