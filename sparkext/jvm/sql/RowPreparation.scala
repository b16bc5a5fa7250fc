package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.cqels.clusters.ClusterOrder
import org.apache.spark.sql.cqels.kept.StaticVersions
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.cqels.written.QueryBasis
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** A query as it was prepared at one time: optimised once, with one physical plan, whose joins choose their order in each run.
 *
 *  Its scalar subqueries over live data are plans of their own, which run first (see [[LiveSubqueries]]), and what it reads of
 *  the clock is that of the run ([[LiveClock]]).
 */
private[sql] final class RowPreparation(
    session: SparkSession, made: QueryBasis, statics: StaticParts, enabled: Boolean, joinThreads: Int) extends Logging {
  private var basis = made
  val schema: StructType = basis.meaning.plan.schema
  private val validity = new Validity
  private val clock = new LiveClock
  private val subqueries = new LiveSubqueries(plan => PreparedRows.streamLive(statics.materialise(plan, validity)))
  private var keepsTime = false
  // The query itself, then its subqueries: clusters are numbered so. None of it where nothing is prepared.
  private val trees: Seq[LogicalPlan] = if (!enabled) Nil else session.withActive {
    // What is cached is found by how it was written.
    val timeless = clock.without(basis.plan)
    keepsTime = new StaticVersions(session).mayKeepTime(timeless)
    clock.set()
    val main = subqueries.without(ReorderLiveJoins.without(SQLConf.withExistingConf(PreparedRows.optimizing(session.sessionState.conf)) {
      new QueryExecution(session, timeless).optimizedPlan
    }))
    main +: subqueries.all.map(_.tree)
  }
  private val isOpen = keepsTime || { val versions = new StaticVersions(session, ofProgram = true); trees.exists(versions.isOpen) }
  private val clusters: Seq[Seq[JoinCluster]] = trees.map(LiveClusters.of)

  // By cluster, what tells its operator an order; null where it is a chain of Spark's joins.
  val told = new Array[ClusterOrder](clusters.map(_.size).sum)

  lazy val query: RowQuery =
    if (!enabled) RowQuery(new UnpreparedRowPlan(session, basis.meaning.plan, "spark.cqels.enabled=false"), Nil)
    else {
      val before = clusters.scanLeft(0)(_ + _.size)
      val plans = trees.zip(before).map { case (tree, first) => planned(tree, first) }
      RowQuery(plans.head, subqueries.all.zip(plans.tail))
    }

  private def planned(tree: LogicalPlan, first: Int): RowPlan = {
    val joined = LiveClusters.replace(tree) { (number, cluster, inputs) =>
      RowClusters.of(cluster, inputs).map { join => told(first + number) = join.order; join }
    }
    new PreparedRowPlan(session, session.withActive(PreparedRows.finish(RowClusters.simplify(joined))), joinThreads)
  }

  /** The live rows that it reads. */
  val views: Seq[LiveRows] = {
    val found = mutable.LinkedHashSet[LiveRows]()
    def collect(plan: LogicalPlan): Unit = plan.foreach {
      case RowRelationLeaf(rows: LiveRows, _) => found += rows
      case node => node.subqueries.foreach(collect)
    }
    (if (enabled) trees else Seq(basis.meaning.plan)).foreach(collect)
    found.toSeq
  }

  /** Its clusters of inner joins as query graphs with the statistics of now, a JSON list. */
  def graphs(): String = clusters.flatten.map(_.describe()).mkString("[", ",", "]")

  /** From here the clock says now; where its time is in the plan, the run that is prepared for has that one everywhere. */
  def setClock(): Unit = if (!keepsTime) session.withActive(clock.set())

  /** What the query is to be prepared on anew, None where a run gives what Spark would answer now; `anew` is what it rests on now. */
  def outdated(anew: => QueryBasis): Option[QueryBasis] =
    if (isOpen || validity.isOver) Some(anew)
    else if (basis.isCurrent) None
    else {
      val now = anew
      val changed = basis.changed(now)
      if (changed.isEmpty) basis = now else logInfo(s"a query is prepared anew, as ${changed.get} has changed")
      changed.map(_ => now)
    }
}
