package org.apache.spark.sql.cqels
package sql

import java.lang.ref.WeakReference

import scala.annotation.tailrec
import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Literal, ScalarSubquery, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.kept.{KeepStaticSides, KeptSideSettings, StaticPlans, StaticVersions}
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.cqels.rows.StaticRows
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.{StructField, StructType}

/** Until when what was put into a plan may stay there, by a clock that nobody sets. */
private[sql] final class Validity {
  private var until = Long.MaxValue
  def atMost(time: Long): Unit = until = math.min(until, time)
  def isOver: Boolean = until != Long.MaxValue && Validity.now >= until
}

private[sql] object Validity {
  def now: Long = System.nanoTime() / 1000000L
}

/** Computes once what a prepared query puts together with something live and reads nothing live itself.
 *
 *  Parts that are the same plan over the same versions of data are computed once for all queries that are prepared at the time.
 *  A part of more than `maxRows` rows stays as it is, and so does one that reads what has no version, unless the user named a
 *  time for which it is kept.
 */
final class StaticParts(session: SparkSession, maxRows: Long) extends Logging {
  private final case class Kept[T](what: T, until: Long)
  private type Key = (LogicalPlan, Map[String, String])

  private val parts = mutable.Map[Key, Kept[WeakReference[StaticRows]]]()
  private val values = new Remembered[Kept[Literal]]
  private val refused = new Remembered[Unit]

  /** An optimised plan with its static parts replaced by their rows. */
  def materialise(plan: LogicalPlan, validity: Validity): LogicalPlan = new Materialising(validity).of(plan)

  private final class Materialising(validity: Validity) {
    private val versions = new StaticVersions(session, ofProgram = true)
    private val settings = session.sessionState.conf.getAllConfs.filterNot(_._1.startsWith("spark.cqels."))

    def of(plan: LogicalPlan): LogicalPlan = {
      // A subquery over static data has the same value every time: as data it no longer keeps the plan from the driver.
      val valued = plan.transformAllExpressions { case s: ScalarSubquery if s.outerAttrs.isEmpty && isStatic(s.plan) => value(s) }
      inLive(valued)
    }

    private def isStatic(plan: LogicalPlan): Boolean = plan.deterministic && !RowRelationLeaf.isLive(plan) && plan.resolved

    private def inLive(plan: LogicalPlan): LogicalPlan = plan match {
      case join: Join if RowRelationLeaf.isLive(join) => join.mapChildren(c => if (isStatic(c)) static(c, join) else inLive(c))
      case other if RowRelationLeaf.isLive(other) =>
        // A static input of an operator that is not live by its inputs alone, or of a union, would be read at each run.
        other.mapChildren(c => if (isStatic(c)) computed(c) else inLive(c))
      case other => other
    }

    /** A static input of a join: its own inner joins are left to the optimizer, which may interleave them with live inputs. */
    private def static(plan: LogicalPlan, parent: Join): LogicalPlan =
      if (parent.joinType.isInstanceOf[InnerLike] && JoinCluster.isInside(plan)) plan match {
        case join: Join => join.mapChildren(static(_, join))
        case other => other.mapChildren(static(_, parent))
      } else computed(plan)

    private def computed(plan: LogicalPlan): LogicalPlan = plan match {
      case _: OneRowRelation | RowRelationLeaf(_: StaticRows, _) => plan
      case _ => rows(plan).fold(plan)(RowRelationLeaf(_, plan.output))
    }

    private def rows(plan: LogicalPlan): Option[StaticRows] = StaticParts.this.synchronized {
      val (key, until) = found(plan)
      if (until <= 0 || refused.contains(key)) None
      else {
        val known = parts.get(key).filter(k => isValid(k.until)).flatMap(k => Option(k.what.get()).map(Kept(_, k.until)))
        val part = known.orElse(compute(plan).map { rows =>
          parts.filterInPlace((_, k) => k.what.get() != null)
          // What changed while it was read serves this query, as it would with Spark, and no other.
          if (found(plan)._1 == key) parts(key) = Kept(new WeakReference(rows), until)
          Kept(rows, until)
        })
        if (part.isEmpty) refused(key) = ()
        part.foreach(p => validity.atMost(p.until))
        part.map(_.what)
      }
    }

