package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.cqels.memory.{IdRow, IdRows, LongTable}
import org.apache.spark.sql.cqels.relations.{KeyedRows, RelationContent, StaticContent}
import org.apache.spark.sql.execution.joins.IdRelation

/** What joins have asked for of a live view's rows: relations of their keys' codes, which follow the rows.
 *
 *  The view tells of each row that comes, goes or moves, by its place there.
 */
private[cqels] final class LiveRelations(name: String) {
  val numbers = new HeldNumbers
  private var numberAt = new Array[Int](64) // by place in the view
  private val relations = new java.util.HashMap[RowKeys, LiveRelation]()

  def came(place: Int, row: UnsafeRow): Unit = {
    if (place >= numberAt.length) numberAt = java.util.Arrays.copyOf(numberAt, math.max(place + 1, numberAt.length * 2))
    val at = numbers.add(row)
    numberAt(place) = at
    relations.values.forEach(_.came(at))
  }

  def left(place: Int): Unit = {
    val at = numberAt(place)
    relations.values.forEach(_.left(at))
    numbers.remove(at)
  }

  /** Rows have other places in the view: `to` tells them by those of before, of rows that are there. */
  def moved(rows: Array[UnsafeRow], to: Array[Int]): Unit = {
    val before = numberAt
    numberAt = new Array[Int](math.max(64, before.length))
    var i = 0
    while (i < to.length) { if (rows(i) != null) numberAt(to(i)) = before(i); i += 1 }
  }

  def cleared(): Unit = {
    relations.values.forEach(_.clear())
    numbers.clear()
  }

  /** The relation for these keys; those that were not asked for since `version` go. */
  def relation(keys: RowKeys, version: Long): LiveRelation = {
    val known = relations.computeIfAbsent(keys, _ => {
      val made = new LiveRelation(name, keys, numbers)
      var at = 0
      while (at < numbers.capacityUsed) { if (numbers.at(at) != null) made.came(at); at += 1 }
      made
    })
    known.asked = version
    known
  }

  def forget(version: Long): Unit = relations.values.removeIf { r => val idle = r.asked < version; if (idle) r.clear(); idle }

  def size: Int = relations.size
}

/** The rows of a live view that pass a filter, as codes of their keys and the number of each.
 *
 *  What came since is taken in when it is next read: expressions may fail on a row, and then it is the query that fails. What leaves
 *  does so at once.
 */
private[cqels] final class LiveRelation(name: String, keys: RowKeys, numbers: HeldNumbers) extends RelationContent(name, keys.keys.length + 1) {
  private val coder = new RowCoder(keys, KeyDictionary.shared)
  private val table = new RowTable(coder.width)
  private val codes = new Array[Long](coder.width)
  private var waiting = new Array[Int](64) // places of rows that came
  private var waits = 0
  private var all = false // too many came and went to tell them one by one
  private[rows] var asked = 0L
  // Nobody clears a view whose name another one took; its keys go with it.
  if (coder.usesDictionary) FixedRelations.cleaner.register(this, new LiveRelation.Release(coder, table))

  def came(at: Int): Unit =
    if (!all) {
      if (waits == waiting.length) {
        if (waits > 2 * numbers.capacityUsed + 1024) { all = true; waits = 0 } else waiting = java.util.Arrays.copyOf(waiting, waits * 2)
      }
      if (!all) { waiting(waits) = at; waits += 1 }
    }

  def left(at: Int): Unit = table.remove(at, coder)

  def clear(): Unit = {
    table.clear(coder)
    waits = 0
    all = false
  }

  /** Takes in what came since. */
  def sync(): LiveRelation = {
    if (all) {
      var at = 0
      while (at < numbers.capacityUsed) { take(at); at += 1 }
      all = false
    } else if (waits > 0) {
      // Where one fails it is asked again, with those behind it; a number that was given to another row since is there twice.
      var i = 0
      try { while (i < waits) { take(waiting(i)); i += 1 } }
      finally { System.arraycopy(waiting, i, waiting, 0, waits - i); waits -= i }
    }
    this
  }

  private def take(at: Int): Unit = if (!table.knows(at)) {
    val row = if (at < numbers.capacityUsed) numbers.at(at) else null
    if (row != null) table.put(at, if (coder.code(row, codes)) codes else null)
  }

  override def live: Boolean = true
  override def rowCount: Long = table.rowCount.toLong
  override def keyed(keys: Array[Int]): Array[KeyedRows] = Array(table.keyed(keys))
  override def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = table.append(slice, slices, to, most)
  override def index(columns: Array[Int], keys: Array[Int]): IdRelation = throw new UnsupportedOperationException(s"$name is read by a join of ours")

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
    val from = (table.capacityUsed.toLong * slice / slices).toInt
    val until = (table.capacityUsed.toLong * (slice + 1) / slices).toInt
    new Iterator[InternalRow] {
      private val cells = new IdRow(arity)
      private var at = from
      private def skip(): Unit = while (at < until && !table.isPresent(at)) at += 1
      override def hasNext: Boolean = { skip(); at < until }
      override def next(): InternalRow = {
        skip()
        var c = 0
        while (c < arity) { cells.set(c, table.cell(at, c)); c += 1 }
        at += 1
        cells.row
      }
    }
  }

  override def snapshot(): StaticContent = {
    val rows = new LongTable(arity, math.max(1, table.rowCount))
    val it = scan(0, 1)
    while (it.hasNext) IdRows.append(rows, arity, it.next())
    StaticContent(name, rows, null, lasting = false)
  }
}

private object LiveRelation {
  private final class Release(coder: RowCoder, table: RowTable) extends Runnable {
    override def run(): Unit = table.clear(coder)
  }
}
