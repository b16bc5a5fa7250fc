package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.cqels.clusters.{ClusterOrder, ItemShape, JoinShape, JoinVariables, RowField, RowInput, RowJoin, RowJoinShape}
import org.apache.spark.sql.cqels.join.{JoinSpec, JoinedRelation}
import org.apache.spark.sql.cqels.leaves.{LiveValue, RowRelationLeaf}
import org.apache.spark.sql.cqels.rows.RowKeys

/** Makes the operator of a cluster of inner joins.
 *
 *  Before: `Join(Join(Filter(c, live), static), derived)`; after: `RowJoin([live by its keys and c], [static by its keys], derived)`.
 *  What holds of one live input alone says which of its rows take part; what reads several, or a value of the run, is a filter of the
 *  join.
 */
private[cqels] object RowClusters {
  /** The join of a cluster over inputs in place of its leaves; None where it stays a chain of Spark's joins. */
  def of(cluster: JoinCluster, inputs: IndexedSeq[LogicalPlan]): Option[RowJoin] = {
    val (nullSafe, residual) = cluster.residual.partitionMap { case (condition, needs) => nullSafeTerms(cluster, condition).toLeft((condition, needs)) }
    val classes = cluster.equalTerms.filter(_.map(_._1).distinct.size > 1) ++ nullSafe
    val same = classes.forall(c => c.forall(t => RowKeys.sameKind(t._2.dataType, c.head._2.dataType)))
    val small = classes.size + cluster.leaves.size <= JoinSpec.Most && residual.size <= JoinSpec.Most
    if (!same || !small || !cluster.leaves.forall(PreparedRows.mayBuild)) None
    else Some(new RowClusters(cluster, inputs, classes, residual).join)
  }

  /** What a null-safe equality of two inputs compares, as terms that are never null: within a struct, a null equals another. */
  private def nullSafeTerms(cluster: JoinCluster, condition: Expression): Option[Seq[(Int, Expression)]] = condition match {
    case EqualNullSafe(a, b) =>
      val terms = Seq(a, b).flatMap { term =>
        val inputs = cluster.leaves.indices.filter(i => term.references.exists(cluster.leaves(i).outputSet.contains))
        Option.when(inputs.size == 1)((inputs.head, CreateNamedStruct(Seq(Literal("value"), term)): Expression))
      }
      Option.when(terms.map(_._1).distinct.size == 2)(terms)
    case _ => None
  }

  /** Puts what is computed of a join's columns into the join, and takes out of it what nobody reads. */
  def simplify(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Project(list, join: RowJoin) if list.forall(e => e.deterministic && computable(e)) =>
      val values = join.output.map(_.exprId).zip(join.results).toMap
      val results = list.map {
        case Alias(e, _) => substituted(e, values)
        case e => substituted(e, values)
      }
      join.copy(output = list.map(_.toAttribute), results = results)
    case p @ Project(_, join: RowJoin) => p.withNewChildren(Seq(join.pruned(p.references)))
    case a @ Aggregate(_, _, join: RowJoin, _) => a.withNewChildren(Seq(join.pruned(a.references)))
  }

  private def computable(e: Expression): Boolean =
    !SubqueryExpression.hasSubquery(e) && !e.exists { case _: PythonFuncExpression | _: Generator | _: WindowExpression => true; case _ => false }

  private def substituted(e: Expression, values: Map[ExprId, Expression]): Expression =
    e.transform { case a: AttributeReference => values.getOrElse(a.exprId, a) }
}

