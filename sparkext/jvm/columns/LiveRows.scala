package org.apache.spark.sql.cqels
package columns

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Instant, LocalDateTime, ZoneOffset}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.sql.{ForeachWriter, Row}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Deduplicate, DeduplicateWithinWatermark, Distinct, Join, LogicalPlan, RepartitionOperation, Sort, Window}

/** Rows that tasks of this process hand over one by one, as Spark's real-time mode has them, until a stream takes them.
 *
 *  `named`: which of subject, predicate, object and graph they have, in this order, texts all; their time comes last.
 *  A row is known by its batch, its partition and its number there: where a batch is read again, after a failure or a
 *  restart, its partitions give the same rows in the same order, and those that the stream has had are left out.
 */
final class LiveRows private (named: Array[String]) {
  import LiveRows._

  val number: Long = numbers.incrementAndGet()
  private var rows = mutable.ArrayBuffer[Row]()
  private var put, taken = 0L
  private var failure: String = _
  private var ending = 0 // tasks that wait for their rows to be taken
  private var begun = false
  private var batch = -1L
  private var partitions = 0 // of the batch; 0: not known
  private val had = new mutable.LongMap[Long]() // rows of the batch, by partition
  private val closed = new mutable.HashSet[Long]() // partitions of the batch that have no more rows
  private var read, told = (-1L, false) // up to which batch rows were given, or are in the stream, and whether all of it
  private var positionRead = ""

  /** What tasks write their rows with. */
  def writer: LiveRowsWriter = new LiveRowsWriter(number)

  /** Lets tasks begin; of `known`, a batch in so many partitions, its first `rows` (pairs of partition and number) are in
   *  the stream already, which is all of it where it has `ended`, and all batches before. -1: nothing is known.
   */
  def begin(known: Long, in: Int, ended: Boolean, rows: String): Unit = synchronized {
    batch = known
    partitions = in
    told = (known, ended)
    rows.split(',').filter(_.nonEmpty).map(_.toLong).grouped(2).foreach(pair => had(pair(0)) = pair(1))
    begun = true
    notifyAll()
  }

  /** How many rows of a partition of a batch, which has so many, are not to be added, since they were. */
  private[columns] def opened(partition: Long, number: Long, in: Int): Long = synchronized {
    while (!begun && failure == null) wait()
    check()
    val next = if (told == (batch, true)) batch + 1 else batch
    if (batch >= 0 && number > next) throw new IllegalStateException(
      s"batches $next to ${number - 1} are done for their source, and are not in the checkpoint, which is an older one: " +
        "begin the source anew, or do without them by another checkpoint folder of the source")
    if (number < batch) throw new IllegalStateException(
      s"batch $number is read again, and has come in already: the checkpoint folder of the source is an older one")
    if (number != batch) { batch = number; partitions = 0; had.clear() }
    if (partitions != in) {
      if (had.values.exists(_ > 0)) throw new IllegalStateException(
        s"batch $number is read again in $in partitions, not in $partitions: which of its rows came in is not known; begin the source anew")
      partitions = in
      closed.clear()
    }
    closed -= partition
    had.getOrElseUpdate(partition, 0L)
  }

  private[columns] def add(row: Row, partition: Long): Unit = synchronized {
    while (rows.length >= mostWaiting && failure == null) wait()
    check()
    rows += row
    put += 1
    allAdded.incrementAndGet()
    had(partition) += 1
    if (rows.length == 1) notifyAll()
  }

  /** Waits until the stream has all rows that were added, and knows that the partition, or with the last one the batch,
   *  has ended: only then has the source gone on for good.
   */
  private[columns] def awaitTaken(partition: Long): Unit = synchronized {
    val until = put
    closed += partition
    ending += 1
    notifyAll()
    try while ((taken < until || isUntold) && failure == null) wait()
    finally ending -= 1
    check()
  }

  private def hasEnded: Boolean = closed.size == partitions
  private def isUntold: Boolean = told != (batch, true) && (hasEnded || told._1 < batch)

  /** Whether a task waits for the stream. */
  def isEnding: Boolean = synchronized(ending > 0 && (taken < put || isUntold))

  private def check(): Unit = if (failure != null) throw new IllegalStateException(failure)

  /** Whether rows wait, or a task for those that were taken; after so many milliseconds at most. */
  def await(millis: Long): Boolean = synchronized {
    if (rows.isEmpty && !isEnding) wait(millis)
    rows.nonEmpty || isEnding
  }

