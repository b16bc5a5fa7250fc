package org.apache.spark.sql.cqels
package sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Max
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan}
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf

/** Makes an anti join by equality of what NOT IN asks of values that may be null.
 *
 *  Spark compiles into its plan whether the right side has a null or no row at all. Here a subquery finds that out at each run:
 *  its value is null over no rows.
 *
 *  Before: `LeftAnti(a = b or isnull(a = b), left, right)`;
 *  after:  `LeftAnti(a = b, Filter(nulls is null or isnotnull(a) and not nulls, left), right)` where `nulls` is
 *  `scalar-subquery(Aggregate(max(isnull(b)), right))`.
 */
private[cqels] object NullAwareAntiJoins {
  def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join @ Join(left, right, LeftAnti, Some(condition), _) if RowRelationLeaf.isLive(join) && right.deterministic =>
      Asked.of(condition, left, right).fold[LogicalPlan](join) { asked =>
        val nulls = ScalarSubquery(Aggregate(Nil, Seq(Alias(Max(IsNull(asked.in)).toAggregateExpression(), "nulls")()), right))
        val known = Option.when(asked.ofNull)(IsNotNull(asked.value)) ++ Option.when(asked.inNulls)(Not(nulls))
        val passes = known.reduceOption[Expression](And).fold[Expression](Literal.TrueLiteral)(Or(IsNull(nulls), _))
        join.copy(left = Filter(passes, left), condition = Some(asked.equal))
      }
  }

  /** A value of the left side and what it is not to be in; whether a null of either is in everything. */
  private final case class Asked(equal: EqualTo, value: Expression, in: Expression, ofNull: Boolean, inNulls: Boolean)

  private object Asked {
    def of(condition: Expression, left: LogicalPlan, right: LogicalPlan): Option[Asked] = {
      val parts = alternatives(condition)
      parts.collectFirst { case e: EqualTo if parts.size > 1 && e.deterministic => e }.flatMap { equal =>
        val sides = Seq((equal.left, equal.right), (equal.right, equal.left))
        sides.find { case (a, b) => readsOnly(a, left) && readsOnly(b, right) }.flatMap { case (value, in) =>
          val others = parts.filterNot(_ eq equal)
          val ofNull = others.exists(isNullOf(_, equal, value))
          val inNulls = others.exists(isNullOf(_, equal, in))
          Option.when(others.forall(o => isNullOf(o, equal, value, in)))(Asked(equal, value, in, ofNull, inNulls))
        }
      }
    }

    private def isNullOf(e: Expression, values: Expression*): Boolean = e match {
      case IsNull(child) => values.exists(_.semanticEquals(child))
      case _ => false
    }

    private def readsOnly(e: Expression, side: LogicalPlan): Boolean = e.references.nonEmpty && e.references.subsetOf(side.outputSet)

    private def alternatives(e: Expression): Seq[Expression] = e match {
      case Or(a, b) => alternatives(a) ++ alternatives(b)
      case other => Seq(other)
    }
  }
}
