package org.apache.spark.sql.cqels
package relations

import java.util.concurrent.atomic.AtomicLong

/** The rows of one chain of a window's index, side by side and in its order; with `times`, a row counts so often. */
private[relations] final class ChainRun(val rows: Int, val cells: Array[Long], val times: Array[Int])

/** Copies of those chains of a window's index that are followed again in the same content, each made at the second time.
 *
 *  The rows of a key lie anywhere in the window's table, and only a link says where the next one is: each step along a
 *  chain waits for memory where the table is larger than the processor's caches. Rows that lie side by side are fetched
 *  ahead. Threads may share this without a lock: what they find here is immutable, and a chain that two of them copy at
 *  once is copied twice.
 */
private[relations] final class WindowRuns(chains: WindowChains) {
  import WindowRuns._

  private val table = chains.table
  private val columns = chains.columns
  /** The content that is copied. */
  val changes: Long = table.changes
  private val runs = new Array[ChainRun](chains.heads.length)
  private val copied = new AtomicLong

  def copiedRows: Long = copied.get
  def memoryBytes: Long = 4L * runs.length + copiedRows * (8L * columns.length + (if (table.bag) 4L else 0L))

  /** The rows of the chain of a slot; null at the first time, when that is noted, for few rows, and for what would be too much. */
  def of(slot: Int): ChainRun = {
    val known = runs(slot)
    if (known == null) { runs(slot) = MetOnce; null }
    else if (known.rows > 0) known
    else if ((known eq Short) || copiedRows > MostRows) null
    else second(slot)
  }

  private def second(slot: Int): ChainRun = {
    val head = chains.heads(slot)
    var rows = 0
    var link = head
    while (link != WindowChains.NoLink) { rows += 1; link = chains.next(WindowChains.rowOf(link)) }
    val made = if (rows < LeastRows) null else copy(head, rows)
    runs(slot) = if (made == null) Short else made
    made
  }

  private def copy(head: Long, rows: Int): ChainRun = {
    val width = columns.length
    val cells = new Array[Long](rows * width)
    val times = if (table.bag) new Array[Int](rows) else null
    var at = 0
    var link = head
    while (link != WindowChains.NoLink) {
      val row = WindowChains.rowOf(link)
      var c = 0
      while (c < width) { cells(at * width + c) = table.value(row, columns(c)); c += 1 }
      if (times != null) times(at) = table.times(row)
      at += 1
      link = chains.next(row)
    }
    copied.addAndGet(rows)
    new ChainRun(rows, cells, times)
  }
}

private[relations] object WindowRuns {
  private val MetOnce = new ChainRun(0, null, null)
  private val Short = new ChainRun(0, null, null)

  /** Fewer rows are as soon followed: the way to a copy costs as much as their links do. */
  private final val LeastRows = 4

  /** Rows of copies, at most: some 32 MiB of two columns. */
  private final val MostRows = 1L << 21

  /** A reader follows chains for so many steps (look-ups, and rows that they meet) before it asks for copies: as many as one
   *  for so many of the window's rows, but at least so many.
   */
  final val RowsAStep = 4
  final val LeastSteps = 1024L
  /** Then it is weighed after so many steps whether rows come from copies; unless a quarter do, it goes without them for
   *  eight times as many, and longer each time.
   */
  final val Trial = 4096L
  final val Share = 0.25
  final val Rest = 8 * Trial
}
