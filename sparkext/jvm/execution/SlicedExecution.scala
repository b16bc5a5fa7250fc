package org.apache.spark.sql.cqels
package execution

import scala.collection.mutable

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.cqels.calls.CountedRows
import org.apache.spark.sql.cqels.leaves.{IndexedRelationExec, Morsels, RelationScanExec, ScanPart, ScanSlice}
import org.apache.spark.sql.cqels.memory.{IdRows, LongTable, TableScan}
import org.apache.spark.sql.cqels.runs.{DriverRows, Workers}
import org.apache.spark.sql.cqels.spark.DriverTask
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.types.LongType

/** Rows of ids that the threads of a run make, in the order of the morsels that they are made of. */
private[cqels] final class RowsOfMorsels(width: Int, threads: Int) {
  private val tables = Array.fill(threads)(new LongTable(width, 64))
  private val begun = Array.fill(threads)(new mutable.ArrayBuffer[(Int, Int)]()) // morsels, and the number of their first row
  private val last = Array.fill(threads)(-1)

  /** Where a row goes that a thread has made of what it reads now. */
  def table(part: ScanPart): LongTable = {
    val table = tables(part.number)
    if (last(part.number) != part.morsel) {
      last(part.number) = part.morsel
      begun(part.number) += part.morsel -> table.rowCount
    }
    table
  }

  def inOrder(): LongTable =
    if (tables.drop(1).forall(_.rowCount == 0)) tables(0)
    else {
      val out = new LongTable(width, tables.map(_.rowCount).sum)
      val pieces = for (thread <- tables.indices; ((morsel, from), place) <- begun(thread).zipWithIndex)
        yield (morsel, thread, from, if (place + 1 < begun(thread).length) begun(thread)(place + 1)._2 else tables(thread).rowCount)
      pieces.sortBy(_._1).foreach { case (_, thread, from, until) => out.appendAll(tables(thread).data, from, until - from) }
      out
    }
}

/** Streams one scan through its joins on several threads of the driver, each taking morsels of the scan.
 *
 *  Each thread has its own copy of the streamed operators, as they count rows in plain fields; build sides are shared,
 *  since nothing writes to them during an evaluation. Rows come out in the order of the scan. Work of less than
 *  `leastNanos` a thread stays on fewer threads.
 */
