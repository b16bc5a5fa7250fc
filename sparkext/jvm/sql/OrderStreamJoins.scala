package org.apache.spark.sql.cqels
package sql

import java.util.UUID

import scala.collection.mutable

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis.RewriteCollationJoin
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.kept.{JoinCounts, KeptSideSettings, RunningBatch}

/** Joins the rows of a micro-batch with static sides in the order in which they grow least, as the batches before counted.
 *
 *  Before: `Join(Join(stream, a), b)` where `a` gave ten rows for each and `b` one for each tenth; after:
 *  `Join(Join(stream, b), a)`. Spark plans each micro-batch anyway, so an order costs nothing but the plan's code, once.
 *  What has state below it stays as it is.
 */
case class OrderStreamJoins(session: SparkSession) extends Rule[LogicalPlan] with Logging {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.isStreaming) plan
    else RunningBatch.of(session).filter(_ => KeptSideSettings.isOrdered(session)).fold(plan) { batch =>
      val ratios = JoinCounts.of(session.sparkContext).of(batch.run)
      if (ratios.isEmpty) plan else in(plan, ratios, batch.run)
    }

  private def in(plan: LogicalPlan, ratios: Map[ExprId, Double], run: UUID): LogicalPlan = {
    def go(node: LogicalPlan): LogicalPlan = JoinCluster.at(node).filter(_.leaves.size > 2).flatMap(ordered(_, ratios)).getOrElse(node.mapChildren(go))
    val changed = go(plan)
    if (changed fastEquals plan) plan else RewriteCollationJoin(changed)
  }

  /** The cluster in a better order; None where there is none, or where nothing may be moved. */
  private def ordered(cluster: JoinCluster, ratios: Map[ExprId, Double]): Option[LogicalPlan] = {
    val (moving, static) = cluster.leaves.indices.partition(i => cluster.leaves(i).isStreaming)
    val counted = static.flatMap(i => cluster.leaves(i).output.flatMap(a => ratios.get(a.exprId)).headOption.map(i -> _)).toMap
    if (moving.size != 1 || counted.size < static.size || !OrderStreamJoins.isStateless(cluster.leaves(moving.head))) None
    else {
      val written = moving.head +: static
      val best = moving.head +: reached(cluster, moving.head, static, counted)
      val better = OrderStreamJoins.rows(best, counted) * OrderStreamJoins.Gain < OrderStreamJoins.rows(written, counted)
      Option.when(best.size == written.size && best != written && better) {
        logDebug(s"joins in the order ${best.map(cluster.name).mkString(", ")}")
        cluster.rebuild(best.tail.foldLeft[JoinOrder](OrderLeaf(best.head))((o, i) => OrderJoin(o, OrderLeaf(i))), cluster.leaves, _ => false)
      }
    }
  }

  /** The static inputs, each when it is joined by an equality, the one that gives the fewest rows first. */
  private def reached(cluster: JoinCluster, from: Int, static: Seq[Int], ratios: Map[Int, Double]): Seq[Int] = {
    val classes = cluster.equalTerms.map(_.map(_._1).toSet)
    val order = mutable.ArrayBuffer[Int]()
    var next = Option(from)
    while (next.nonEmpty) {
      val there = order.toSet + from
      next = static.filter(i => !there(i) && classes.exists(c => c(i) && c.exists(there))).minByOption(ratios)
      order ++= next
    }
    order.toSeq
  }
}

object OrderStreamJoins {
  /** By this factor fewer rows, or nothing is changed: a new order is new code. */
  private final val Gain = 1.2

  /** Rows that all joins of an order give, for each row of the stream. */
  private def rows(order: Seq[Int], ratios: Map[Int, Double]): Double = order.tail.scanLeft(1.0)((n, i) => n * ratios(i)).tail.sum

  private def isStateless(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Generate | _: EventTimeWatermark | _: SubqueryAlias | _: Union => plan.children.forall(isStateless)
    case other => other.children.isEmpty
  }
}
