package org.apache.spark.sql.cqels
package execution

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}

/** Has generated code do in a method of its own what comes after its child, row by row.
 *
 *  Spark makes one method of a row of joins, a loop within a loop, which the just-in-time compiler presumably compiles
 *  as a whole: plans of equal work differed by 7 %, and first runs took longer. Of queries over windows, what OPTIONAL, MINUS and
 *  EXISTS make is joined so.
 *  `spark.sql.codegen.splitConsumeFuncByOperator=false` has it be one method.
 */
case class LoopBodyExec(child: SparkPlan) extends UnaryExecNode with CodegenSupport {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  // Spark makes a method of what needs all columns of its input.
  override def usedInputs: AttributeSet = child.outputSet
  override def inputRDDs(): Seq[RDD[InternalRow]] = streamed.inputRDDs()
  override protected def doProduce(ctx: CodegenContext): String = streamed.produce(ctx, this)
  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): LoopBodyExec = copy(child = newChild)

  private def streamed: CodegenSupport = child.asInstanceOf[CodegenSupport]
}

/** Puts [[LoopBodyExec]] between two joins that stream the same rows.
 *
 *  Before: `BroadcastHashJoin(Project(BroadcastHashJoin(scan, one)), other)`;
 *  after:  `BroadcastHashJoin(LoopBody(Project(BroadcastHashJoin(scan, one))), other)`.
 */
private[cqels] object LoopBodies {
  def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case join: BroadcastHashJoinExec if join.buildSide == BuildRight && streamsJoin(join.left) => join.copy(left = LoopBodyExec(join.left))
    case join: BroadcastNestedLoopJoinExec if join.buildSide == BuildRight && streamsJoin(join.left) => join.copy(left = LoopBodyExec(join.left))
  }

  private def streamsJoin(plan: SparkPlan): Boolean = plan match {
    case _: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec => true
    case p: ProjectExec => streamsJoin(p.child)
    case f: FilterExec => streamsJoin(f.child)
    case _ => false
  }
}
