package org.apache.spark.sql.cqels
package indexes

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.IdRow
import org.apache.spark.sql.cqels.relations.KeyedRows
import org.apache.spark.sql.cqels.runs.OwnSerialization
import org.apache.spark.sql.execution.joins.IdRelation

/** What Spark's hash joins probe of rows in files: `columns` of them, by positions `keyAt` among these; one key or both. */
final class MappedIndex(private var content: MappedContent, private var columns: Array[Int], private var keyAt: Array[Int])
    extends IdRelation with OwnSerialization {
  def this() = this(null, null, null)

  private[indexes] lazy val rows: KeyedRows = content.keyed(Array(columns(keyAt(0))))(0)
  private[indexes] var cursor: IdRow = _
  private var found: Found = _

  private[indexes] def shown: Array[Int] = columns
  override def keyColumns: Array[Int] = keyAt
  override def estimatedSize: Long = 64L

  override def asReadOnlyCopy(): MappedIndex = {
    val copy = new MappedIndex(content, columns, keyAt)
    copy.cursor = new IdRow(columns.length)
    copy.found = new Found(copy)
    copy
  }

  override def get(key: Long): Iterator[InternalRow] = {
    val at = rows.find(key)
    if (at < 0) null else found.from(key, at, 0, rows.length(at))
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] =
    if (keyAt.length == 1) get(key.getLong(0))
    else {
      val (first, second) = (key.getLong(0), key.getLong(1))
      if (columns(keyAt(0)) == columns(keyAt(1))) { if (first == second) get(first) else null }
      else {
        val at = rows.find(first)
        if (at < 0 || rows.search(at, second) == 0) null else found.only(first, second)
      }
    }

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeObject(content)
    out.writeObject(columns)
    out.writeObject(keyAt)
  }

  override def readExternal(in: ObjectInput): Unit = {
    content = in.readObject().asInstanceOf[MappedContent]
    columns = in.readObject().asInstanceOf[Array[Int]]
    keyAt = in.readObject().asInstanceOf[Array[Int]]
  }
}

/** Rows of one key, one after the other, in the cursor of an index. */
private final class Found(index: MappedIndex) extends Iterator[InternalRow] {
  private val ofKey = index.shown.map(_ == index.shown(index.keyColumns(0)))
  private var key, other = 0L
  private var at, n, end = 0

  def from(key: Long, at: Int, first: Int, end: Int): Found = { this.key = key; this.at = at; n = first; this.end = end; this }
  def only(key: Long, other: Long): Found = { this.other = other; from(key, -1, 0, 1) }
  override def hasNext: Boolean = n < end
  override def next(): InternalRow = {
    val value = if (at < 0) other else index.rows.cell(at, n, 0)
    n += 1
    var c = 0
    while (c < ofKey.length) { index.cursor.set(c, if (ofKey(c)) key else value); c += 1 }
    index.cursor.row
  }
}