private final class RowClusters(
    cluster: JoinCluster, inputs: IndexedSeq[LogicalPlan], classes: Seq[Seq[(Int, Expression)]], residual: Seq[(Expression, Set[Int])]) {
  import RowClusters.{computable, substituted}

  /** Rows under filters and projections: what each column is computed from, and the conditions, over the columns of the rows. */
  private final case class Below(rows: RowRelationLeaf, values: Map[ExprId, Expression], conditions: Seq[Expression])

  private def rowsBelow(plan: LogicalPlan): Option[Below] = plan match {
    case r: RowRelationLeaf => Some(Below(r, r.output.map(a => a.exprId -> a).toMap, Nil))
    case Filter(condition, child) if condition.deterministic && computable(condition) =>
      rowsBelow(child).map(b => b.copy(conditions = b.conditions :+ substituted(condition, b.values)))
    case Project(list, child) if list.forall(e => e.deterministic && computable(e)) =>
      rowsBelow(child).map(b => b.copy(values = list.map {
        case a @ Alias(e, _) => a.exprId -> substituted(e, b.values)
        case a => a.exprId -> b.values(a.exprId)
      }.toMap))
    case _ => None
  }

  private def isLive(e: Expression): Boolean = LiveValue.isIn(e)

  // Keys with a value of the run would have to be made anew in each: such an input is a plan that runs before the join. So is
  // one whose filters have such a value, and guard what may fail on a row: they are asked later than the others.
  private val own: IndexedSeq[Option[Below]] = inputs.indices.map { i =>
    rowsBelow(inputs(i)).filterNot { b =>
      classes.exists(_.exists { case (leaf, term) => leaf == i && isLive(substituted(term, b.values)) }) ||
      b.conditions.exists(isLive) && !(b.conditions.flatMap(splitAnd).filterNot(isLive) ++ b.values.values).forall(JoinCluster.isTotal)
    }
  }
  private val children = mutable.ArrayBuffer[LogicalPlan]()
  private val childOf: IndexedSeq[Int] = inputs.indices.map(i => if (own(i).nonEmpty) -1 else { children += inputs(i); children.size - 1 })

  private val columnsOf: IndexedSeq[Seq[Attribute]] = inputs.indices.map(i => own(i).fold(inputs(i).output)(_.rows.output))
  private val columns: Seq[Attribute] = columnsOf.flatten
  private val fields: Array[RowField] =
    columnsOf.zipWithIndex.flatMap { case (all, i) => all.indices.map(RowField(i, _)) }.toArray
  private val relationOf: Map[ExprId, Int] = columnsOf.zipWithIndex.flatMap { case (all, i) => all.map(_.exprId -> i) }.toMap
  private val values: Map[ExprId, Expression] = own.flatten.flatMap(_.values).toMap

  private def read(e: Expression): Expression = substituted(e, values)

  def join: RowJoin = {
    val alone = residual.filter(_._2.size == 1)
    val variables = classes.map(c => JoinVariables.named(c.head._2.sql)) ++ inputs.indices.map(i => JoinVariables.named(s"rows of ${cluster.name(i)}"))
    val items = mutable.ArrayBuffer[Expression]()
    val joined = inputs.indices.map { i =>
      val here = alone.filter(_._2 == Set(i)).map(c => read(c._1))
      val (live, fixed) = (own(i).fold(Seq.empty[Expression])(_.conditions) ++ here).flatMap(splitAnd).partition(isLive)
      items ++= live
      val mine = classes.zipWithIndex.map { case (c, number) => number -> c.filter(_._1 == i).map(t => bound(read(t._2), i)) }.filter(_._2.nonEmpty)
      val keys = RowKeys.of(JoinCluster.inTurn(fixed).map(bound(_, i)), mine.map(_._2))
      (new RowInput(own(i).map(_.rows.content).orNull, childOf(i), keys),
        new JoinedRelation(cluster.name(i), (mine.map(_._1) :+ (classes.size + i)).toArray))
    }
    items ++= residual.filter(_._2.size != 1).map(c => read(c._1))
    val shapes = items.map(e => ItemShape(e.sql, rowsRead(e), -1, expensive = false)).toArray
    val shape = new RowJoinShape(joined.map(_._1).toArray, joined.map(_._2).toArray, shapes, variables.toArray, fields)
    val rows = cluster.leaves.map(LeafFacts.of(_).rows).max
    RowJoin(shape, items.toSeq, cluster.top.output.map(read), columns, cluster.top.output,
      new ClusterOrder(new JoinShape(variables.map(_.name).toArray, shape.relations, shapes, Array.empty)), rows.toLong, children.toSeq)
  }

  private def rowsRead(e: Expression): Long = JoinSpec.bits(e.references.toSeq.map(a => classes.size + relationOf(a.exprId)).distinct)

  private def bound(e: Expression, input: Int): Expression = BindReferences.bindReference(e, AttributeSeq(columnsOf(input)))

  private def splitAnd(e: Expression): Seq[Expression] = e match {
    case And(a, b) => splitAnd(a) ++ splitAnd(b)
    case other => Seq(other)
  }
}
