package org.apache.spark.sql.cqels
package indexes

import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{HashedRows, IdSet, KeyedRows}

/** Rows in files with some edited: keys that an edit concerns have all their rows in memory, whatever the files say of them. */
private[indexes] final class EditedRows(files: MappedRows, changed: HashedRows, left: Array[Long], keys: Int) extends KeyedRows(1, 1) {
  import EditedRows._

  override def counted: Boolean = false
  override def find(key: Long): Int = {
    val here = changed.find(key)
    if (here >= 0) here | Changed
    else if (java.util.Arrays.binarySearch(left, key) >= 0) -1
    else files.find(key)
  }
  override def find(columns: Array[Array[Long]], i: Int): Int = find(columns(0)(i))

  @inline private def isChanged(at: Int): Boolean = (at & Changed) != 0
  override def length(at: Int): Int = if (at < 0) 0 else if (isChanged(at)) changed.length(at & ~Changed) else files.length(at)
  override def cell(at: Int, n: Int, c: Int): Long = if (isChanged(at)) changed.cell(at & ~Changed, n, c) else files.cell(at, n, c)
  override def copy(at: Int, from: Int, count: Int, c: Int, to: Array[Long], start: Int): Unit =
    if (isChanged(at)) changed.copy(at & ~Changed, from, count, c, to, start) else files.copy(at, from, count, c, to, start)
  override def times(at: Int, n: Int): Int = 1
  override def total(at: Int): Long = length(at).toLong
  override def set(at: Int, asks: Int): IdSet = if (at >= 0 && isChanged(at)) changed.set(at & ~Changed, asks) else null
  override def search(at: Int, value: Long): Int =
    if (at < 0) 0 else if (isChanged(at)) changed.search(at & ~Changed, value) else files.search(at, value)
  override def select(at: Int, ids: Array[Long], n: Int, found: Array[Long]): Int =
    if (at >= 0 && !isChanged(at)) files.select(at, ids, n, found) else super.select(at, ids, n, found)
  override def keyCount: Int = keys
  override def memoryBytes: Long = files.memoryBytes + changed.memoryBytes + 8L * left.length
}

private[indexes] object EditedRows {
  /** Marks places of keys in memory: those of files are below. */
  private final val Changed = 1 << 30

  /** The rows of files by a column, after edits. */
  def of(files: MappedRows, column: Int, edits: PairEdits): KeyedRows =
    if (edits.isEmpty) files
    else {
      val rows = new LongTable(2)
      val left = Array.newBuilder[Long]
      var keys = files.keyCount
      for ((key, (out, in)) <- edits.byKey(column)) {
        val at = files.find(key)
        var kept = 0
        def add(value: Long): Unit = { val to = rows.appendRow(); rows.set(to, key); rows.set(to + 1, value); kept += 1 }
        for (n <- 0 until files.length(at)) { val value = files.cell(at, n, 0); if (!out(value) && !in(value)) add(value) }
        in.foreach(add)
        if (kept == 0) left += key
        keys += (if (kept > 0) 1 else 0) - (if (at >= 0) 1 else 0)
      }
      val changed = HashedRows.build(rows.data, rows.rowCount, 2, Array(0), null)
      new EditedRows(files, changed, left.result().sorted, keys)
    }
}
