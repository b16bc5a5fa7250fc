package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.cqels.leaves.{LiveValue, RowRelationLeaf}
import org.apache.spark.sql.cqels.memory.Json
import org.apache.spark.sql.types.{DoubleType, FloatType}

/** A join order over the inputs of a cluster, by their places: the right side of a join is the one that is built or probed. */
sealed trait JoinOrder { def places: Seq[Int] }
final case class OrderLeaf(place: Int) extends JoinOrder { override def places: Seq[Int] = Seq(place) }
final case class OrderJoin(left: JoinOrder, right: JoinOrder) extends JoinOrder {
  override def places: Seq[Int] = left.places ++ right.places
}

/** A maximal tree of inner joins: its inputs, and all conditions between them. */
final class JoinCluster(val top: LogicalPlan, val leaves: IndexedSeq[LogicalPlan], conjuncts: Seq[Expression]) {
  import JoinCluster._

  private val owner: Map[ExprId, Int] = leaves.zipWithIndex.flatMap { case (l, i) => l.output.map(_.exprId -> i) }.toMap
  // What is joined on: expressions of one input each, in classes of what conditions say is equal.
  private val terms = mutable.LinkedHashMap[Expression, Int]()
  private val termOf = mutable.ArrayBuffer[(Int, Expression)]() // input, expression
  private val parent = mutable.ArrayBuffer[Int]()
  private val conditions: Seq[Condition] = conjuncts.map(read)

  private def read(conjunct: Expression): Condition = {
    val needed = conjunct.references.iterator.flatMap(a => owner.get(a.exprId)).toSet
    conjunct match {
      case EqualTo(a, b) if needed.size == 2 && ownersOf(a).size == 1 && ownersOf(b).size == 1 && ownersOf(a) != ownersOf(b) =>
        val (x, y) = (term(a), term(b))
        parent(find(x)) = find(y)
        Condition(conjunct, needed, Seq(x, y), equal = true)
      case _ =>
        val used = if (needed.size < 2) Nil else conjunct.references.toSeq.filter(a => owner.contains(a.exprId)).map(term)
        Condition(conjunct, needed, used, equal = false)
    }
  }

  private def ownersOf(e: Expression): Set[Int] = e.references.iterator.flatMap(a => owner.get(a.exprId)).toSet

  private def term(e: Expression): Int = terms.getOrElseUpdate(e.canonicalized, {
    termOf += ((ownersOf(e).head, e))
    parent += parent.size
    parent.size - 1
  })

  private def find(t: Int): Int = if (parent(t) == t) t else { parent(t) = find(parent(t)); parent(t) }

  /** What conditions say is equal, each term with its input: one list for each class. */
  def equalTerms: Seq[Seq[(Int, Expression)]] =
    termOf.indices.map(find).distinct.map(c => termOf.indices.filter(find(_) == c).map(termOf(_)))

  /** The other conditions, with the inputs that they read. */
  def residual: Seq[(Expression, Set[Int])] = conditions.filterNot(_.equal).map(c => c.expression -> c.needs)

  /** The cluster as a query graph in JSON, with the statistics of now. */
  def describe(): String = {
    val relations = leaves.indices.map { i =>
      val mine = termOf.indices.filter(t => termOf(t)._1 == i)
      val classes = mine.map(find).distinct
      val facts = LeafFacts.of(leaves(i))
      val distinct = classes.map { c =>
        val values = mine.filter(find(_) == c).map(t => facts.distinct(termOf(t)._2)).max
        s""""v$c":${number(values)}"""
      }
      s"""{"name":${Json.quote(name(i))},"kind":"${facts.kind}","rows":${number(facts.rows)},""" +
        s""""variables":[${classes.map(c => s""""v$c"""").mkString(",")}],"distinct":{${distinct.mkString(",")}}}"""
    }
    val filters = conditions.zipWithIndex.collect { case (c, i) if !c.equal && c.needs.size > 1 =>
      s"""{"name":"f$i","kind":"${kindOf(c.expression)}","variables":[${c.terms.map(t => s""""v${find(t)}"""").distinct.mkString(",")}]}"""
    }
    s"""{"relations":[${relations.mkString(",")}],"filters":[${filters.mkString(",")}]}"""
  }

