package org.apache.spark.sql.cqels
package relations

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.dictionary.ChangeTerms
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable, TableScan}

/** Static rows: a triple pattern's table, or a pre-joined sub-pattern. */
abstract class StaticContent(name: String, arity: Int) extends RelationContent(name, arity) {
  override def live: Boolean = false
  override def snapshot(): StaticContent = this
  /** The rows in memory: those that lie elsewhere are read. */
  def table: LongTable
  /** How often each row of `table` counts; null: once. */
  def counts: Array[Int]
  /** Whether the rows stay as they are: plans and executors keep what is made of them. */
  def isLasting: Boolean
  /** Whether rows are kept by these columns already. */
  def isKeyed(keys: Array[Int]): Boolean
  /** These rows without `removed` and with `added` ones (a row's cells side by side), each row once. Applying an edit
   *  again changes nothing. Only without multiplicities.
   */
  def edited(added: Array[Byte], removed: Array[Byte]): StaticContent
  /** How many rows edits have changed that lie beside those before; 0 where each edit makes all rows anew. */
  def editedRows: Int = 0
  def indexCount: Int
  def memoryBytes: Long
}

object StaticContent {
  /** Rows in memory, see [[TableContent]]. */
  def apply(name: String, table: LongTable, counts: Array[Int], lasting: Boolean = true): StaticContent =
    new TableContent(name, table, counts, lasting)

  /** Each row of a table once, and how often it counts. */
  def counted(name: String, table: LongTable): StaticContent =
    distinct(table, null) match { case (rows, times) => apply(name, rows, times) }

  private[relations] def distinct(table: LongTable, counts: Array[Int]): (LongTable, Array[Int]) =
    if (table.arity == 0) (table, counts)
    else {
      val rows = new WindowTable(table.arity, bag = true)
      val row = new Array[Long](table.arity)
      var r = 0
      while (r < table.rowCount) {
        System.arraycopy(table.data, r * table.arity, row, 0, table.arity)
        rows.insertTimes(row, if (counts == null) 1 else counts(r))
        r += 1
      }
      if (rows.rowCount == rows.occurrenceCount) (table, null) else (rows.snapshot(), rows.snapshotTimes())
    }
}

/** Static rows in memory; `counts` are multiplicities (null: all one).
 *
 *  Rows of a moment, the copy of a window or the result of a stage, are not `lasting`: the next ones must fit the same code.
 */
final class TableContent(name: String, val table: LongTable, val counts: Array[Int], lasting: Boolean)
    extends StaticContent(name, table.arity) {
  require(counts == null || counts.forall(_ > 0), s"$name has a row with a multiplicity below 1")
  private val indexes = new ConcurrentHashMap[(Seq[Int], Seq[Int]), StaticIndex]()
  private val keyedRows = new ConcurrentHashMap[Seq[Int], Array[KeyedRows]]()
  private lazy val rows: Long = if (counts == null) table.rowCount.toLong else counts.foldLeft(0L)(_ + _)

  override def rowCount: Long = rows

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] =
    TableScan.slice(arity, table.rowCount, table.data, counts, slice, slices)

  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit =
    if (counts != null) super.append(slice, slices, to, most)
    else {
      val from = (table.rowCount.toLong * slice / slices).toInt
      to.appendAll(table.data, from, math.min(most, (table.rowCount.toLong * (slice + 1) / slices).toInt - from))
    }

  override def index(columns: Array[Int], keys: Array[Int]): StaticIndex =
    indexes.computeIfAbsent((columns.toSeq, keys.toSeq), _ =>
      if (lasting) StaticIndex.build(table, counts, columns, keys) else StaticIndex.grouped(table, counts, columns, keys))

  override def keyed(keys: Array[Int]): Array[KeyedRows] =
    keyedRows.computeIfAbsent(keys.toSeq, _ => Array(
      if (lasting) HashedRows.build(table.data, table.rowCount, arity, keys, counts)
      else distinctRows match { case (rows, times) => HashedRows.build(rows.data, rows.rowCount, arity, keys, times) }))

  override def isKeyed(keys: Array[Int]): Boolean = keyedRows.containsKey(keys.toSeq)

  /** Each row of a moment once, and how often it counts: whoever asks whether there is a row is told that. */
  private lazy val distinctRows: (LongTable, Array[Int]) = StaticContent.distinct(table, counts)

  /** An index by exactly these columns, in this order, whatever else it shows; null when none has been made. */
  def indexOn(cells: Array[Int]): StaticIndex = {
    val entries = indexes.entrySet.iterator
    while (entries.hasNext) {
      val entry = entries.next()
      val (columns, keys) = entry.getKey
      if (keys.length == cells.length && keys.indices.forall(i => columns(keys(i)) == cells(i))) return entry.getValue
    }
    null
  }

  /** Makes sure that there is an index by these columns ("0" or "0,1"). */
  def makeIndexOn(cells: String): Unit = {
    val wanted = Numbers.list(cells).map(_.toInt)
    if (indexOn(wanted) == null) index(Array.range(0, arity), wanted)
  }

  override def edited(added: Array[Byte], removed: Array[Byte]): StaticContent = {
    require(counts == null, s"$name has multiplicities")
    val fresh = LongTable.of(arity, ChangeTerms.numbers(added))
    val gone = new WindowTable(arity)
    val row = new Array[Long](arity)
    for (rows <- Seq(LongTable.of(arity, ChangeTerms.numbers(removed)), fresh); r <- 0 until rows.rowCount) {
      var c = 0
      while (c < arity) { row(c) = rows(r, c); c += 1 }
      gone.insert(row)
    }
    val result = new LongTable(arity, math.max(16, table.rowCount + fresh.rowCount))
    val all = Array.range(0, arity)
    val leaving = StaticIndex.grouped(gone.snapshot(), null, all, all).asReadOnlyCopy()
    val key = new IdRow(arity)
    var kept = 0 // rows from here on are copied together
    var r = 0
    while (r < table.rowCount) {
      var c = 0
      while (c < arity) { key.set(c, table(r, c)); c += 1 }
      val found = if (arity == 1) leaving.get(table(r, 0)) else leaving.get(key.row)
      if (found != null) {
        result.appendAll(table.data, kept, r - kept)
        kept = r + 1
      }
      r += 1
    }
    result.appendAll(table.data, kept, table.rowCount - kept)
    result.appendAll(fresh.data, 0, fresh.rowCount)
    StaticContent(name, result, null, lasting)
  }

  override def isLasting: Boolean = lasting
  override def indexCount: Int = indexes.size + keyedRows.size
  override def memoryBytes: Long = {
    var sum = 8L * table.data.length + (if (counts == null) 0L else 4L * counts.length)
    indexes.values.forEach(i => sum += i.estimatedSize)
    keyedRows.values.forEach(parts => sum += parts.map(_.memoryBytes).sum)
    sum
  }
}
