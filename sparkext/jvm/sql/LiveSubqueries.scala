package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.cqels.leaves.{LiveScalar, LiveValue, RowRelationLeaf}
import org.apache.spark.sql.cqels.spark.Operators

/** A scalar subquery over live data as a plan of its own, which runs before those that read its value. */
private[cqels] final class LiveSubquery(written: ScalarSubquery, val tree: LogicalPlan, val number: Int) {
  val value: LiveValue = LiveValue(new LiveScalar(s"subquery $number"), written.dataType, written.nullable)

  /** Takes over its value of now: `run` gives each of its rows, of which there may be one; where there is none, it is null. */
  def take(run: (InternalRow => Unit) => Unit): Unit = {
    var found: InternalRow = null
    run { row =>
      if (found != null) throw Operators.severalRows(written.origin.context)
      found = row.copy()
    }
    value.scalar.set(if (found == null || found.isNullAt(0)) null else found.get(0, value.dataType))
  }
}

/** Takes scalar subqueries over live data out of a query, to be prepared and run as queries of their own.
 *
 *  Before: `Filter(k < scalar-subquery(Aggregate(avg, win)), now)`; after: `Filter(k < subquery 1, now)`, and
 *  `Aggregate(avg, win)` is in `all`. Equal subqueries are one. `prepare` is what happens to each plan, the query's too.
 */
private[cqels] final class LiveSubqueries(prepare: LogicalPlan => LogicalPlan) {
  private val known = mutable.LinkedHashMap[LogicalPlan, LiveSubquery]()

  /** Those found so far, in an order in which each reads the values of earlier ones alone. */
  def all: Seq[LiveSubquery] = known.values.toSeq

  def without(plan: LogicalPlan): LogicalPlan = prepare(NullAwareAntiJoins(plan).transformAllExpressions {
    // What has no fixed value, and what Spark did not turn into a join, stays with Spark.
    case s: ScalarSubquery if s.outerAttrs.isEmpty && s.plan.deterministic && RowRelationLeaf.isLive(s.plan) => ofEqual(s).value
  })

  private def ofEqual(subquery: ScalarSubquery): LiveSubquery = {
    val key = subquery.plan.canonicalized
    known.getOrElse(key, {
      val tree = without(subquery.plan) // those inside it come first
      val made = new LiveSubquery(subquery, tree, known.size + 1)
      known(key) = made
      made
    })
  }
}

/** A query and its subqueries, each with its physical plan. */
private[cqels] final case class RowQuery(main: RowPlan, subqueries: Seq[(LiveSubquery, RowPlan)]) {
  /** The query first. */
  def plans: Seq[RowPlan] = main +: subqueries.map(_._2)
  def warm(): Unit = plans.foreach(_.warm())
}