  /** What an input is called in orders and explanations: its place and what it reads. */
  def name(place: Int): String = s"$place:${LeafFacts.label(leaves(place))}"

  /** Whether an order joins each input once. */
  def accepts(order: JoinOrder): Boolean = order.places.sorted == leaves.indices

  /** The same rows, joined in another order; `build` says whether Spark is told to build a join's right side. */
  def rebuild(order: JoinOrder, inputs: IndexedSeq[LogicalPlan], build: LogicalPlan => Boolean): LogicalPlan = {
    def wanted(inside: Set[Int]): AttributeSet = AttributeSet(
      top.output ++ conditions.filterNot(c => c.needs.subsetOf(inside)).flatMap(_.expression.references) ++
        // A term may be needed for an equality that no condition writes.
        termOf.indices.filter(t => termOf.indices.exists(o => find(o) == find(t) && !inside(termOf(o)._1))).flatMap(termOf(_)._2.references))

    def plan(node: JoinOrder): LogicalPlan = node match {
      case OrderLeaf(i) =>
        conditions.filter(_.needs == Set(i)).map(_.expression).reduceOption(And).fold(inputs(i))(Filter(_, inputs(i)))
      case OrderJoin(l, r) =>
        val (left, right) = (l.places.toSet, r.places.toSet)
        val both = left ++ right
        val here = conditions.filter(c => c.needs.subsetOf(both) && !c.needs.subsetOf(left) && !c.needs.subsetOf(right))
        val (equal, other) = here.partition(_.equal)
        // What a side has of a class is equal already, so one equality is enough; unless an input has two terms of the class.
        val equalities = termOf.indices.map(find).distinct.flatMap { c =>
          val written = equal.filter(e => find(e.terms.head) == c).map(_.expression)
          val members = termOf.indices.filter(find(_) == c)
          if (members.map(termOf(_)._1).distinct.size < members.size && written.nonEmpty) written
          else if (written.nonEmpty) written.take(1)
          else for (a <- members.find(t => left(termOf(t)._1)).toSeq; b <- members.find(t => right(termOf(t)._1)))
            yield EqualTo(termOf(a)._2, termOf(b)._2)
        }
        val condition = (equalities ++ other.map(_.expression)).reduceOption(And)
        val (leftPlan, rightPlan) = (plan(l), plan(r))
        val hint = if (build(rightPlan)) JoinHint(None, Some(HintInfo(Some(BROADCAST)))) else JoinHint.NONE
        val joined = Join(leftPlan, rightPlan, Inner, condition, hint)
        val kept = wanted(both)
        val output = joined.output.filter(kept.contains)
        if (output.size == joined.output.size) joined else Project(output, joined)
    }
    val joined = plan(order)
    val free = conditions.filter(_.needs.isEmpty).map(_.expression)
    val filtered = free.reduceOption(And).fold(joined)(Filter(_, joined))
    if (filtered.output == top.output) filtered else Project(top.output, filtered)
  }
}

object JoinCluster {
  private final case class Condition(expression: Expression, needs: Set[Int], terms: Seq[Int], equal: Boolean)

  /** The cluster whose topmost node this is, if it has two inputs or more. */
  def at(plan: LogicalPlan): Option[JoinCluster] =
    if (!isInside(plan)) None
    else {
      val leaves = mutable.ArrayBuffer[LogicalPlan]()
      val conjuncts = mutable.ArrayBuffer[Expression]()
      flatten(plan, leaves, conjuncts)
      Some(new JoinCluster(plan, leaves.toIndexedSeq, conjuncts.toSeq))
    }

