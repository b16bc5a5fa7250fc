package org.apache.spark.sql.cqels
package relations

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.dictionary.ChangeTerms
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.memory.{IdRow, IdRows, LongTable, TableScan}
import org.apache.spark.sql.execution.joins.IdRelation

/** The rows a relation of a query holds now, whoever keeps them. */
abstract class RelationContent(val name: String, val arity: Int) extends Serializable {
  /** Whether the rows may change between two evaluations. */
  def live: Boolean
  /** Rows now, multiplicities counted. */
  def rowCount: Long
  /** Rows of one of `slices` equal parts. The row object is re-used. */
  def scan(slice: Int, slices: Int): Iterator[InternalRow]
  /** Appends the rows of one of `slices` equal parts, `most` of them at most. */
  def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = {
    val rows = scan(slice, slices)
    var n = 0
    while (n < most && rows.hasNext) { IdRows.append(to, arity, rows.next()); n += 1 }
  }
  /** What a hash join probes: the rows' `columns`, keyed by positions `keys` among them. */
  def index(columns: Array[Int], keys: Array[Int]): IdRelation
  /** Something of the class that `index` gives, for compiling against it; live content is not touched. */
  def indexType(columns: Array[Int], keys: Array[Int]): IdRelation = index(columns, keys)
  /** What a join cluster reads: the rows by the columns `keys`, ascending; several parts are read one after the other. */
  def keyed(keys: Array[Int]): Array[KeyedRows]
  /** The content as it is now, immutable, to be sent elsewhere. */
  def snapshot(): StaticContent

  // Aggregates ship their whole plan with a task and never look at its leaves there: rows travel by other ways.
  protected def writeReplace(): AnyRef = new DetachedContent(name, arity)
}

/** What is left of a content in a plan that was sent to a task. */
private final class DetachedContent(name: String, arity: Int) extends Serializable {
  override def toString: String = s"$name/$arity"
  private def readResolve(): AnyRef = new RelationContent(name, arity) {
    private def absent = throw new IllegalStateException(s"the rows of $name are not in this plan")
    override def live: Boolean = absent
    override def rowCount: Long = absent
    override def scan(slice: Int, slices: Int): Iterator[InternalRow] = absent
    override def index(columns: Array[Int], keys: Array[Int]): IdRelation = absent
    override def keyed(keys: Array[Int]): Array[KeyedRows] = absent
    override def snapshot(): StaticContent = absent
  }
}

/** Static rows: a triple pattern's table, or a pre-joined sub-pattern; `counts` are multiplicities (null: all one).
 *
 *  Rows of a moment, the copy of a window or the result of a stage, are not `lasting`: the next ones must fit the same code.
 */
final class StaticContent(name: String, val table: LongTable, val counts: Array[Int], lasting: Boolean = true)
    extends RelationContent(name, table.arity) {
  require(counts == null || counts.forall(_ > 0), s"$name has a row with a multiplicity below 1")
  private val indexes = new ConcurrentHashMap[(Seq[Int], Seq[Int]), StaticIndex]()
  private val keyedRows = new ConcurrentHashMap[Seq[Int], Array[KeyedRows]]()
  private lazy val rows: Long = if (counts == null) table.rowCount.toLong else counts.foldLeft(0L)(_ + _)

  override def live: Boolean = false
  override def rowCount: Long = rows
  override def snapshot(): StaticContent = this

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
      if (lasting) KeyedRows.build(table.data, table.rowCount, arity, keys, counts)
      else distinctRows match { case (rows, times) => KeyedRows.build(rows.data, rows.rowCount, arity, keys, times) }))

  /** Whether rows are kept by these columns already. */
  def isKeyed(keys: Array[Int]): Boolean = keyedRows.containsKey(keys.toSeq)

  /** Each row of a moment once, and how often it counts: whoever asks whether there is a row is told that. */
  private lazy val distinctRows: (LongTable, Array[Int]) =
    if (arity == 0) (table, counts)
    else {
      val rows = new WindowTable(arity, bag = true)
      val row = new Array[Long](arity)
      var r = 0
      while (r < table.rowCount) {
        System.arraycopy(table.data, r * arity, row, 0, arity)
        rows.insertTimes(row, if (counts == null) 1 else counts(r))
        r += 1
      }
      if (rows.rowCount == rows.occurrenceCount) (table, null) else (rows.snapshot(), rows.snapshotTimes())
    }

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

  /** These rows without `removed` and with `added` ones (a row's cells side by side), each row once. Applying an edit
   *  again changes nothing. Only without multiplicities.
   */
  def edited(added: Array[Byte], removed: Array[Byte]): StaticContent = {
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
    new StaticContent(name, result, null, lasting)
  }

  /** Whether the rows stay as they are: plans and executors keep what is made of them. */
  def isLasting: Boolean = lasting
  def indexCount: Int = indexes.size + keyedRows.size
  def memoryBytes: Long = {
    var sum = 8L * table.data.length + (if (counts == null) 0L else 4L * counts.length)
    indexes.values.forEach(i => sum += i.estimatedSize)
    keyedRows.values.forEach(parts => sum += parts.map(_.memoryBytes).sum)
    sum
  }
}

