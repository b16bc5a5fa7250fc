package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{KeyedRows, MergedIndex, RelationContent, StaticContent, WindowContent, WindowTable}
import org.apache.spark.sql.execution.joins.IdRelation

/** The rows of one pattern in a graph that merges static data with windows: what RSP-QL's default graph holds where some
 *  windows have no name.
 *
 *  The merge is a set: rows that the static data have are left out of the table that all those windows share, so that a
 *  look-up in both finds each row once and nothing static is ever scanned to merge it.
 */
final class MergedContent(name: String, static: StaticContent, bag: Boolean) extends RelationContent(name, static.arity) {
  private val table = new WindowTable(static.arity, bag)
  private val windows = new WindowContent(name, table)
  private val known =
    if (bag || static.rowCount == 0) null else static.index(Array.range(0, arity), Array.range(0, arity))

  /** Has the window's rows take part from now on. */
  def merge(window: StreamWindow, spec: String): Unit = window.feed(QuadPattern.parse(spec), table, known)

  def leave(window: StreamWindow): Unit = window.dropFeed(table)

  /** What the windows add to the static data, and these: no row is in both, unless rows are kept as often as they come. */
  def windowRows: WindowContent = windows
  def staticRows: StaticContent = static

  override def live: Boolean = true
  override def rowCount: Long = static.rowCount + windows.rowCount

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] =
    static.scan(slice, slices) ++ windows.scan(slice, slices)

  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = {
    val before = to.rowCount
    static.append(slice, slices, to, most)
    windows.append(slice, slices, to, most - (to.rowCount - before))
  }

  override def index(columns: Array[Int], keys: Array[Int]): IdRelation =
    new MergedIndex(static.index(columns, keys), windows.index(columns, keys))

  override def indexType(columns: Array[Int], keys: Array[Int]): IdRelation =
    new MergedIndex(static.index(columns, keys), new WindowTable(arity).index(columns, keys))

  override def keyed(keys: Array[Int]): Array[KeyedRows] = static.keyed(keys) ++ windows.keyed(keys)

  override def snapshot(): StaticContent = {
    val now = windows.snapshot()
    val parts = Seq(static.table, now.table)
    val rows = new LongTable(arity, math.max(1, parts.map(_.rowCount).sum))
    parts.foreach(part => rows.appendAll(part.data, 0, part.rowCount))
    def times(part: StaticContent, rows: LongTable): Array[Int] = if (part.counts == null) Array.fill(rows.rowCount)(1) else part.counts
    val counts = if (static.counts == null && now.counts == null) null else times(static, parts(0)) ++ times(now, parts(1))
    StaticContent(name, rows, counts, lasting = false)
  }
}
