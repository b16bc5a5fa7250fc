package org.apache.spark.sql.cqels
package execution

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.cqels.relations.PathReach
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.execution.{BinaryExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.LongType

/** Each row of `left` with each term that a property path reaches from it (SPARQL 1.1, section 18.4, ALP), each once.
 *
 *  `right` holds the path's single steps, `froms` to `to`. The last of `starts` is where the search begins; those before
 *  it, as those before the last of `froms`, stay the same along the way (a graph's name). `zero`: the start itself is
 *  reached as well; `many`: any number of steps, not just one.
 */
case class PathSearch(
    left: LogicalPlan, right: LogicalPlan, starts: Seq[Attribute], froms: Seq[Attribute], to: Attribute, reached: Attribute,
    zero: Boolean, many: Boolean) extends BinaryNode {
  override def output: Seq[Attribute] = left.output :+ reached
  override def producedAttributes: AttributeSet = AttributeSet(reached)
  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): PathSearch =
    copy(left = newLeft, right = newRight)
}

/** The search over a hash relation of steps, which is an index of ours where the steps are a relation of ours. */
case class PathSearchExec(
    left: SparkPlan, right: SparkPlan, starts: Seq[Attribute], froms: Seq[Attribute], to: Attribute, reached: Attribute,
    zero: Boolean, many: Boolean) extends BinaryExecNode {
  override def output: Seq[Attribute] = left.output :+ reached
  override def producedAttributes: AttributeSet = AttributeSet(reached)
  override def outputPartitioning: Partitioning = left.outputPartitioning
  override def requiredChildDistribution: Seq[Distribution] =
    Seq(UnspecifiedDistribution, BroadcastDistribution(HashedRelationBroadcastMode(BindReferences.bindReferences(froms, right.output))))
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override protected def doExecute(): RDD[InternalRow] = {
    val relation = right.executeBroadcast[Any]()
    val startAt = starts.map(a => left.output.indexWhere(_.exprId == a.exprId)).toArray
    val toAt = right.output.indexWhere(_.exprId == to.exprId)
    val (inner, all, withZero, withMany, rows) = (left.output, output, zero, many, longMetric("numOutputRows"))
    Jobs.mapPartitions(left.execute()) { streamed =>
      val search = new PathReach(relation.value, startAt.length, toAt, withZero, withMany)
      val unsafe = UnsafeProjection.create(all, inner :+ all.last)
      val end = new SpecificInternalRow(Seq(LongType))
      val joined = new JoinedRow()
      streamed.flatMap { row =>
        search.from(row, startAt).iterator.map { id =>
          end.setLong(0, id)
          rows.add(1)
          unsafe(joined(row, end)): InternalRow
        }
      }
    }
  }

  override def simpleString(maxFields: Int): String =
    s"PathSearch from ${starts.mkString(", ")} to $reached${if (zero) ", none" else ""}${if (many) ", many" else ", one step"}"

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): PathSearchExec =
    copy(left = newLeft, right = newRight)
}

/** Plans what only we know how to execute beside relations. */
object PatternOperatorStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case p: PathSearch =>
      PathSearchExec(planLater(p.left), planLater(p.right), p.starts, p.froms, p.to, p.reached, p.zero, p.many) :: Nil
    case s: OrderedSlice => OrderedSliceExec(s.keys, s.descending, s.ties, s.offset, s.limit, s.room, planLater(s.child)) :: Nil
    case _ => Nil
  }
}
