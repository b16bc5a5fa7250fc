package org.apache.spark.sql.cqels
package execution

import scala.reflect.ClassTag

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, BroadcastPartitioning, IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.cqels.calls.{CountedRows, TermFunctions}
import org.apache.spark.sql.cqels.clusters.{ClusterJoinExec, RowJoinExec}
import org.apache.spark.sql.cqels.leaves.{IndexedRelationExec, LiveValue, RelationScanExec, RowLeafExec}
import org.apache.spark.sql.cqels.memory.{IdRows, LongTable}
import org.apache.spark.sql.cqels.relations.StaticIndex
import org.apache.spark.sql.cqels.rows.RowIndex
import org.apache.spark.sql.cqels.runs.DriverRows
import org.apache.spark.sql.cqels.spark.{BroadcastIds, HandedOver, InProcessBroadcast}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.types.LongType

/** Stands where Spark would broadcast a sub-plan: on the driver its rows are computed and indexed before each run. */
case class StageBuildExec(mode: BroadcastMode, child: SparkPlan) extends UnaryExecNode with HandedOver {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  // Which class it is gets compiled into the join, so the choice depends on the types only.
  @transient private lazy val builder: StageBuilder = mode match {
    case HashedRelationBroadcastMode(keys, _) =>
      val bound = keys.collect { case BoundReference(i, LongType, false) => i }
      if (bound.size == keys.size && output.forall(a => a.dataType == LongType && !a.nullable)) new IdStage(output.size, bound.toArray)
      else new RowStage(new RowIndex(keys), output)
    case _ => new ArrayStage(output)
  }

  @transient private lazy val kept: RDD[InternalRow] = child.execute()
  @transient protected lazy val handed: Broadcast[Any] = new InProcessBroadcast[Any](BroadcastIds.take(), () => builder.current)(ClassTag.Any)

  @transient private lazy val live = StageBuildExec.keys(mode).exists(LiveValue.isIn) || child.exists {
    case s: RelationScanExec => s.content.live
    case i: IndexedRelationExec => i.content.live
    case r: RowLeafExec => r.content.live
    case j: RowJoinExec => j.readsLive || j.expressions.exists(LiveValue.isIn)
    case c: ClusterJoinExec => c.readsLive || StageBuildExec.isOfOneRun(c)
    case other => StageBuildExec.isOfOneRun(other)
  }
  @transient private var built = false
  @transient private var ran = false
  @transient private var nanos = 0L

  /** Runs the sub-plan and replaces the build side; once is enough where all that it reads and computes is static. */
  def rebuild(): Unit = {
    val began = System.nanoTime()
    ran = live || !built
    if (ran) {
      builder.begin()
      build()
      builder.end()
      built = true
    }
    nanos = System.nanoTime() - began
  }

  /** On several threads where the sub-plan has it. */
  private def build(): Unit = (child, builder) match {
    case (sliced: SlicedExec, ids: IdStage) => ids.take(sliced.runIds(IdRows.append(_, output.size, _)))
    case (sliced: SlicedExec, _) => sliced.runRows().foreach(builder.addKept)
    case (ClusterAlone(cluster, select), ids: IdStage) => ids.take(cluster.runIds(select))
    case (ClusterAlone(cluster, select), _) => cluster.runRows(select).foreach(builder.add)
    case _ => DriverRows.foreachRow(kept)(builder.add)
  }

  /** Whether the last `rebuild` ran the sub-plan. */
  def hasRun: Boolean = ran

  /** What the last `rebuild` took. */
  def builtNanos: Long = nanos

  def builtRows: Long = builder.rows

  /** Forgets the rows of the last run, and most of the room for them: this plan may not run again for long. */
  def release(): Unit = if (live) builder.release()

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a build side is probed")
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

object StageBuildExec {
  /** Modes whose build side can be made here; a null-aware anti join keeps Spark's own. */
  def supports(mode: BroadcastMode): Boolean = mode match {
    case HashedRelationBroadcastMode(_, isNullAware) => !isNullAware
    case IdentityBroadcastMode => true
    case _ => false
  }

  /** Whether what a node computes is good for one evaluation only: terms that expressions make leave the dictionary after it,
   *  and some functions have another value in each, as live values have.
   */
  private[execution] def isOfOneRun(node: SparkPlan): Boolean =
    node.expressions.exists(e => !CountedRows.repeatable(e) || TermFunctions.makesTerms(e) || LiveValue.isIn(e))

  /** What a build side is known by: not an expression of the node itself, as Spark sees it. */
  def keys(mode: BroadcastMode): Seq[Expression] = mode match {
    case HashedRelationBroadcastMode(keys, _) => keys
    case _ => Nil
  }
}

private sealed trait StageBuilder {
  def current: Any
  var rows: Long = 0
  def begin(): Unit
  /** Keeps a copy of the row. */
  def add(row: InternalRow): Unit
  /** Keeps the row object itself, which nobody changes from now on. */
  def addKept(row: UnsafeRow): Unit = add(row)
  def end(): Unit
  /** Forgets the rows; how many there were stays known. */
  def release(): Unit
}

private object IdStage {
  /** Room for so many cells is kept for the next run: 16 MiB. */
  final val KeptCells = 1 << 21
}

private final class IdStage(arity: Int, keys: Array[Int]) extends StageBuilder {
  private var table = new LongTable(arity)
  private val columns = Array.range(0, arity)
  private val none = StaticIndex.empty(arity, keys)
  private var index = none
  override def current: Any = index
  override def begin(): Unit = { index = none; table.clear() } // the next rows and the last ones' index need not be held together
  override def add(row: InternalRow): Unit = {
    val at = table.appendRow()
    var c = 0
    while (c < arity) { table.set(at + c, row.getLong(c)); c += 1 }
  }
  /** All rows at once. */
  def take(made: LongTable): Unit = table = made
  override def end(): Unit = { rows = table.rowCount; index = StaticIndex.grouped(table, null, columns, keys) }
  override def release(): Unit = { index = none; table.release(IdStage.KeptCells) }
}

private final class RowStage(index: RowIndex, output: Seq[Attribute]) extends StageBuilder {
  private lazy val unsafe = UnsafeProjection.create(output, output)
  override def current: Any = index
  override def begin(): Unit = { index.clear(index.keyCount); rows = 0 }
  override def add(row: InternalRow): Unit = addKept(row match { case u: UnsafeRow => u.copy(); case other => unsafe(other).copy() })
  override def addKept(row: UnsafeRow): Unit = { rows += 1; index.add(row) }
  override def end(): Unit = ()
  override def release(): Unit = index.clear(0)
}

private final class ArrayStage(output: Seq[Attribute]) extends StageBuilder {
  private lazy val unsafe = UnsafeProjection.create(output, output)
  private val held = new java.util.ArrayList[InternalRow]()
  private var array = Array.empty[InternalRow]
  override def current: Any = array
  override def begin(): Unit = held.clear()
  override def add(row: InternalRow): Unit = addKept(row match { case u: UnsafeRow => u.copy(); case other => unsafe(other).copy() })
  override def addKept(row: UnsafeRow): Unit = held.add(row)
  override def end(): Unit = { rows = held.size; array = held.toArray(new Array[InternalRow](0)) }
  override def release(): Unit = { held.clear(); array = Array.empty }
}
