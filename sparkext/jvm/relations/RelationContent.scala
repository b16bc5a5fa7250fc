package org.apache.spark.sql.cqels
package relations

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, IdRows, LongTable}
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
  override def snapshot(): StaticContent = StaticContent(name, table.snapshot(), table.snapshotTimes(), lasting = false)

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
  @volatile private var current: StaticContent = StaticContent(name, new LongTable(arity), null, lasting = false)

  def replace(rows: LongTable): Unit = current = StaticContent(name, rows, null, lasting = false)
  override def live: Boolean = true
  override def rowCount: Long = current.rowCount
  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = current.scan(slice, slices)
  override def index(columns: Array[Int], keys: Array[Int]): IdRelation = current.index(columns, keys)
  override def keyed(keys: Array[Int]): Array[KeyedRows] = current.keyed(keys)
  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = current.append(slice, slices, to, most)
  override def snapshot(): StaticContent = current
}
