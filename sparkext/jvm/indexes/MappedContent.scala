package org.apache.spark.sql.cqels
package indexes

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable}
import org.apache.spark.sql.cqels.relations.{HashedRows, KeyedRows, StaticContent, StaticIndex}
import org.apache.spark.sql.execution.joins.IdRelation

/** The rows of a triple pattern ?s p ?o that lie in the files of indexes, with rows edited since; tasks elsewhere are told where they lie.
 *
 *  With a range, those of one part of a cluster: its rows alone are read, and those of its keys looked up.
 */
final class MappedContent private[indexes] (name: String, source: IndexedTable, edits: PairEdits, range: HashRange)
    extends StaticContent(name, 2) {

  private val keyedRows = new Array[Array[KeyedRows]](2)
  private val unkeyed = new java.util.concurrent.ConcurrentHashMap[Seq[Int], Array[KeyedRows]]()

  override def isLasting: Boolean = true
  override def counts: Array[Int] = null
  override def rowCount: Long = {
    val all = source.rows + edits.added.size - edits.removed.size
    if (range == null) all else math.min(all, all / range.parts + 1)
  }

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
    val rows = walk(slice, slices)
    val cells = new IdRow(2)
    new Iterator[InternalRow] {
      private var ready = rows.next()
      override def hasNext: Boolean = ready
      override def next(): InternalRow = {
        cells.set(0, rows.subject)
        cells.set(1, rows.obj)
        ready = rows.next()
        cells.row
      }
    }
  }

  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = {
    val rows = walk(slice, slices)
    var left = most
    while (left > 0 && rows.next()) {
      val at = to.appendRow()
      to.set(at, rows.subject)
      to.set(at + 1, rows.obj)
      left -= 1
    }
  }

  private def walk(slice: Int, slices: Int): EditedWalk = {
    val here = if (range == null) HashRange(0, slice, slices) else HashRange(range.column, range.part * slices + slice, range.parts * slices)
    new EditedWalk(new RowsOfFiles(source.by(here.column), here.column, here.first, here.end), edits, here)
  }

  override def table: LongTable = {
    val rows = new LongTable(2, math.min(Int.MaxValue / 2 - 8L, rowCount + 16).toInt)
    append(0, 1, rows, Int.MaxValue)
    rows
  }

  override def keyed(keys: Array[Int]): Array[KeyedRows] =
    if (keys.length != 1 || (range != null && range.column != keys(0)))
      unkeyed.computeIfAbsent(keys.toSeq, _ => { val rows = table; Array(HashedRows.build(rows.data, rows.rowCount, 2, keys, null)) })
    else {
      val known = keyedRows(keys(0))
      if (known != null) known
      else synchronized {
        if (keyedRows(keys(0)) == null) keyedRows(keys(0)) = Array(EditedRows.of(source.by(keys(0)), keys(0), edits))
        keyedRows(keys(0))
      }
    }

  override def isKeyed(keys: Array[Int]): Boolean =
    if (keys.length != 1) unkeyed.containsKey(keys.toSeq) else range == null || range.column == keys(0)

  override def index(columns: Array[Int], keys: Array[Int]): IdRelation =
    if (keys.isEmpty || range != null) StaticIndex.grouped(table, null, columns, keys) else new MappedIndex(this, columns, keys)

  override def edited(added: Array[Byte], removed: Array[Byte]): MappedContent = {
    val rows = source.by(0)
    def there(row: (Long, Long)) = rows.search(rows.find(row._1), row._2) > 0
    new MappedContent(name, source, edits.andThen(PairEdits.rows(added), PairEdits.rows(removed), there), range)
  }

  override def editedRows: Int = edits.size

  /** The rows of one of `parts` equal ranges of the hashes of a column. */
  private[cqels] def part(column: Int, part: Int, parts: Int): MappedContent = new MappedContent(name, source, edits, HashRange(column, part, parts))

  private[cqels] def copy(): MappedContent = new MappedContent(name, source, edits, range)

  override def indexCount: Int = keyedRows.count(_ != null) + unkeyed.size
  override def memoryBytes: Long = {
    var sum = source.memoryBytes + 64L * edits.size
    unkeyed.values.forEach(parts => sum += parts.map(_.memoryBytes).sum)
    sum
  }
  override protected def writeReplace(): AnyRef = new MappedReference(name, source.rows, source.folders, edits, range)
}

object MappedContent {
  /** The rows of a table whose indexes are there. */
  def of(name: String, table: IndexedTable): MappedContent = new MappedContent(name, table, PairEdits.Empty, null)
}

/** What travels of rows in files: where they lie. */
private final class MappedReference(name: String, rows: Long, folders: Array[String], edits: PairEdits, range: HashRange) extends Serializable {
  private def readResolve(): AnyRef = new MappedContent(name, IndexedTable.of(rows, folders), edits, range)
}

/** The rows of files that edits have left, then those that they have added. */
private final class EditedWalk(files: RowsOfFiles, edits: PairEdits, range: HashRange) {
  private var inFiles = true
  private lazy val added = edits.added.iterator.filter(range.holds)
  private var row: (Long, Long) = _

  def subject: Long = if (inFiles) files.subject else row._1
  def obj: Long = if (inFiles) files.obj else row._2

  def next(): Boolean = {
    while (inFiles && files.next()) if (edits.removed.isEmpty || !edits.removed((files.subject, files.obj))) return true
    inFiles = false
    if (added.hasNext) { row = added.next(); true } else false
  }
}