/** The rows of one pattern in one window. */
final class WindowContent(name: String, val table: WindowTable) extends RelationContent(name, table.arity) {
  override def live: Boolean = true
  override def rowCount: Long = if (table.bag) table.occurrenceCount else table.rowCount.toLong
  override def index(columns: Array[Int], keys: Array[Int]): WindowIndex = table.index(columns, keys)
  override def indexType(columns: Array[Int], keys: Array[Int]): IdRelation =
    new WindowTable(arity).index(columns, keys)
  override def keyed(keys: Array[Int]): Array[KeyedRows] = Array(table.keyed(keys))
  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = table.append(slice, slices, to, most)

  /** How many different values a column has now, and the most frequent ones with their rows: [distinct, [[id, rows], ..]]. */
  def describe(column: Int, most: Int): String = {
    val counts = new java.util.HashMap[Long, Int]()
    var row = 0
    while (row < table.capacityUsed) {
      if (table.isPresent(row)) counts.merge(table.cell(row, column), 1, (a: Int, b: Int) => a + b)
      row += 1
    }
    val top = counts.entrySet.stream
      .sorted((a, b) => { val c = Integer.compare(b.getValue, a.getValue); if (c != 0) c else java.lang.Long.compare(a.getKey, b.getKey) })
      .limit(most.toLong)
    val shown = Iterator.from(top.iterator.asScala).map(e => s"[${e.getKey},${e.getValue}]")
    s"[${counts.size},${shown.mkString("[", ",", "]")}]"
  }
  override def snapshot(): StaticContent = new StaticContent(name, table.snapshot(), table.snapshotTimes(), lasting = false)

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
    val from = (table.capacityUsed.toLong * slice / slices).toInt
    val until = (table.capacityUsed.toLong * (slice + 1) / slices).toInt
    new Iterator[InternalRow] {
      private val cells = new IdRow(arity)
      private var at = from
      private var left = 0
      skip()
      private def skip(): Unit = {
        while (at < until && !table.isPresent(at)) at += 1
        if (at < until) left = table.times(at)
      }
      override def hasNext: Boolean = at < until
      override def next(): InternalRow = {
        var c = 0
        while (c < arity) { cells.set(c, table.cell(at, c)); c += 1 }
        left -= 1
        if (left == 0) { at += 1; skip() }
        cells.row
      }
    }
  }
}

/** The result of a stage of a prepared query: replaced as a whole at each evaluation. */
final class StageContent(name: String, arity: Int) extends RelationContent(name, arity) {
  @volatile private var current: StaticContent = new StaticContent(name, new LongTable(arity), null, lasting = false)

  def replace(rows: LongTable): Unit = current = new StaticContent(name, rows, null, lasting = false)
  override def live: Boolean = true
  override def rowCount: Long = current.rowCount
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = current.scan(slice, slices)
  override def index(columns: Array[Int], keys: Array[Int]): IdRelation = current.index(columns, keys)
  override def keyed(keys: Array[Int]): Array[KeyedRows] = current.keyed(keys)
  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = current.append(slice, slices, to, most)
  override def snapshot(): StaticContent = current
}