  /** Whether a node is a part of a cluster, not an input. A join with a hint of the user's stays as written. */
  def isInside(plan: LogicalPlan): Boolean = plan match {
    case Join(_, _, _: InnerLike, condition, JoinHint.NONE) => condition.forall(movable)
    case Filter(condition, child) => movable(condition) && isInside(child)
    case Project(list, child) => list.forall(_.isInstanceOf[AttributeReference]) && isInside(child)
    case _ => false
  }

  private def movable(e: Expression): Boolean = e.deterministic && !SubqueryExpression.hasSubquery(e) && isTotal(e)

  /** Whether an expression has a value for each row: of rows that another join would have left out, too. A cast of a text to
   *  a number may end the query on one of them, a division on a zero. What is not known to have one is taken not to.
   */
  private[cqels] def isTotal(e: Expression): Boolean = (e match {
    case _: AttributeReference | _: Literal | _: LiveValue => true
    case cast: Cast => cast.evalMode != EvalMode.ANSI || Cast.canUpCast(cast.child.dataType, cast.dataType)
    case _: Add | _: Subtract | _: Multiply | _: UnaryMinus => e.dataType == DoubleType || e.dataType == FloatType
    case _: BinaryComparison | _: And | _: Or | _: Not | _: In | _: InSet | _: IsNull | _: IsNotNull | _: IsNaN | _: AtLeastNNonNulls => true
    case _: Coalesce | _: If | _: CaseWhen | _: NormalizeNaNAndZero | _: KnownFloatingPointNormalized | _: GetStructField => true
    case _: Upper | _: Lower | _: Length | _: String2TrimExpression | _: Substring | _: Concat | _: StartsWith | _: EndsWith | _: Contains => true
    case _: GetDateField | _: GetTimeField | _: TruncTimestamp | _: TruncDate | _: DateDiff | _: Murmur3Hash | _: XxHash64 => true
    // What Spark makes of several keys that are whole numbers.
    case _: BoundReference | _: BitwiseAnd | _: BitwiseOr | _: ShiftLeft => true
    case _ => false
  }) && e.children.forall(isTotal)

  /** Conditions as one: what may fail on a row is asked only where those before it hold, as a filter of Spark's asks them. */
  private[cqels] def inTurn(conditions: Seq[Expression]): Option[Expression] =
    conditions.reduceRightOption((first, rest) => if (isTotal(rest)) And(first, rest) else If(first, rest, Literal.FalseLiteral))

  private def flatten(plan: LogicalPlan, leaves: mutable.Buffer[LogicalPlan], conjuncts: mutable.Buffer[Expression]): Unit =
    if (!isInside(plan)) leaves += plan
    else plan match {
      case Join(left, right, _, condition, _) =>
        flatten(left, leaves, conjuncts)
        flatten(right, leaves, conjuncts)
        conjuncts ++= condition.toSeq.flatMap(split)
      case Filter(condition, child) =>
        flatten(child, leaves, conjuncts)
        conjuncts ++= split(condition)
      case other => flatten(other.children.head, leaves, conjuncts)
    }

  private def split(e: Expression): Seq[Expression] = e match {
    case And(a, b) => split(a) ++ split(b)
    case other => Seq(other)
  }

  private def number(value: Double): String = java.math.BigDecimal.valueOf(math.max(0.0, value)).toPlainString

  private def kindOf(e: Expression): String = e match {
    case _: EqualTo | _: EqualNullSafe => "equal"
    case Not(_: EqualTo) => "not-equal"
    case _: GreaterThan | _: GreaterThanOrEqual | _: LessThan | _: LessThanOrEqual => "range"
    case _ => "other"
  }
}

/** What is known of an input of a cluster: `kind` is "live", "window" (rows expire by time) or "static" where an index can be
 *  probed, else "derived".
 */
private[cqels] final case class LeafFacts(kind: String, rows: Double, distinct: Expression => Double)

