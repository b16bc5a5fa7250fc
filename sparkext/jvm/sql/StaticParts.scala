package org.apache.spark.sql.cqels
package sql

import java.lang.ref.WeakReference

import scala.collection.mutable

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Literal, ScalarSubquery, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.cqels.memory.RowPages
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.{StructField, StructType}

/** Computes once what a prepared query puts together with something live and reads nothing live itself.
 *
 *  Parts that are the same plan over the same files are computed once for all queries that are prepared at the time.
 *  A part of more than `maxRows` rows stays as it is.
 */
final class StaticParts(session: SparkSession, maxRows: Long) extends Logging {
  private val kept = mutable.Map[(LogicalPlan, Seq[String]), WeakReference[StaticRows]]()
  private val refused = mutable.Set[(LogicalPlan, Seq[String])]()

  /** An optimised plan with its static parts replaced by their rows. */
  def materialise(plan: LogicalPlan): LogicalPlan = {
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
    case _: OneRowRelation => plan
    case _ => rows(plan).fold(plan)(RowRelationLeaf(_, plan.output))
  }

  private def rows(plan: LogicalPlan): Option[StaticRows] = plan match {
    case RowRelationLeaf(rows: StaticRows, _) => Some(rows)
    case _ => synchronized {
      val key = (plan.canonicalized, files(plan))
      kept.get(key).flatMap(w => Option(w.get())).orElse {
        if (refused(key)) None
        else {
          val found = compute(plan)
          kept.filterInPlace((_, w) => w.get() != null)
          found match {
            case Some(rows) => kept(key) = new WeakReference(rows)
            case None => refused += key
          }
          found
        }
      }
    }
  }

  // A plan over files is equal to one over the same folder with other files in it.
  private def files(plan: LogicalPlan): Seq[String] = plan.collect { case r: LogicalRelation => r.relation }.collect {
    case fs: HadoopFsRelation => (fs.location.inputFiles.sorted :+ fs.location.sizeInBytes.toString).mkString("\n")
  }

  private def compute(plan: LogicalPlan): Option[StaticRows] = {
    val label = plan.collectLeaves().map(nameOf).distinct.mkString("+")
    val pages = new RowPages(plan.output.size)
    val complete = execute(plan) { physical =>
      // Large parts come partition by partition: what is packed already need not be there twice.
      val rows = if (plan.stats.sizeInBytes > StaticParts.AtOnce) physical.executeToIterator() else Frames.collected(physical)
      val unsafe = UnsafeProjection.create(plan.output, plan.output)
      while (rows.hasNext && pages.rowCount <= maxRows) rows.next() match {
        case row: UnsafeRow => pages.append(row)
        case row => pages.append(unsafe(row))
      }
      pages.rowCount <= maxRows
    }
    if (complete) Some(new StaticRows(label, StructType(plan.output.map(a => StructField(a.name, a.dataType, a.nullable))), pages))
    else {
      logWarning(s"$label has more rows than spark.cqels.sql.maxStaticRows, $maxRows: Spark jobs read it at each run")
      None
    }
  }

  private def nameOf(leaf: LogicalPlan): String = leaf match {
    case l: LogicalRelation => l.catalogTable.map(_.identifier.table).getOrElse("files")
    case m: InMemoryRelation => m.cacheBuilder.tableName.map(_.stripPrefix("In-memory table ")).getOrElse("cached")
    case other => other.nodeName.toLowerCase(java.util.Locale.ROOT)
  }

  private def execute[T](plan: LogicalPlan)(body: SparkPlan => T): T = session.withActive {
    SQLExecution.withSQLConfPropagated(session) {
      body(QueryExecution.prepareExecutedPlan(session, QueryExecution.createSparkPlan(session.sessionState.planner, plan.clone())))
    }
  }

  private def value(subquery: ScalarSubquery): Literal = {
    val rows = execute(subquery.plan)(_.executeCollect())
    if (rows.length > 1) throw new IllegalArgumentException("a scalar subquery gives more than one row")
    val cell = if (rows.isEmpty || rows(0).isNullAt(0)) null else rows(0).get(0, subquery.dataType)
    Literal(cell, subquery.dataType)
  }
}

private object StaticParts {
  private final val AtOnce = BigInt(256L << 20)
}