    /** What a plan is found by, and until when; 0: it has no version and is read each time. */
    private def found(plan: LogicalPlan): (Key, Long) = {
      val versioned = versions.of(plan)
      val until = if (versioned.unversioned.isEmpty) Long.MaxValue else KeptSideSettings.ttlMs(session) match {
        case 0 => 0L
        case ttl => Validity.now + ttl
      }
      ((versioned.key, settings), until)
    }

    private def isValid(until: Long): Boolean = until > Validity.now

    private def value(subquery: ScalarSubquery): Literal = StaticParts.this.synchronized {
      val (key, until) = found(subquery.plan)
      val value = values.get(key).filter(k => isValid(k.until)).getOrElse {
        val made = Kept(evaluate(subquery), until)
        if (until > 0 && found(subquery.plan)._1 == key) values(key) = made
        made
      }
      validity.atMost(value.until)
      value.what
    }
  }

  private def compute(plan: LogicalPlan): Option[StaticRows] = {
    val label = labelOf(plan)
    val pages = new RowPages(plan.output.size)
    val complete = execute(plan) { physical =>
      // Large parts come partition by partition: what is packed already need not be there twice.
      val rows = if (plan.stats.sizeInBytes > StaticParts.AtOnce) physical.executeToIterator() else Frames.collected(physical)
      StaticPlans.pack(rows, UnsafeProjection.create(plan.output, plan.output), pages)(pages.rowCount <= maxRows)
      pages.rowCount <= maxRows
    }
    if (complete) Some(new StaticRows(label, StructType(plan.output.map(a => StructField(a.name, a.dataType, a.nullable))), pages))
    else {
      logWarning(s"$label has more rows than spark.cqels.sql.maxStaticRows, $maxRows: Spark jobs read it at each run")
      None
    }
  }

  private def labelOf(plan: LogicalPlan): String = plan.collectLeaves().map(nameOf).distinct.mkString("+")

  private def nameOf(leaf: LogicalPlan): String = leaf match {
    case l: LogicalRelation => l.catalogTable.map(_.identifier.table).getOrElse("files")
    case m: InMemoryRelation => m.cacheBuilder.tableName.map(_.stripPrefix("In-memory table ")).getOrElse("cached")
    case other => other.nodeName.toLowerCase(java.util.Locale.ROOT)
  }

  private def execute[T](plan: LogicalPlan)(body: SparkPlan => T): T =
    try StaticPlans.execute(session, plan)(body)
    catch { case NonFatal(failure) => throw new IllegalStateException(s"${KeepStaticSides.label(plan)} cannot be read: ${StaticParts.reason(failure)}", failure) }

  private def evaluate(subquery: ScalarSubquery): Literal = {
    val rows = execute(subquery.plan)(_.executeCollect())
    if (rows.length > 1) throw new IllegalArgumentException("a scalar subquery gives more than one row")
    val cell = if (rows.isEmpty || rows(0).isNullAt(0)) null else rows(0).get(0, subquery.dataType)
    Literal(cell, subquery.dataType)
  }

  /** Forgets what was put in first. */
  private final class Remembered[T] {
    private val all = mutable.LinkedHashMap[Key, T]()
    def contains(key: Key): Boolean = all.contains(key)
    def get(key: Key): Option[T] = all.get(key)
    def update(key: Key, value: T): Unit = { all.remove(key); all(key) = value; if (all.size > StaticParts.Most) all.remove(all.head._1) }
  }
}

private object StaticParts {
  private final val AtOnce = BigInt(256L << 20)
  private final val Most = 100

  /** The first line of what failed first. */
  @tailrec private def reason(failure: Throwable): String =
    if (failure.getCause != null && (failure.getCause ne failure)) reason(failure.getCause)
    else Option(failure.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(failure.toString)
}
