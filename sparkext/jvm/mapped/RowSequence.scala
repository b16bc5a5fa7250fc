package org.apache.spark.sql.cqels
package mapped

import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import scala.collection.mutable

import org.apache.spark.sql.cqels.columns.{ArrowColumns, RowColumns}
import org.apache.spark.sql.cqels.ingest.{ElementBlock, Flaws, Handover}
import org.apache.spark.sql.cqels.recordings.{EncodedByItself, RecordingProblem, ReplayElement, ReplaySequence, TimeSorter}

/** The rows of one file, which a thread of Python reads: as many as a look-ahead holds, and a few blocks that wait.
 *
 *  Rows whose time cannot be told are set aside as they are read, those of which a term cannot be made as their turn comes.
 */
final class RowSequence private[mapped] (
    val stream: Int, name: String, batchOf: RowColumns => RowBatch, inTimeOrder: Boolean, lookAhead: Int)
    extends ReplaySequence {
  import RowSequence._

  private val waiting = new ArrayBlockingQueue[Fed](Ahead)
  private val sorter = new TimeSorter(inTimeOrder)
  private val live = mutable.Set[HeldBatch]()
  private var heldBytes = 0L
  private var ended = false
  private var flaws: Flaws = _
  private var numbers = 0L
  @volatile private var closed = false
  @volatile private var reached = 0L

  // ---- who reads the file ------------------------------------------------------------------------

  /** Hands over rows as an Arrow stream, as `MappedStream.take` reads them, once there is room; `position`: of the file, after them.
   *  False where nobody wants more.
   */
  def put(handover: Handover, length: Int, position: Long): Boolean =
    put(Fed(ArrowColumns.read(handover, length), length, position))

  /** Says that there are no more rows; with `problem`, as they cannot be read (null: all have been). */
  def end(problem: String): Boolean = put(Fed(null, 0, 0L, problem))

  private def put(fed: Fed): Boolean = {
    while (!closed && !waiting.offer(fed, 100, TimeUnit.MILLISECONDS)) {}
    !closed
  }

  // ---- who merges --------------------------------------------------------------------------------

  def head: ReplayElement = {
    while (!ended && sorter.size <= lookAhead && heldBytes <= mostBytes) take(waiting.take())
    sorter.peek
  }

  def poll(): ReplayElement = sorter.poll()

  def eachTime(action: Long => Unit): Unit = sorter.foreach(element => action(element.time))

  def position: Long = reached

  override def takeFlaws(): Flaws = {
    val found = flaws
    flaws = null
    found
  }

  def close(): Unit = {
    closed = true
    waiting.clear()
    live.foreach(_.rows.release())
    live.clear()
  }

  private def take(fed: Fed): Unit =
    if (fed.problem != null) throw new RecordingProblem(name, fed.problem)
    else if (fed.rows == null) ended = true
    else {
      if (fed.rows.rows > 0) read(fed)
      reached = fed.position
    }

  private def read(fed: Fed): Unit = {
    val batch = new HeldBatch(batchOf(fed.rows), fed.bytes)
    live += batch
    heldBytes += batch.bytes
    val each = fed.bytes / fed.rows.rows
    batch.rows.eachElement { (first, until) =>
      try {
        val element = new RowElement(batch, first, until, each * (until - first))
        element.time = batch.rows.times(first)
        element.number = numbers
        numbers += 1
        batch.left += 1
        sorter.add(element)
      } catch {
        case flaw: RowFlaw =>
          if (flaws == null) flaws = new Flaws
          flaws.addRow(batch.rows.element(first), flaw.getMessage)
      }
    }
    if (batch.left == 0) letGo(batch)
  }

  private def letGo(batch: HeldBatch): Unit = {
    live -= batch
    heldBytes -= batch.bytes
    batch.rows.release()
  }

  private final class RowElement(batch: HeldBatch, first: Int, until: Int, val bytes: Int) extends EncodedByItself {
    def addTo(block: ElementBlock): Unit =
      try {
        batch.rows.add(first, until, time, block)
        batch.rows.hold(block, block.size - 1)
      } catch {
        case flaw: RowFlaw => block.flaws.addRow(batch.rows.element(first), flaw.getMessage)
      }

    override def done(): Unit = {
      batch.left -= 1
      if (batch.left == 0) letGo(batch)
    }
  }
}

private object RowSequence {
  /** Blocks that wait to be merged. */
  final val Ahead = 2

  final case class Fed(rows: RowColumns, bytes: Int, position: Long, problem: String = null)

  /** Rows that elements still need, and how many these are. */
  final class HeldBatch(val rows: RowBatch, val bytes: Int) { var left = 0 }
}