  /** Has tasks end with this error, unless they already do with another; they find out with the next row. */
  def fail(message: String): Unit = synchronized { if (failure == null) failure = message; notifyAll() }

  /** The rows that wait, read; see [[BatchRows]]. */
  def take(rdf12: Boolean, accepts: Boolean): BatchRows = {
    val these = synchronized {
      val waiting = rows
      rows = mutable.ArrayBuffer[Row]()
      read = (batch, hasEnded)
      notifyAll() // there is room
      positionRead = (Seq(batch, partitions.toLong, if (hasEnded) 1L else 0L) ++ had.toSeq.sorted.flatMap { case (p, n) => Seq(p, n) }).mkString(",")
      waiting
    }
    val reader = new TermReader(rdf12, accepts)
    val texts = named.map(_ => new TextBuilder)
    val times = new Array[Long](these.length)
    var i = 0
    while (i < times.length) {
      val row = these(i)
      var role = 0
      while (role < texts.length) { texts(role).add(if (row.isNullAt(role)) null else row.getString(role).getBytes(UTF_8)); role += 1 }
      times(i) = millis(if (row.isNullAt(role)) null else row.get(role))
      i += 1
    }
    val terms = named.indices.map(role => ReadTerms.of(texts(role).column(named(role)).coded, role, reader)).toArray
    BatchRows.of(new TermRows(times, terms))
  }

  /** How far the source has been read with what `take` gave: a batch, how many partitions it has, whether that is all
   *  of it (1), and how many rows of each.
   */
  def position: String = positionRead

  /** Says that so many rows that `take` gave are in the stream for good. */
  def tookIn(count: Int): Unit = synchronized { taken += count; told = read; notifyAll() }

  def close(): Unit = { fail("the stream takes no rows any more"); open.remove(number) }
}

object LiveRows {
  /** How many rows may wait; fewer in tests. */
  @volatile var mostWaiting: Int = 1 << 17
  private val numbers = new AtomicLong
  private val allAdded = new AtomicLong
  private val open = new ConcurrentHashMap[Long, LiveRows]()

  /** What has a partition of a plan have rows in no certain order; null: nothing. */
  def mixesRows(plan: LogicalPlan): String = plan.collectFirst {
    case node @ (_: RepartitionOperation | _: Aggregate | _: Distinct | _: Deduplicate | _: DeduplicateWithinWatermark | _: Join | _: Sort | _: Window) => node.nodeName
    case node if node.nodeName.startsWith("TransformWithState") || node.nodeName.startsWith("FlatMapGroups") => node.nodeName
  }.orNull

  def of(named: String): LiveRows = {
    val made = new LiveRows(named.split(','))
    open.put(made.number, made)
    made
  }

  /** How many rows tasks have added, whose ever they are; for tests. */
  def addedInAll: Long = allAdded.get

  private[columns] def numbered(number: Long): LiveRows = open.get(number)

  private def millis(time: Any): Long = time match {
    case null => TermRows.NoTime
    case t: java.sql.Timestamp => TermRows.inRange(t.getTime)
    case t: Instant => TermRows.inRange(t.toEpochMilli)
    case t: LocalDateTime => TermRows.inRange(t.toInstant(ZoneOffset.UTC).toEpochMilli)
    case t: java.lang.Number => TermRows.inRange(t.longValue)
  }
}

/** Writes the rows of a task to the [[LiveRows]] of a number, in the process that they are in. */
final class LiveRowsWriter(number: Long) extends ForeachWriter[Row] {
  @transient private var rows: LiveRows = _
  private var part, known = 0L

  override def open(partition: Long, epoch: Long): Boolean = {
    rows = LiveRows.numbered(number)
    if (rows == null) throw new IllegalStateException("the stream that this query feeds is not in this process, or closed")
    part = partition
    known = rows.opened(partition, epoch, TaskContext.get().numPartitions())
    true
  }

  override def process(row: Row): Unit = if (known > 0) known -= 1 else rows.add(row, part)

  override def close(error: Throwable): Unit = if (error == null && rows != null) {
    // The next batch would begin with rows that have come in.
    if (known > 0) throw new IllegalStateException(
      s"the batch has ended $known rows before those that came in of it before: begin the source again, with a longer real_time")
    rows.awaitTaken(part)
  }
}
