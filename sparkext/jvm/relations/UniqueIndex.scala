package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, KeyHash, LongArrayIO, LongTable}

/** An immutable index by one column that holds each key once: the rows lie in the hash table itself.
 *
 *  A look-up thus costs one cache miss, where [[GroupedIndex]] costs two: look-ups of names in millions of rows wait for
 *  memory and for nothing else. A key of 0 marks a free slot (0 is no term). Linear probing, at most 70 % full; slots are
 *  found by multiplication, so that the table need not have a power of two.
 */
final class UniqueIndex(private var arity: Int, private var keyAt: Array[Int], private var cells: Array[Long], private var rows: Int)
    extends StaticIndex {

  def this() = this(0, null, null, 0)

  private var cursor: IdRow = _
  private var iterator: OneRow = _

  override def keyColumns: Array[Int] = keyAt
  override def rowCount: Int = rows
  override def hasUniqueKeys: Boolean = true
  // Generated code may rely on it: static content never changes under a plan.
  override def keyIsUnique: Boolean = true

  override def asReadOnlyCopy(): UniqueIndex = {
    val copy = new UniqueIndex(arity, keyAt, cells, rows)
    copy.cursor = new IdRow(arity)
    copy.iterator = new OneRow(copy.cursor)
    copy
  }

  /** Where the row with this key begins; -1 when there is none. */
  private def find(key: Long): Int = {
    val end = cells.length
    var at = UniqueIndex.slot(key, end / arity) * arity
    val column = keyAt(0)
    while (true) {
      val here = cells(at + column)
      if (here == key) return if (key == 0L) -1 else at
      if (here == 0L) return -1
      at += arity
      if (at == end) at = 0
    }
    -1
  }

  private def load(at: Int): Unit = {
    var c = 0
    while (c < arity) { cursor.set(c, cells(at + c)); c += 1 }
  }

  override def getValue(key: Long): InternalRow = {
    val at = find(key)
    if (at < 0) null else { load(at); cursor.row }
  }

  override def get(key: Long): Iterator[InternalRow] = {
    val at = find(key)
    if (at < 0) null else { load(at); iterator.again() }
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] = get(key.getLong(0))

  override def matchCount(key: Array[Long], most: Int): Long = if (find(key(0)) < 0) 0L else 1L

  override def estimatedSize: Long = 8L * cells.length

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(arity)
    out.writeObject(keyAt)
    out.writeInt(rows)
    LongArrayIO.write(out, cells, cells.length)
  }

  override def readExternal(in: ObjectInput): Unit = {
    arity = in.readInt()
    keyAt = in.readObject().asInstanceOf[Array[Int]]
    rows = in.readInt()
    cells = LongArrayIO.read(in)
  }
}

private[relations] object UniqueIndex {
  /** Wider rows would make the free slots expensive. */
  private final val MostColumns = 4

  @inline private[relations] def slot(key: Long, slots: Int): Int =
    (((KeyHash.mix(0L, key) >>> 32) * slots.toLong) >>> 32).toInt

  /** The index, or null where rows are too wide or too many, a key comes twice, or one is no term. */
  def build(table: LongTable, columns: Array[Int], key: Int): UniqueIndex = {
    val n = table.rowCount
    val arity = columns.length
    val slots = n.toLong * 10 / 7 + 16
    if (arity == 0 || arity > MostColumns || slots * arity > Int.MaxValue - 8) return null
    val width = table.arity
    val data = table.data
    val cells = new Array[Long](slots.toInt * arity)
    var row = 0
    while (row < n) {
      val base = row * width
      val id = data(base + columns(key))
      if (id == 0L) return null
      var at = slot(id, slots.toInt) * arity
      while (cells(at + key) != 0L) {
        if (cells(at + key) == id) return null
        at += arity
        if (at == cells.length) at = 0
      }
      var c = 0
      while (c < arity) { cells(at + c) = data(base + columns(c)); c += 1 }
      row += 1
    }
    new UniqueIndex(arity, Array(key), cells, n)
  }
}

/** The row in the cursor, once. */
private final class OneRow(cursor: IdRow) extends Iterator[InternalRow] {
  private var more = false

  def again(): OneRow = { more = true; this }
  override def hasNext: Boolean = more
  override def next(): InternalRow = { more = false; cursor.row }
}
