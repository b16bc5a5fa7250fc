package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable}
import org.apache.spark.sql.cqels.relations.{StaticIndex, WindowTable}

/** Keeps up the rows of one pattern; those that `known` holds are left out (null: none). */
private[cqels] final class PatternFeed(spec: QuadPattern, dictionary: Dictionary, val table: WindowTable, known: StaticIndex) {
  private val matcher = new QuadMatcher(spec, dictionary)
  private val absent = if (known == null) null else known.asReadOnlyCopy()
  private val key = new IdRow(spec.columns.length)

  def insert(data: Array[Long], at: Int, time: Long): Unit = if (matcher.matches(data, at) && isNew) table.insert(matcher.row, time)
  def delete(data: Array[Long], at: Int): Unit = if (matcher.matches(data, at) && isNew) table.delete(matcher.row)

  private def isNew: Boolean = absent == null || {
    val row = matcher.row
    var c = 0
    while (c < row.length) { key.set(c, row(c)); c += 1 }
    (if (row.length == 1) absent.get(row(0)) else absent.get(key.row)) == null
  }
}

private[cqels] object PatternFeed {
  @inline def each(pane: LongTable, from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = pane.data
    var at = from * 4
    val end = until * 4
    while (at < end) { feed(data, at); at += 4 }
  }
}
