package org.apache.spark.sql.cqels
package rows

import java.lang.ref.Cleaner

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.cqels.memory.{LongTable, RowPages}
import org.apache.spark.sql.cqels.relations.StaticContent

/** Relations of codes over rows that stay as they are. */
private[cqels] object FixedRelations {
  private[rows] lazy val cleaner = Cleaner.create()

  /** Of the rows of a static part; their keys leave the dictionary when nobody refers to `owner` any more. */
  def of(owner: AnyRef, name: String, pages: RowPages, numbers: PageNumbers, keys: RowKeys): StaticContent = {
    val coder = new RowCoder(keys, KeyDictionary.shared)
    val row = new UnsafeRow(pages.fields)
    val table = new LongTable(coder.width + 1, math.max(1, pages.rowCount))
    val codes = new Array[Long](coder.width)
    var r = 0
    while (r < pages.rowCount) {
      pages.point(row, r)
      if (coder.code(row, codes)) append(table, codes, numbers.numberOf(r))
      r += 1
    }
    if (coder.usesDictionary) cleaner.register(owner, new Release(coder, table))
    StaticContent(name, table, null)
  }

  private final class Release(coder: RowCoder, table: LongTable) extends Runnable {
    override def run(): Unit = releaseAll(coder, table)
  }

  private def releaseAll(coder: RowCoder, table: LongTable): Unit = {
    var r = 0
    while (r < table.rowCount) { coder.release(table.data, r * table.arity); r += 1 }
  }

  private def append(table: LongTable, codes: Array[Long], number: Long): Unit = {
    val at = table.appendRow()
    System.arraycopy(codes, 0, table.data, at, codes.length)
    table.set(at + codes.length, number)
  }

  /** The rows that a plan gave, with their codes, until it runs again. */
  final class OfRun(name: String, keys: RowKeys) {
    val numbers = new HeldNumbers
    private lazy val coder = new RowCoder(keys, KeyDictionary.shared)
    private lazy val table = new LongTable(coder.width + 1)
    private lazy val codes = new Array[Long](coder.width)
    private var watched = false

    /** Takes in what `give` hands out, in place of what it held. */
    def fill(give: (InternalRow => Unit) => Unit, unsafe: InternalRow => UnsafeRow): StaticContent = {
      clear()
      // A job makes one of these for each run: its keys go with it.
      if (!watched && coder.usesDictionary) cleaner.register(this, new Release(coder, table))
      watched = true
      give { row =>
        val kept = row match { case u: UnsafeRow => u; case other => unsafe(other) }
        if (coder.code(kept, codes)) append(table, codes, numbers.add(kept.copy()) + 1L)
      }
      StaticContent(name, table, null)
    }

    def clear(): Unit = {
      if (coder.usesDictionary) releaseAll(coder, table)
      table.release(1 << 20)
      numbers.clear()
    }
  }
}
