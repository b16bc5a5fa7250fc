package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.cqels.join.{JoinSpec, JoinedRelation}
import org.apache.spark.sql.cqels.leaves.IdRelationLeaf
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.StaticContent
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Alias, And, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.types.LongType

/** Puts a join cluster together, as Python tells of it: variables by number, relations and filters as DataFrames.
 *
 *  `columnNames` are those of the variables, a "?" behind those that may be unbound; `names` is what the variables are called. No
 *  executor of a cluster is sent a relation of more than `mostSent` rows as a whole.
 */
final class ClusterBuilder(session: SparkSession, columnNames: Seq[String], names: Seq[String], mostSent: Long) {
  private val variables: Seq[AttributeReference] =
    columnNames.map(n => AttributeReference(n.stripSuffix("?"), LongType, nullable = n.endsWith("?"))())
  private val relations = mutable.ArrayBuffer[JoinedRelation]()
  private val sources = mutable.ArrayBuffer[ClusterSource]()
  private val children = mutable.ArrayBuffer[LogicalPlan]()
  private val items = mutable.ArrayBuffer[ItemShape]()
  private val conditions = mutable.ArrayBuffer[Expression]()
  private lazy val columns: Map[String, Int] = variables.map(_.name).zipWithIndex.toMap

  /** Rows of all variables, over which filters and BINDs are told. */
  val shape: Dataset[Row] = Frames.of(session, IdRelationLeaf(ClusterBuilder.Nothing, variables, 1L))

  /** A relation whose columns are named as variables are; others are not read. */
  def relation(name: String, data: Dataset[Row]): Unit = {
    val made = data.queryExecution.analyzed
    val (read, others) = made.output.partition(a => columns.contains(a.name))
    val plan = if (others.isEmpty) made else Project(read, made)
    val places = read.map(a => columns(a.name)).toArray
    plan match {
      case leaf: IdRelationLeaf => sources += new ClusterSource(leaf.content, -1)
      case other =>
        sources += new ClusterSource(null, children.length)
        children += other
    }
    relations += new JoinedRelation(name, places)
  }

  /** The filters that stand in `data` over the shape. */
  def filter(name: String, data: Dataset[Row], expensive: Boolean): Unit = {
    def conditionsOf(plan: LogicalPlan): Seq[Expression] = plan match {
      case Filter(condition, child) => conditionsOf(child) :+ condition
      case Project(list, child) if list.map(_.toAttribute).forall(a => variables.exists(_.exprId == a.exprId)) => conditionsOf(child)
      case leaf: IdRelationLeaf if leaf.content eq ClusterBuilder.Nothing => Nil
      case other => throw new IllegalArgumentException(s"filter $name stands over ${other.nodeName}")
    }
    val condition = conditionsOf(data.queryExecution.analyzed).reduce(And)
    items += ItemShape(name, read(condition), -1, expensive)
    conditions += condition
  }

  /** The BIND that gives `column` its value, in `data` over the shape. */
  def bind(name: String, data: Dataset[Row], column: String, expensive: Boolean): Unit = {
    val value = data.queryExecution.analyzed match {
      case Project(list, _) => list.collectFirst { case a @ Alias(e, n) if n == column => e }
        .getOrElse(throw new IllegalArgumentException(s"BIND $name gives no $column"))
      case other => throw new IllegalArgumentException(s"BIND $name stands over ${other.nodeName}")
    }
    items += ItemShape(name, read(value), columns(column), expensive)
    conditions += value
  }

  private def read(e: Expression): Long =
    JoinSpec.bits(e.references.map(a => variables.indexWhere(_.exprId == a.exprId)).toSeq)

  private var order: ClusterOrder = _

  /** The cluster as a DataFrame of some of its variables. */
  def frame(output: java.util.List[String], estimatedRows: Long): Dataset[Row] = {
    val places = output.asScala.toSeq.map(columns(_)).toArray
    pruneChildren(JoinSpec.bits(places))
    val shape = new JoinShape(names.toArray, relations.toArray, items.toArray, places, mostSent)
    order = new ClusterOrder(shape)
    val shown = places.toSeq.map(variables(_).newInstance())
    Frames.of(session, ClusterJoin(shape, sources.toSeq, conditions.toSeq, variables, shown, order, estimatedRows, children.toSeq))
  }

  /** Has plans among the relations not compute what nobody reads. */
  private def pruneChildren(output: Long): Unit = for (r <- relations.indices if sources(r).child >= 0) {
    val (relation, plan) = (relations(r), children(sources(r).child))
    val others = relations.indices.filter(_ != r).foldLeft(0L)(_ | relations(_).bits)
    val read = items.foldLeft(output | others)(_ | _.reads)
    val kept = relation.variables.indices.filter(c => (read & 1L << relation.variables(c)) != 0)
    if (kept.nonEmpty && kept.length < relation.variables.length) {
      children(sources(r).child) = Project(kept.map(plan.output(_)), plan)
      relations(r) = new JoinedRelation(relation.name, kept.map(relation.variables(_)).toArray)
    }
  }

  /** What tells the cluster its order; after `frame`. */
  def clusterOrder: ClusterOrder = order
}

private[cqels] object ClusterBuilder {
  val Nothing = StaticContent("nothing", new LongTable(1), null)
}
