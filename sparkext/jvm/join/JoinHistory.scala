package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

/** A join that went another way than in the evaluation before: both orders, what either would take by what is known now, in
 *  nanoseconds, and the figure that has moved most since the old order was taken. `before` is empty for the first order.
 */
final case class OrderChange(before: Seq[String], after: Seq[String], costBefore: Double, costAfter: Double, cause: String)

/** The orders that a join takes, one evaluation after the other. An order is where it begins, and its steps. */
private[join] final class JoinHistory {
  private var order: Seq[String] = Nil // that was chosen last
  private var shown: Seq[String] = Nil
  private var figures: Map[String, Double] = Map.empty
  private var change: OrderChange = _

  /** The order of now, as most rows of the last evaluation went. */
  def now: Seq[String] = shown

  /** Notes an evaluation that has just ended; `pinned`: it went a way that was asked for, which is no change of what is chosen. */
  def evaluated(nodes: JoinNodes, driver: Int, pinned: Boolean): Unit = {
    val steps = JoinHistory.path(nodes, driver)
    val taken = nodes.spec.relations(driver).name +: steps.map(_.name)
    if (!pinned && taken != order) {
      val known = figuresOf(nodes, steps)
      change =
        if (order.isEmpty) OrderChange(Nil, taken, 0.0, JoinHistory.cost(nodes, taken), "")
        else OrderChange(order, taken, JoinHistory.cost(nodes, order), JoinHistory.cost(nodes, taken), cause(nodes, known))
      order = taken
      figures = known
    } else if (taken != shown) change = OrderChange(Nil, taken, 0.0, 0.0, JoinHistory.Pinned)
    shown = taken
  }

  /** The change of the last evaluation, told once; null where there was none. */
  def takeChange(): OrderChange = { val told = change; change = null; told }

  private def figuresOf(nodes: JoinNodes, steps: Seq[JoinStep]): Map[String, Double] = {
    val rows = nodes.spec.relations.indices.map(r => s"rows of ${nodes.spec.relations(r).name}" -> nodes.rowCount(r).toDouble)
    val met = steps.collect { case e: Extend if e.rowsIn > 0 =>
      Seq(s"values read for a row, ${e.name}" -> e.reads / e.rowsIn, s"rows out for a row, ${e.name}" -> e.fanOut) }.flatten
    (rows ++ met).toMap
  }

  private def cause(nodes: JoinNodes, known: Map[String, Double]): String = {
    val current = known ++ JoinHistory.named(nodes).flatMap { s =>
      if (s.rowsIn > 0) Seq(s"values read for a row, ${s.name}" -> s.reads / s.rowsIn, s"rows out for a row, ${s.name}" -> s.fanOut) else Nil }
    val moved = for ((name, before) <- figures.toSeq; after <- current.get(name)) yield
      (math.abs(math.log((after + 0.01) / (before + 0.01))), name, before, after)
    if (moved.isEmpty) "nothing that was measured before"
    else {
      val (by, name, before, after) = moved.maxBy(_._1)
      if (by < JoinHistory.Same) "samples of other rows" else s"$name: ${JoinHistory.number(before)} -> ${JoinHistory.number(after)}"
    }
  }
}

private[join] object JoinHistory {
  /** The cause where an order begins or ends that was asked for. */
  final val Pinned = "pinned"
  /** Figures that have moved by less are the same. */
  final val Same = 0.1

  /** The steps that rows take now from where a relation begins. */
  def path(nodes: JoinNodes, driver: Int): Seq[JoinStep] = {
    val steps = mutable.ArrayBuffer[JoinStep]()
    var node = nodes.start(driver)
    while (!node.isEnd) {
      val step = nodes.choose(node)
      steps += step
      node = step.next
    }
    steps.toSeq
  }

  private def named(nodes: JoinNodes): Seq[Extend] =
    nodes.all.filter(_.isExplored).flatMap(n => n.steps ++ n.late).collect { case e: Extend => e }

  /** What an order would take by what is known now; as far as it can be followed. */
  def cost(nodes: JoinNodes, order: Seq[String]): Double = {
    val driver = nodes.spec.relations.indexWhere(_.name == order.head)
    def rest(node: JoinNode, names: List[String]): Double =
      if (node.isEnd) JoinNodes.OutNanos
      else (node.steps ++ node.late).find(s => names.headOption.contains(s.name)) match {
        case Some(step) => step.ownCost + step.fanOut * rest(step.next, names.tail)
        case None => nodes.table.value(node)
      }
    nodes.rowCount(driver) * (JoinBeginning.RowNanos + rest(nodes.start(driver), order.tail.toList))
  }

  def number(value: Double): String =
    (if (value >= 100) "%,.0f" else if (value >= 1) "%.1f" else "%.3g").formatLocal(java.util.Locale.ROOT, value)
}
