package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

/** The kept table of a join (CQELS report, Figure 4): what the rest costs for a row from each node, and the step that it takes.
 *
 *  An entry is a node; its sub-plans are its steps, each with the entry of the node behind it. Entries stay until something is met
 *  that changes them (cardinality feedback), and then change as far as that reaches: a rise travels like a fall, so that a kept value is the
 *  one that a search from scratch would find. Steps lead to nodes with less to do, so that one sweep over the levels is enough.
 */
private[join] final class JoinTable(nodes: JoinNodes) {
  private val steps = mutable.ArrayBuffer[JoinStep]() // whose figures stand in the table
  private val met = mutable.ArrayBuffer[JoinStep]() // those that have met something since
  private val touched = mutable.ArrayBuffer[mutable.ArrayBuffer[JoinNode]]() // entries to be looked at again, by how many relations and filters are left
  private var lowest = 0 // no entry is touched below
  private var until = 0 // nor from here on

  def clear(): Unit = {
    steps.clear()
    met.clear()
    touched.foreach(_.clear())
    lowest = 0
    until = 0
  }

  /** Relations hold something else: the figures of all steps are taken anew. */
  def begin(): Unit = {
    var i = 0
    while (i < met.length) { met(i).isMet = false; i += 1 } // also those that are not in the table
    met.clear()
    i = 0
    while (i < steps.length) { updateMapping(steps(i)); i += 1 }
  }

  /** Notes that a step has met something that its figures do not tell yet. */
  def note(step: JoinStep): Unit =
    if (!step.isMet && (step.inTable || step.sharers != null)) { step.isMet = true; met += step }

  /** The cost of what is left for one row at a node, in nanoseconds; `chosen` is the step that it takes. */
  def value(node: JoinNode): Double = {
    update()
    entry(node)
  }

  /** The step that a node takes by the figures of the last update. */
  def choice(node: JoinNode): JoinStep = {
    entry(node)
    node.chosen
  }

  /** Brings all entries up to date. */
  def update(): Unit = {
    var i = 0
    while (i < met.length) {
      met(i).isMet = false
      if (met(i).inTable) updateMapping(met(i))
      val others = met(i).sharers
      var o = 0
      while (others != null && o < others.length) { updateMapping(others(o)); o += 1 }
      i += 1
    }
    met.clear()
    while (lowest < until) {
      val here = touched(lowest)
      i = 0
      while (i < here.length) {
        val node = here(i)
        node.isTouched = false
        val before = node.cost
        triggerUpdateOptimalPlan(node)
        if (node.cost != before) propagateSubOptimalUpdate(node)
        i += 1
      }
      here.clear()
      lowest += 1
    }
    lowest = 0
    until = 0
  }

  /** Takes what a step has met into its figures. */
  private def updateMapping(step: JoinStep): Unit = {
    val (own, out) = (step.ownCost, step.fanOut)
    if (own != step.keptCost || out != step.keptFanOut) propagateUpdatePhysicalCost(step, own, out)
  }

  /** What a step costs is new: so is, perhaps, what its node does. */
  private def propagateUpdatePhysicalCost(step: JoinStep, own: Double, out: Double): Unit = {
    step.keptCost = own
    step.keptFanOut = out
    touch(step.from)
  }

  /** A node takes the cheapest of its steps. */
  private def triggerUpdateOptimalPlan(node: JoinNode): Unit =
    if (node.isEnd) node.cost = JoinNodes.OutNanos
    else {
      val (early, late) = (node.steps, node.late)
      node.cost = Double.MaxValue
      node.chosen = if (early.length > 0) early(0) else late(0) // where all estimates are beyond numbers
      var i = 0
      while (i < early.length) { consider(node, early(i)); i += 1 }
      if (i == 0) { // only columns are added: those first that give a row the fewest others
        i = 0
        while (i < late.length) { known(late(i)); if (late(i).keptFanOut < node.chosen.keptFanOut) node.chosen = late(i); i += 1 }
        node.cost = node.chosen.keptCost + node.chosen.keptFanOut * after(node.chosen)
      } else {
        i = 0
        while (i < late.length) { known(late(i)); if (late(i).keptFanOut < JoinNodes.Selective) consider(node, late(i)); i += 1 }
      }
    }

  /** Hands an entry that has changed on to those that it is a part of. */
  private def propagateSubOptimalUpdate(node: JoinNode): Unit = {
    val before = node.predecessors
    var i = 0
    while (i < before.length) { touch(before(i)); i += 1 }
  }

  private def consider(node: JoinNode, step: JoinStep): Unit = {
    known(step)
    if (step.keptCost < node.cost) { // else whatever follows cannot make it the cheapest
      val all = step.keptCost + step.keptFanOut * after(step)
      if (all < node.cost) { node.cost = all; node.chosen = step }
    }
  }

  private def after(step: JoinStep): Double =
    if (!step.next.isValued && nodes.size > JoinNodes.MostNodes) JoinNodes.UnknownNanos else entry(step.next)

  private def entry(node: JoinNode): Double = {
    if (!node.isValued) {
      node.isValued = true
      triggerUpdateOptimalPlan(node)
    }
    node.cost
  }

  private def known(step: JoinStep): Unit = if (!step.inTable) {
    step.inTable = true
    step.keptCost = step.ownCost
    step.keptFanOut = step.fanOut
    if (step.sharers != null) step.sharers += step
    steps += step
  }

  private def touch(node: JoinNode): Unit = if (node.isValued && !node.isTouched) {
    node.isTouched = true
    while (touched.length <= node.level) touched += mutable.ArrayBuffer[JoinNode]()
    touched(node.level) += node
    if (until == 0 || node.level < lowest) lowest = node.level
    if (node.level >= until) until = node.level + 1
  }
}