private[cqels] object LeafFacts {
  // What a condition that cannot be asked keeps of the rows, as for range filters in `adaptive`; and of how many rows it is asked.
  private final val Kept = 1.0 / 3
  private final val Asked = 512

  def of(leaf: LogicalPlan): LeafFacts = rowsBelow(leaf) match {
    case Some((relation, names, conditions)) =>
      val content = relation.content
      val share = kept(relation, conditions)
      def distinct(e: Expression): Double = if (LiveValue.isIn(e)) content.rowCount.toDouble else {
        val bound = e.transform { case a: AttributeReference => names.getOrElse(a.exprId, a) }
        content.distinct(BindReferences.bindReference(bound, relation.output))
      }
      val kind = content match {
        case rows: LiveRows => if (rows.timeColumn >= 0) "window" else "live"
        case other => if (other.live) "live" else "static"
      }
      LeafFacts(kind, content.rowCount * share, distinct)
    case None =>
      val rows = leaf.stats.rowCount.map(_.toDouble).getOrElse {
        val live = leaf.collect { case r: RowRelationLeaf if r.content.live => r.content.rowCount.toDouble }
        if (live.nonEmpty) live.max else math.max(1.0, leaf.stats.sizeInBytes.toDouble / 50)
      }
      LeafFacts("derived", math.max(1.0, math.min(rows, 1e15)), _ => math.max(1.0, math.min(rows, 1e15)))
  }

  /** The share of a relation's rows that pass conditions: of some of them, one from each of as many equal parts. */
  private def kept(relation: RowRelationLeaf, conditions: Seq[Expression]): Double = {
    val content = relation.content
    val guess = math.pow(Kept, conditions.map(counted).sum)
    val rows = math.min(content.rowCount, Int.MaxValue.toLong).toInt
    if (guess == 1.0 || rows == 0) guess
    else try {
      val passes = Predicate.createInterpreted(BindReferences.bindReference(conditions.reduce(And), relation.output))
      val parts = math.min(rows, Asked)
      var (asked, passed) = (0, 0)
      for (part <- 0 until parts) {
        // At equal steps, what every tenth row has would be found everywhere or nowhere.
        val (from, until) = ((rows.toLong * part / parts).toInt, (rows.toLong * (part + 1) / parts).toInt)
        val row = from + java.lang.Integer.remainderUnsigned(part * 0x9E3779B1, until - from)
        val found = content.scan(row, rows)
        if (found.hasNext) {
          asked += 1
          if (passes.eval(found.next())) passed += 1
        }
      }
      if (asked == 0) guess else math.max(passed, 0.5) / asked
    } catch { case NonFatal(_) => guess } // a subquery that has not run yet, or a value that the condition fails on
  }

  /** The relation under filters and projections of its columns, its attributes by the names above, and the conditions over it. */
  private def rowsBelow(plan: LogicalPlan): Option[(RowRelationLeaf, Map[ExprId, Attribute], Seq[Expression])] = plan match {
    case r: RowRelationLeaf => Some((r, r.output.map(a => a.exprId -> a).toMap, Nil))
    case Filter(condition, child) if condition.deterministic =>
      rowsBelow(child).map { case (r, names, below) =>
        (r, names, below :+ condition.transform { case a: AttributeReference => names.getOrElse(a.exprId, a) })
      }
    case Project(list, child) if list.forall { case _: AttributeReference | Alias(_: AttributeReference, _) => true; case _ => false } =>
      rowsBelow(child).map { case (r, names, below) =>
        (r, list.map { case a @ Alias(from: AttributeReference, _) => a.exprId -> names(from.exprId); case a => a.exprId -> names(a.exprId) }.toMap, below)
      }
    case _ => None
  }

  private def counted(e: Expression): Int = e match {
    case And(a, b) => counted(a) + counted(b)
    case IsNotNull(_) => 0
    case _ => 1
  }

  /** A short name: the relation it reads, or the topmost operator. */
  def label(leaf: LogicalPlan): String =
    leaf.collectLeaves() match {
      case Seq(r: RowRelationLeaf) => r.content.name
      case _ => leaf.nodeName.toLowerCase(java.util.Locale.ROOT)
    }
}
