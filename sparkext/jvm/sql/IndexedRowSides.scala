package org.apache.spark.sql.cqels
package sql

import org.apache.spark.sql.catalyst.expressions.{Alias, And, Attribute, AttributeReference, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftOuter}
import org.apache.spark.sql.catalyst.plans.physical.BroadcastDistribution
import org.apache.spark.sql.cqels.leaves.{IndexedRowsExec, LiveValue, RowScanExec}
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode}

/** Replaces the build side of a hash join by an index of the rows it reads, under projections and filters.
 *
 *  Before: `BroadcastHashJoin(left, Project(Filter(c, RowScan r)))`;
 *  after:  `Project(BroadcastHashJoin(left, IndexedRows r, c and condition))`. The index has all columns, so that one
 *  serves every join by the same key.
 */
private[cqels] object IndexedRowSides {
  def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case join: BroadcastHashJoinExec if join.buildSide == BuildRight && !join.isNullAwareAntiJoin =>
      rowsBelow(join.right).flatMap(replace(join, _)).getOrElse(join)
  }

  /** Rows under projections and filters: what each attribute is called in the scan, and the filters' conditions over it. */
  private final case class Below(scan: RowScanExec, source: Map[Long, Attribute], conditions: Seq[Expression])

  private def rowsBelow(plan: SparkPlan): Option[Below] = plan match {
    case scan: RowScanExec => Some(Below(scan, scan.output.map(a => a.exprId.id -> a).toMap, Nil))
    case FilterExec(condition, child) if condition.deterministic && !SubqueryExpression.hasSubquery(condition) =>
      rowsBelow(child).map(b => b.copy(conditions = b.conditions :+ named(condition, b.source)))
    case ProjectExec(list, child) if list.forall { case _: AttributeReference | Alias(_: AttributeReference, _) => true; case _ => false } =>
      rowsBelow(child).map { b =>
        b.copy(source = list.map {
          case a @ Alias(from: AttributeReference, _) => a.exprId.id -> b.source(from.exprId.id)
          case a => a.exprId.id -> b.source(a.exprId.id)
        }.toMap)
      }
    case _ => None
  }

  private def named(e: Expression, names: Map[Long, Attribute]): Expression =
    e.transform { case a: AttributeReference => names.getOrElse(a.exprId.id, a) }

  private def replace(join: BroadcastHashJoinExec, below: Below): Option[SparkPlan] = {
    val scanned = below.scan.output
    val usedNames = join.right.output.map(a => below.source(a.exprId.id).exprId.id -> a)
    if (usedNames.map(_._1).distinct.size != usedNames.size) return None // one column under two names
    // The columns under the names the join knows; the others keep their own. What a filter below made free of nulls is not
    // so in the index.
    val names = usedNames.toMap
    val output = scanned.map(a => names.get(a.exprId.id).fold(a)(_.withNullability(a.nullable)))
    val known = output.map(_.exprId.id).toSet
    if (known.size != output.size || join.left.output.exists(a => known(a.exprId.id))) return None
    val renamed = scanned.zip(output).map { case (from, to) => from.exprId.id -> to }.toMap
    // The filters come first: they may guard what the join's own condition computes.
    val condition = JoinCluster.inTurn(below.conditions.map(named(_, renamed)) ++ join.condition)
    val probed = join.copy(right = below.scan.copy(output = output), condition = condition)
    probed.requiredChildDistribution(1) match {
      // An index by what has another value at the next run would have to be made anew there: the stage is built then. So it is
      // where a key may fail on a row: an index has all rows, those too that a filter leaves out.
      case BroadcastDistribution(mode @ HashedRelationBroadcastMode(keys, false)) if !keys.exists(LiveValue.isIn) && keys.forall(JoinCluster.isTotal) =>
        val indexed = IndexedRowsExec(below.scan.content, keys, output, mode)
        val replaced = probed.copy(right = indexed)
        Some(join.joinType match {
          case _: InnerLike | LeftOuter if replaced.output != join.output => ProjectExec(join.output, replaced)
          case _ => replaced
        })
      case _ => None
    }
  }
}