case class SlicedExec(child: SparkPlan, threads: Int, leastNanos: Long) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = SinglePartition

  @transient private lazy val morsels = new Morsels
  @transient private lazy val parts: Array[ScanPart] = Array.tabulate(threads)(new ScanPart(_, morsels))
  @transient private lazy val copies: Array[SparkPlan] = parts.map(SlicedExecution.copyOf(child, _))
  @transient private lazy val kept: Array[RDD[InternalRow]] = copies.map(_.execute())
  @transient private lazy val idsOnly = output.forall(a => a.dataType == LongType && !a.nullable)
  @transient @volatile private var busyNanos = 0L // of the last run, over all threads

  /** The copies of an operator that run beside it, for counting rows: same place, same operator. */
  private[cqels] def running: Seq[SparkPlan] = copies.toSeq

  /** Runs the plan, each thread giving `into(part)` its rows. */
  def run(into: ScanPart => InternalRow => Unit): Unit = {
    val wanted = if (leastNanos == 0) threads.toLong else busyNanos / leastNanos
    val total = math.max(1L, math.min(threads.toLong, wanted)).toInt
    morsels.start(if (total == 1) 1 else total * SlicedExecution.MorselsOfThread)
    val properties = DriverTask.localProperties()
    def task(part: Int): Long = {
      val began = System.nanoTime()
      try DriverRows.foreachRow(kept(part), properties)(into(parts(part)))
      catch { case e: Throwable => morsels.stop(); throw e }
      System.nanoTime() - began
    }
    if (total == 1) busyNanos = task(0)
    else {
      kept(total - 1) // makes all RDDs in this thread
      val others = (1 until total).map(part => Workers.submit(() => task(part)))
      var failure: Throwable = null
      var busy = 0L
      try busy = task(0) catch { case e: Throwable => failure = e }
      // All must have ended before anything moves, also when one has failed.
      others.foreach { other => try busy += other.get() catch { case e: java.util.concurrent.ExecutionException => if (failure == null) failure = e.getCause } }
      if (failure != null) throw failure
      busyNanos = busy
    }
  }

  /** The same for rows of ids: all of them, in the order of the scan. */
  def runIds(append: (LongTable, InternalRow) => Unit): LongTable = {
    val rows = new RowsOfMorsels(output.size, threads)
    run(part => row => append(rows.table(part), row))
    rows.inOrder()
  }

  /** The same for any rows, each one copied. */
  def runRows(): Iterator[UnsafeRow] = {
    val rows = Array.fill(threads * SlicedExecution.MorselsOfThread)(new mutable.ArrayBuffer[UnsafeRow]())
    run { part =>
      lazy val unsafe = UnsafeProjection.create(output, output)
      row => rows(part.morsel) += (row match { case u: UnsafeRow => u.copy(); case other => unsafe(other).copy() })
    }
    rows.iterator.flatMap(_.iterator)
  }

  override protected def doExecute(): RDD[InternalRow] = new GatheredRDD(sparkContext, () => gather())

  private def gather(): Iterator[InternalRow] =
    if (idsOnly) {
      val width = output.size
      val rows = runIds((table, row) => IdRows.append(table, width, row))
      TableScan.slice(width, rows.rowCount, rows.data, null, 0, 1)
    } else runRows()

  override def simpleString(maxFields: Int): String = s"Sliced on up to $threads threads"
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private[cqels] object SlicedExecution {
  /** Several times what it takes to wake another thread. */
  final val LeastNanos = 300000L

  /** A thread that is done waits for a morsel of another one at most. */
  final val MorselsOfThread = 16

  /** Puts [[SlicedExec]] over every scan that is streamed through joins, or through functions that are priced, up to what
   *  needs all rows together.
   *
   *  Before: `HashAggregate(Project(BroadcastHashJoin(RelationScan w, build)))`;
   *  after:  `HashAggregate(Sliced(Project(BroadcastHashJoin(RelationScan w, build))))`.
   */
  def apply(plan: SparkPlan, threads: Int, leastNanos: Long): SparkPlan =
    if (threads < 2) plan
    else if (streams(plan)) SlicedExec(withBuildSides(plan, threads, leastNanos), threads, leastNanos)
    else plan.withNewChildren(plan.children.map(apply(_, threads, leastNanos)))

  /** Whether the rows of a plan are those of one scan, each row by itself, through at least one join or call. */
  private def streams(plan: SparkPlan): Boolean = works(plan) && streamedScan(plan)

  private def works(plan: SparkPlan): Boolean = plan match {
    case _: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec => true
    case ProjectExec(list, child) => list.exists(calls) || works(child)
    case FilterExec(condition, child) => calls(condition) || works(child)
    case _ => false
  }

  /** Whether uncertainty functions or functions of users are called, which may cost more than joins. */
  private def calls(e: Expression): Boolean = e.exists(_.isInstanceOf[CountedRows])

  private def streamedScan(plan: SparkPlan): Boolean = plan match {
    case _: RelationScanExec => true
    case p: ProjectExec => p.projectList.forall(CountedRows.repeatable) && streamedScan(p.child)
    case f: FilterExec => CountedRows.repeatable(f.condition) && streamedScan(f.child)
    case j: BroadcastHashJoinExec => j.buildSide == BuildRight && rowByRow(j.joinType) && streamedScan(j.left)
    case j: BroadcastNestedLoopJoinExec => j.buildSide == BuildRight && rowByRow(j.joinType) && streamedScan(j.left)
    case _ => false
  }

  private def rowByRow(join: JoinType): Boolean = join match {
    case _: InnerLike | LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => true
    case _ => false
  }

  // What a build side streams is sliced by itself.
  private def withBuildSides(plan: SparkPlan, threads: Int, leastNanos: Long): SparkPlan = plan match {
    case j: BroadcastHashJoinExec => j.withNewChildren(Seq(withBuildSides(j.left, threads, leastNanos), apply(j.right, threads, leastNanos)))
    case j: BroadcastNestedLoopJoinExec => j.withNewChildren(Seq(withBuildSides(j.left, threads, leastNanos), apply(j.right, threads, leastNanos)))
    case other => other.withNewChildren(other.children.map(withBuildSides(_, threads, leastNanos)))
  }

  /** The same operators over what one thread reads of the scan, with the same build sides. */
  private[cqels] def copyOf(plan: SparkPlan, part: ScanPart): SparkPlan = plan match {
    case scan: RelationScanExec => scan.copy(part = part)
    case built @ (_: StageBuildExec | _: IndexedRelationExec) => built
    case w: WholeStageCodegenExec => WholeStageCodegenExec(copyOf(w.child, part))(w.codegenStageId)
    case other => other.withNewChildren(other.children.map(copyOf(_, part)))
  }
}

private final class GatheredRDD(sc: SparkContext, rows: () => Iterator[InternalRow]) extends RDD[InternalRow](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array(ScanSlice(0))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = rows()
}
