package org.apache.spark.sql.cqels
package kept

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.cqels.rows.StaticRowIndex
import org.apache.spark.sql.cqels.spark.{BroadcastIds, Frames, InProcessBroadcast, StreamingJobs}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode

/** What was read of a static side. */
private[cqels] trait KeptContent {
  def rowCount: Long
  def memoryBytes: Long
  /** Takes what lies on executors away from them; a batch that runs may have it made again. */
  def release(): Unit
}

/** The rows of a static side, packed, and what joins are handed of them: one relation a join key. */
private[cqels] final class KeptRows(sc: SparkContext, pages: RowPages) extends KeptContent {
  private val handed = new ConcurrentHashMap[BroadcastMode, Handed]()

  override def rowCount: Long = pages.rowCount
  override def memoryBytes: Long = { var sum = pages.memoryBytes; handed.values.forEach(h => sum += h.bytes); sum }

  /** What a hash join asks for as its build side. Built once a key. */
  def broadcast(mode: HashedRelationBroadcastMode): Broadcast[_] = handed.computeIfAbsent(mode.canonicalized, _ => make(mode)).broadcast

  override def release(): Unit = handed.values.forEach(h => if (h.sent) h.broadcast.unpersist())

  private def make(mode: HashedRelationBroadcastMode): Handed =
    if (sc.isLocal && !mode.isNullAware) {
      val index = StaticRowIndex.build(pages, mode.key)
      Handed(new InProcessBroadcast[AnyRef](BroadcastIds.take(), () => index), index.estimatedSize, sent = false)
    } else {
      // Spark's own relation knows of nulls among its keys, and travels.
      val (relation, size) = StreamingJobs.relation(mode, scan, pages.rowCount)
      if (sc.isLocal) Handed(new InProcessBroadcast[AnyRef](BroadcastIds.take(), () => relation), size, sent = false)
      else Handed(sc.broadcast(relation), size, sent = true)
    }

  private def scan: Iterator[InternalRow] = {
    val row = new UnsafeRow(pages.fields)
    Iterator.range(0, pages.rowCount).map { r => pages.point(row, r); row }
  }
}

private final case class Handed(broadcast: Broadcast[_], bytes: Long, sent: Boolean)

private[kept] object KeptRows {
  /** Beside its own bytes a row takes so many of an index. */
  final val IndexBytes = 40L

  /** Runs a plan and packs its rows; None if they and an index of them take more than there is room for. */
  def read(session: SparkSession, plan: LogicalPlan, room: Room): Option[KeptRows] = StaticPlans.execute(session, plan) { physical =>
    val sc = session.sparkContext
    (if (sc.isLocal) readHere(sc, physical, room) else collect(physical, room)).map(new KeptRows(sc, _))
  }

  private def bytes(pages: RowPages): Long = pages.memoryBytes + IndexBytes * pages.rowCount

  /** Tasks run in this process: each packs its part, and nothing is serialised. */
  private def readHere(sc: SparkContext, physical: SparkPlan, room: Room): Option[RowPages] = {
    val schema = physical.output.map(_.dataType).toArray
    val number = InProcessParts.open(new InProcessParts(room))
    try {
      val parts = InProcessParts.of(number)
      sc.runJob(physical.execute(), (context: TaskContext, rows: Iterator[InternalRow]) => {
        InProcessParts.of(number).pack(context.partitionId(), rows, UnsafeProjection.create(schema), schema.length)
      })
      parts.joined(schema.length)
    } finally InProcessParts.close(number)
  }

  private def collect(physical: SparkPlan, room: Room): Option[RowPages] = {
    val pages = new RowPages(physical.output.size)
    pack(Frames.collected(physical), UnsafeProjection.create(physical.output, physical.output), pages, room)
    Option.when(!room.isOver)(pages)
  }

  /** Counts what rows take with each page and each few thousand of them, until they take too much. */
  private def pack(rows: Iterator[InternalRow], unsafe: UnsafeProjection, pages: RowPages, room: Room): Unit = {
    var known = 0L
    var counted = 0
    def count(): Unit = {
      val now = bytes(pages)
      room.take(now - known)
      known = now
    }
    StaticPlans.pack(rows, unsafe, pages) {
      if (pages.pageTotal != counted || (pages.rowCount & 0xfff) == 0) { counted = pages.pageTotal; count() }
      !room.isOver
    }
    count()
  }

  /** Rows of the partitions of one job, as its tasks put them here. */
  final class InProcessParts(room: Room) {
    private val parts = new ConcurrentHashMap[Int, RowPages]()

    def pack(partition: Int, rows: Iterator[InternalRow], unsafe: UnsafeProjection, fields: Int): Unit = {
      val pages = new RowPages(fields)
      KeptRows.pack(rows, unsafe, pages, room)
      parts.put(partition, pages)
    }

    def joined(fields: Int): Option[RowPages] = Option.when(!room.isOver) {
      val all = new RowPages(fields)
      parts.keySet.toArray(Array.empty[Integer]).sorted.foreach(p => all.take(parts.get(p)))
      all
    }
  }

  object InProcessParts {
    private val next = new AtomicLong
    private val open = new ConcurrentHashMap[Long, InProcessParts]()

    def open(parts: InProcessParts): Long = { val number = next.incrementAndGet(); open.put(number, parts); number }
    def of(number: Long): InProcessParts = open.get(number)
    def close(number: Long): Unit = open.remove(number)
  }
}
