package org.apache.spark.sql.cqels
package kept

import java.util.{Collections, UUID, WeakHashMap}

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.cqels.spark.FinishedBatches
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.HashJoin

/** What joins with kept static sides made of their rows, counted in the batches that ended: rows out for each row in.
 *
 *  A side is known by the columns that it is joined on: they have the same ids in all batches of a run.
 */
private[cqels] final class JoinCounts(sc: SparkContext) extends AdaptiveSparkPlanHelper {
  private val ratios = mutable.LinkedHashMap[UUID, mutable.Map[ExprId, Double]]()
  FinishedBatches.listen(sc)(take)

  /** Rows out for each row in, by a column of the static side; older batches count less. */
  def of(run: UUID): Map[ExprId, Double] = synchronized(ratios.get(run).fold(Map.empty[ExprId, Double])(_.toMap))

  private def take(run: UUID, plan: SparkPlan): Unit = {
    val found = collect(plan) { case join: HashJoin => join }.flatMap { join =>
      for {
        _ <- Option.when(JoinCounts.isKept(if (join.buildSide == BuildLeft) join.left else join.right))(())
        in <- JoinCounts.rowsOut(if (join.buildSide == BuildLeft) join.right else join.left) if in > 0
        out <- join.metrics.get("numOutputRows").map(_.value)
      } yield (if (join.buildSide == BuildLeft) join.leftKeys else join.rightKeys, out.toDouble / in)
    }
    if (found.nonEmpty) synchronized {
      val known = ratios.getOrElseUpdate(run, mutable.Map.empty)
      for ((keys, ratio) <- found; id <- JoinCounts.columns(keys))
        known(id) = known.get(id).fold(ratio)(before => before + JoinCounts.Weight * (ratio - before))
      while (ratios.size > JoinCounts.MostRuns) ratios.remove(ratios.head._1)
    }
  }
}

private[cqels] object JoinCounts {
  private final val Weight = 0.3
  private final val MostRuns = 1000
  private val all = Collections.synchronizedMap(new WeakHashMap[SparkContext, JoinCounts]())

  def of(sc: SparkContext): JoinCounts = {
    all.keySet.removeIf(_.isStopped)
    all.computeIfAbsent(sc, new JoinCounts(_))
  }

  private def columns(keys: Seq[Expression]): Seq[ExprId] = keys.flatMap(_.references.map(_.exprId))

  private def isKept(plan: SparkPlan): Boolean = plan match {
    case _: KeptStaticSideExec | _: KeptPartsExec => true
    case ReusedExchangeExec(_, _: KeptExchangeExec) => true
    case other => other.children.size == 1 && isKept(other.children.head)
  }

  /** Rows that came out of a plan: those of the nearest operator that counts them. */
  private def rowsOut(plan: SparkPlan): Option[Long] = plan.metrics.get("numOutputRows").map(_.value).orElse {
    if (plan.children.size == 1) rowsOut(plan.children.head) else None
  }
}
