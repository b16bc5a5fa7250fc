package org.apache.spark.sql.cqels
package kept

import java.util.{Collections, UUID, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.spark.StreamingJobs

/** How a side is kept: as a whole, for any key, or in parts by keys. */
private[kept] sealed trait SideForm
private[kept] case object Whole extends SideForm
private[kept] final case class InParts(keys: Seq[Expression], partitions: Int) extends SideForm

/** What a kept side is found by: what it reads in which version, the settings under which it was read, and how it is kept. */
private[kept] final case class SideKey(plan: LogicalPlan, settings: Map[String, String], form: Any)

/** A static side that was read once, or that is being read; `unnamed` is the same in any version. */
private[cqels] final class KeptSide(
    val label: String, val key: SideKey, val unnamed: LogicalPlan, val ttlMs: Long, val firstBatch: Long) {
  /** Whether it goes after a time, since its version cannot be told. */
  def expires: Boolean = ttlMs < Long.MaxValue

  /** Held while the rows are read: who asks for the same meanwhile waits for them. */
  private[kept] val reading = new Object
  @volatile private[kept] var room: Room = _
  @volatile private[kept] var rows: KeptContent = _
  @volatile private[kept] var since = 0L
  @volatile private[kept] var sinceNanos = 0L
  @volatile private[kept] var readMs = 0L
  private[kept] val uses = new AtomicLong
  /** Whether a batch found it that had not to read it. */
  @volatile private[kept] var isFoundAgain = false
  /** Streaming queries that found their rows here, and the last batch in which each did. */
  private[kept] val users = new ConcurrentHashMap[UUID, Long]()

  def rowCount: Long = if (rows == null) 0 else rows.rowCount
  def memoryBytes: Long = if (rows == null) 0 else rows.memoryBytes

  /** What it takes of the room of another one: also while it is read, if that began before. */
  private[kept] def takesOf(other: Room): Long = if (rows == null && room != null && room.number < other.number) room.taken else memoryBytes

  /** Whether it takes memory of the driver, not of executors. */
  private[kept] def isWhole: Boolean = key.form == Whole

  /** Its figures in Spark's manner. */
  def describe: String = s"rows $rowCount, size ${StreamingJobs.size(memoryBytes)}, read in $readMs ms, used ${uses.get} times"
}

/** What a side may take that is being read, `left` at any time, and what it has taken so far. */
private[kept] final class Room(leftFor: Room => Long) {
  val number: Long = Room.next.incrementAndGet()
  private val bytes = new AtomicLong
  private val over = new AtomicBoolean

  def left: Long = leftFor(this)
  def taken: Long = bytes.get
  def isOver: Boolean = over.get

  def take(more: Long): Unit = { bytes.addAndGet(more); if (bytes.get > left) over.set(true) }
}

private[kept] object Room {
  private val next = new AtomicLong
}

/** The kept sides of one application, for all of its sessions and queries.
 *
 *  A side that a running query uses stays; another may have to go for one that is to be kept, the least recently used first.
 */
private[cqels] final class KeptSides(sc: SparkContext) extends Logging {
  private val sides = mutable.LinkedHashMap[SideKey, KeptSide]()
  private val refused = mutable.LinkedHashMap[SideKey, Long]()
  // By query and timeless plan, the hashes of the keys of late: a key has the name of each file of a side.
  private val passing = mutable.LinkedHashMap[(UUID, LogicalPlan), Seq[Int]]()
  private val told = mutable.LinkedHashSet[(UUID, String)]()

  /** The side, read now if it is not there, or why it cannot be kept. */
  def side(session: SparkSession, plan: LogicalPlan, label: String, form: SideForm, batch: RunningBatch): Either[String, KeptSide] = {
    val settings = KeptSideSettings.of(session, form)
    val versions = new StaticVersions(session)
    val found = versions.of(plan)
    if (found.unversioned.nonEmpty && settings.ttlMs <= 0) Left(found.unversioned.mkString("; "))
    else {
      val key = SideKey(found.key, settings.all, canonical(form, plan))
      val there = synchronized {
        drop(sides.values.filter(s => s.expires && s.rows != null && System.nanoTime() - s.sinceNanos >= s.ttlMs * 1000000L))
        sides.get(key).filter(_.rows != null).map(wanted(_, batch))
      }
      val side = there.toRight(()).left.flatMap { _ =>
        val unnamed = found.unnamed
        val place = (batch.query, found.timeless)
        // Of now: others may be read beside it.
        val room = new Room(room => synchronized {
          settings.maxBytes - sides.values.iterator.filter(isInTheWay(_, key, batch, unnamed)).map(_.takesOf(room)).sum
        })
        val asked = synchronized {
          if (refused.get(key).exists(_ >= room.left)) Left(KeptSides.tooLarge(room.left, settings.maxBytes))
          else if (!sides.contains(key) && isPassing(batch, place, unnamed, key)) Left("its data change from batch to batch")
          else Right(wanted(sides.getOrElseUpdate(key, new KeptSide(label, key, unnamed, if (found.unversioned.isEmpty) Long.MaxValue else settings.ttlMs, batch.number)), batch))
        }
        asked.flatMap(s => s.reading.synchronized(if (s.rows != null) Right(s) else fill(session, s, plan, form, versions, batch, place, room, settings.maxBytes)))
      }
      side.foreach(used(_, batch, settings.maxBytes))
      side
    }
  }

  /** From the look-up on, so that no other query drops it while its rows come in. */
  private def wanted(side: KeptSide, by: RunningBatch): KeptSide = { side.users.put(by.query, by.number); side }

  private def isInTheWay(side: KeptSide, of: SideKey, batch: RunningBatch, unnamed: LogicalPlan): Boolean =
    side.key != of && side.isWhole == (of.form == Whole) && isUsed(side, batch, unnamed)

  /** Whether a side is not worth reading: the version before served one batch only. One that two batches find is read. */
  private def isPassing(batch: RunningBatch, place: (UUID, LogicalPlan), unnamed: LogicalPlan, key: SideKey): Boolean = {
    val before = passing.remove(place)
    val changes = before.map(!_.contains(key.hashCode)).getOrElse {
      sides.values.exists { s =>
        s.rows != null && s.unnamed == unnamed && s.firstBatch < batch.number && s.users.getOrDefault(batch.query, -1L) == s.firstBatch
      }
    }
    if (changes) noteChanging(place, before.getOrElse(Nil), key)
    changes
  }

  private def noteChanging(place: (UUID, LogicalPlan), before: Seq[Int], key: SideKey): Unit = {
    passing(place) = (before :+ key.hashCode).takeRight(KeptSides.MostAlike)
    while (passing.size > KeptSides.MostRefusals) passing.remove(passing.head._1)
  }

  /** Whether a running query needs the side; that of this batch needs no other version of what it asks for. */
  private def isUsed(side: KeptSide, by: RunningBatch, unnamed: => LogicalPlan): Boolean =
    side.users.keySet.asScala.exists(u => by.isRunning(u) && !(u == by.query && side.unnamed == unnamed))

  /** The form as it is for any plan that means the same. */
  private def canonical(form: SideForm, plan: LogicalPlan): Any = form match {
    case InParts(keys, partitions) => (BindReferences.bindReferences(keys, plan.output).map(_.canonicalized), partitions)
    case Whole => Whole
  }

  private def fill(
      session: SparkSession, side: KeptSide, plan: LogicalPlan, form: SideForm, versions: StaticVersions, batch: RunningBatch,
      place: (UUID, LogicalPlan), room: Room, most: Long): Either[String, KeptSide] = {
    val start = System.nanoTime()
    side.room = room
    try {
      StreamingJobs.described(sc, s"kept static side: ${side.label}")(form match {
        case Whole => KeptRows.read(session, plan, room)
        case InParts(keys, partitions) => KeptParts.read(session, plan, keys, partitions, room.left)
      }) match {
        case Some(rows) =>
          side.readMs = (System.nanoTime() - start) / 1000000
          side.since = System.currentTimeMillis()
          side.sinceNanos = System.nanoTime() // the other clock may be set
          side.rows = rows
          // What changed while it was read serves this batch, as it would with stock Spark, and no other.
          if (!side.expires && versions.of(plan).key != side.key.plan) forget(side)
          StreamingJobs.post(sc, StaticSideKept(batch.query.toString, batch.number, side.label, rows.rowCount, rows.memoryBytes, side.readMs))
          logInfo(s"kept static side ${side.label}: ${rows.rowCount} rows, ${rows.memoryBytes} bytes, read in ${side.readMs} ms")
          Right(side)
        case None =>
          synchronized {
            refused(side.key) = room.left
            while (refused.size > KeptSides.MostRefused) refused.remove(refused.head._1)
            // Where it changes with each batch, the next version is not even begun.
            noteChanging(place, passing.remove(place).getOrElse(Nil), side.key)
          }
          forget(side)
          Left(KeptSides.tooLarge(room.left, most))
      }
    } catch { case failure: Throwable => forget(side); throw failure }
  }

  private def forget(side: KeptSide): Unit = synchronized { if (sides.get(side.key).exists(_ eq side)) sides.remove(side.key) }

  private def used(side: KeptSide, batch: RunningBatch, most: Long): Unit = synchronized {
    side.uses.incrementAndGet()
    if (batch.number != side.firstBatch) side.isFoundAgain = true
    if (sides.contains(side.key)) { sides.remove(side.key); sides(side.key) = side } // the least recently used come first
    sides.values.foreach(s => if (s.users.getOrDefault(batch.query, Long.MaxValue) < batch.number - 1) s.users.remove(batch.query))
    // Commands of table formats join with rows that they made for one batch: these would fill the memory.
    drop(sides.values.filter(s => (s ne side) && s.rows != null && s.users.isEmpty && (s.unnamed == side.unnamed || !s.isFoundAgain)))
    var over = sides.values.iterator.filter(_.isWhole == side.isWhole).map(_.memoryBytes).sum - most
    drop(sides.values.filter { s =>
      val goes = over > 0 && (s ne side) && s.rows != null && s.isWhole == side.isWhole && !isUsed(s, batch, side.unnamed)
      if (goes) over -= s.memoryBytes
      goes
    })
  }

  // A batch that runs now still holds the relation. On executors it is sent again to a task that asks for it.
  private def drop(gone: Iterable[KeptSide]): Unit = gone.toSeq.foreach { s => sides.remove(s.key); s.rows.release() }

  def clear(): Unit = synchronized { drop(sides.values.filter(_.rows != null)); refused.clear(); passing.clear() }

  /** Whether this was not told before about this query. */
  def isNews(query: UUID, what: String): Boolean = synchronized {
    val news = told.add((query, what))
    if (told.size > KeptSides.MostRefusals) told.remove(told.head)
    news
  }

  def listed: Seq[KeptSide] = synchronized(sides.values.filter(_.rows != null).toSeq)
}

private[cqels] object KeptSides {
  private final val MostRefusals = 1000
  private final val MostRefused = 50 // the name of each file of a side is in its key
  private final val MostAlike = 8 // sides of one query that only dates tell apart
  private val all = Collections.synchronizedMap(new WeakHashMap[SparkContext, KeptSides]())

  def of(sc: SparkContext): KeptSides = {
    all.keySet.removeIf(_.isStopped) // what is kept leads to its application: nothing else would let go of it
    all.computeIfAbsent(sc, new KeptSides(_))
  }

  private def tooLarge(room: Long, most: Long): String =
    s"it takes more than $room bytes, what is left of spark.cqels.keptSides.maxMemory, $most"
}
