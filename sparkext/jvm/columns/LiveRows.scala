package org.apache.spark.sql.cqels
package columns

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Instant, LocalDateTime, ZoneOffset}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.sql.{ForeachWriter, Row}

/** Rows that tasks of this process hand over one by one, as Spark's real-time mode has them, until a stream takes them.
 *
 *  `named`: which of subject, predicate, object and graph they have, in this order, texts all; their time comes last.
 */
final class LiveRows private (named: Array[String]) {
  import LiveRows._

  val number: Long = numbers.incrementAndGet()
  private var rows = mutable.ArrayBuffer[Row]()
  private var put, taken = 0L
  private var failure: String = _

  /** What tasks write their rows with. */
  def writer: LiveRowsWriter = new LiveRowsWriter(number)

  private[columns] def add(row: Row): Unit = synchronized {
    while (rows.length >= MostWaiting && failure == null) wait()
    check()
    rows += row
    put += 1
    if (rows.length == 1) notifyAll()
  }

  /** Waits until all rows that were added have been taken: only then has the source gone on for good. */
  private[columns] def awaitTaken(): Unit = synchronized {
    val until = put
    while (taken < until && failure == null) wait()
    check()
  }

  private def check(): Unit = if (failure != null) throw new IllegalStateException(failure)

  /** How many rows wait, after so many milliseconds at most. */
  def await(millis: Long): Int = synchronized {
    if (rows.isEmpty) wait(millis)
    rows.length
  }

  /** Has tasks end with this error, unless they already do with another; they find out with the next row. */
  def fail(message: String): Unit = synchronized { if (failure == null) failure = message; notifyAll() }

  /** The rows that wait, read; see [[BatchRows]]. */
  def take(rdf12: Boolean, accepts: Boolean): BatchRows = {
    val these = synchronized { val waiting = rows; rows = mutable.ArrayBuffer[Row](); waiting }
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

  /** Says that so many rows that `take` gave are in the stream. */
  def tookIn(count: Int): Unit = synchronized { taken += count; notifyAll() }

  def close(): Unit = { fail("the stream takes no rows any more"); open.remove(number) }
}

object LiveRows {
  private final val MostWaiting = 1 << 17
  private val numbers = new AtomicLong
  private val open = new ConcurrentHashMap[Long, LiveRows]()

  def of(named: String): LiveRows = {
    val made = new LiveRows(named.split(','))
    open.put(made.number, made)
    made
  }

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

  override def open(partition: Long, epoch: Long): Boolean = {
    rows = LiveRows.numbered(number)
    if (rows == null) throw new IllegalStateException("the stream that this query feeds is not in this process, or closed")
    true
  }

  override def process(row: Row): Unit = rows.add(row)

  override def close(error: Throwable): Unit = if (error == null && rows != null) rows.awaitTaken()
}
