package org.apache.spark.sql.cqels
package execution

import scala.collection.mutable

import org.apache.spark.sql.cqels.clusters.RowJoinExec
import org.apache.spark.sql.cqels.leaves.{IndexedRelationExec, RelationScanExec, RowLeafExec}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.execution.metric.SQLMetric

/** One operator of an executed plan: rows out in the last run, -1 where Spark does not count them or it did not run.
 *
 *  `nanos` is the time of all that a pipeline does, at its last operator: the plan's root, or what is built for a join; -1
 *  inside a pipeline, whose operators are compiled into one loop.
 */
final case class PlanOperator(depth: Int, name: String, detail: String, rows: Long, nanos: Long)

/** The row counters of a plan's operators, root first, read as differences between two runs.
 *
 *  Nodes that stay in a plan from run to run count on and on, and an operator that runs in several copies has a counter
 *  in each.
 */
final class OperatorCounts(plan: SparkPlan) {
  private final class Counted(val node: SparkPlan, val depth: Int, val stage: Option[StageBuildExec]) {
    val counters = mutable.ArrayBuffer[SQLMetric]()
    var before = 0L
    def total: Long = { var sum = 0L; counters.foreach(sum += _.value); sum }
  }

  private val nodes: Array[Counted] = {
    var stages = List.empty[(StageBuildExec, Int)] // those around the node, the inmost first
    val listed = OperatorCounts.topDown(plan, 0).map { case (node, depth) =>
      stages = stages.dropWhile(_._2 >= depth)
      val counted = new Counted(node, depth, stages.headOption.map(_._1))
      node match { case s: StageBuildExec => stages ::= (s, depth); case _ => }
      counted
    }.toArray
    val byNode = new java.util.IdentityHashMap[SparkPlan, Counted]()
    listed.foreach(c => byNode.put(c.node, c))
    listed.foreach(c => c.node.metrics.get("numOutputRows").foreach(c.counters += _))
    OperatorCounts.sliced(plan).foreach { sliced =>
      val templates = OperatorCounts.topDown(sliced.child, 0).map(_._1)
      sliced.running.foreach { copy =>
        templates.zip(OperatorCounts.topDown(copy, 0).map(_._1)).foreach { case (template, twin) =>
          if (!(template eq twin)) twin.metrics.get("numOutputRows").foreach(byNode.get(template).counters += _)
        }
      }
    }
    listed
  }

  /** Counts from here. */
  def mark(): Unit = nodes.foreach(n => n.before = n.total)

  /** All operators; `nanos` is what the last run took. */
  def read(nanos: Long): Seq[PlanOperator] = nodes.toSeq.map { n =>
    val time = n.node match {
      case _ if n.depth == 0 => nanos
      case s: StageBuildExec => s.builtNanos
      case _ => -1L
    }
    PlanOperator(n.depth, n.node.nodeName, OperatorCounts.detail(n.node), rowsOf(n), time)
  }

  private def rowsOf(n: Counted): Long = n.node match {
    case s: StageBuildExec => s.builtRows
    case _ if n.counters.isEmpty || n.stage.exists(!_.hasRun) => -1L
    case _ => n.total - n.before
  }
}

private[cqels] object OperatorCounts {
  /** Operators with their depth, root first, without what only carries others. */
  def topDown(plan: SparkPlan, depth: Int): Seq[(SparkPlan, Int)] = plan match {
    case a: AdaptiveSparkPlanExec => topDown(a.executedPlan, depth)
    case w: WholeStageCodegenExec => topDown(w.child, depth)
    case i: InputAdapter => topDown(i.child, depth)
    case s: SlicedExec => topDown(s.child, depth)
    case l: LoopBodyExec => topDown(l.child, depth)
    case node => (node, depth) +: node.children.flatMap(topDown(_, depth + 1))
  }

  private def sliced(plan: SparkPlan): Seq[SlicedExec] = {
    val found = mutable.ArrayBuffer[SlicedExec]()
    plan.foreach { case s: SlicedExec => found += s; case _ => }
    found.toSeq
  }

  private def detail(node: SparkPlan): String = node match {
    case s: RelationScanExec => s.content.name
    case i: IndexedRelationExec => i.content.name
    case r: RowLeafExec => r.content.name
    case j: RowJoinExec => j.shape.relations.map(_.name).mkString(", ")
    case j: BroadcastHashJoinExec => s"${j.joinType} ${j.leftKeys.mkString(", ")}"
    case j: BroadcastNestedLoopJoinExec => j.joinType.toString
    case f: FilterExec => f.condition.toString
    case own @ (_: PathSearchExec | _: OrderedSliceExec) => own.simpleString(25).dropWhile(_ != ' ').trim
    case _ => ""
  }
}
