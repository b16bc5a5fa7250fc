package org.apache.spark.sql.execution.joins {

  import java.io.{ObjectInput, ObjectOutput}

  import org.apache.spark.sql.catalyst.InternalRow
  import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
  import org.apache.spark.sql.types.LongType

  /** A build side of any columns, nulls included, filled anew for each evaluation from the rows of a sub-plan. */
  final class RowIndex(key: Seq[Expression]) extends IdRelation {
    private val longKey = key.length == 1 && key.head.dataType == LongType
    private val project = UnsafeProjection.create(key)
    private val rows = new java.util.HashMap[Any, RowBucket]()

    override val keyColumns: Array[Int] = key.indices.toArray
    override def estimatedSize: Long = 64L * rows.size
    override def asReadOnlyCopy(): RowIndex = this

    def clear(): Unit = rows.clear()
    /** Distinct keys, those with a null left out. */
    def keyCount: Int = rows.size

    /** Keeps a copy of the row; a row whose key has a null joins nothing and is dropped. */
    def add(row: UnsafeRow): Unit = put(row, shared = false)

    /** Keeps the row object itself, which nobody changes from now on. */
    def addKept(row: UnsafeRow): Unit = put(row, shared = true)

    private def put(row: UnsafeRow, shared: Boolean): Unit = {
      val k = project(row)
      if (!k.anyNull()) {
        val at: Any = if (longKey) k.getLong(0) else k.copy()
        rows.computeIfAbsent(at, _ => new RowBucket).add(if (shared) row else row.copy())
      }
    }

    /** Drops the very row object that `addKept` was given. */
    def remove(row: UnsafeRow): Unit = {
      val k = project(row)
      if (!k.anyNull()) {
        val at: Any = if (longKey) k.getLong(0) else k
        val same = rows.get(at)
        same.remove(row)
        if (same.isEmpty) rows.remove(at)
      }
    }

    private def iterate(found: RowBucket): Iterator[InternalRow] = if (found == null) null else found.iterator

    override def get(k: Long): Iterator[InternalRow] = iterate(rows.get(k))
    override protected def matches(k: InternalRow): Iterator[InternalRow] =
      iterate(rows.get(if (longKey) k.getLong(0) else k))
    override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("a stage's build side stays on the driver")
    override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("a stage's build side stays on the driver")
  }

  /** Rows of one key; they leave in about the order in which they came, which costs no shifting. */
  private final class RowBucket {
    private var rows = new Array[InternalRow](1)
    private var from = 0
    private var until = 0

    def isEmpty: Boolean = from == until

    def add(row: InternalRow): Unit = {
      if (until == rows.length) {
        val held = until - from
        // Half of the room being free in front, moving is enough.
        val to = if (from > held) rows else new Array[InternalRow](math.max(2, held * 2))
        System.arraycopy(rows, from, to, 0, held)
        if (to eq rows) java.util.Arrays.fill(rows.asInstanceOf[Array[AnyRef]], held, until, null)
        rows = to
        from = 0
        until = held
      }
      rows(until) = row
      until += 1
    }

    def remove(row: InternalRow): Unit = {
      var i = from
      while (rows(i) ne row) i += 1
      System.arraycopy(rows, from, rows, from + 1, i - from)
      rows(from) = null
      from += 1
    }

    def iterator: Iterator[InternalRow] = new Iterator[InternalRow] {
      private var at = from
      override def hasNext: Boolean = at < until
      override def next(): InternalRow = { at += 1; rows(at - 1) }
    }
  }
}

package org.apache.spark.sql.cqels {

  import scala.reflect.ClassTag

  import org.apache.spark.broadcast.{Broadcast, InProcessBroadcast}
  import org.apache.spark.rdd.RDD
  import org.apache.spark.sql.catalyst.InternalRow
  import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, UnsafeProjection, UnsafeRow}
  import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, BroadcastPartitioning, IdentityBroadcastMode, Partitioning}
  import org.apache.spark.sql.cqels.join.ClusterJoinExec
  import org.apache.spark.sql.cqels.rows.RowJoinExec
  import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
  import org.apache.spark.sql.execution.joins._
  import org.apache.spark.sql.types.LongType

  /** Stands where Spark would broadcast a sub-plan: on the driver its rows are computed and indexed before each run. */
  case class StageBuildExec(mode: BroadcastMode, child: SparkPlan) extends UnaryExecNode {
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
    @transient private lazy val handed = new InProcessBroadcast[Any](BroadcastIds.take(), () => builder.current)(ClassTag.Any)

    // Terms that expressions make leave the dictionary after an evaluation, and some functions have another value in each,
    // as live values have.
    @transient private lazy val live = StageBuildExec.keys(mode).exists(LiveValue.isIn) || child.exists {
      case s: RelationScanExec => s.content.live
      case i: IndexedRelationExec => i.content.live
      case r: RowLeafExec => r.content.live
      case j: RowJoinExec => j.readsLive || j.expressions.exists(LiveValue.isIn)
      case c: ClusterJoinExec => c.readsLive || c.expressions.exists(e => !CountedRows.repeatable(e) || TermFunctions.makesTerms(e) || LiveValue.isIn(e))
      case other => other.expressions.exists(e => !CountedRows.repeatable(e) || TermFunctions.makesTerms(e) || LiveValue.isIn(e))
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
        DriverExecution.foreachRow(kept)(builder.add)
        builder.end()
        built = true
      }
      nanos = System.nanoTime() - began
    }

    /** Whether the last `rebuild` ran the sub-plan. */
    def hasRun: Boolean = ran

    /** What the last `rebuild` took. */
    def builtNanos: Long = nanos

    def builtRows: Long = builder.rows

    /** Forgets the rows of the last run, and most of the room for them: this plan may not run again for long. */
    def release(): Unit = if (live) builder.release()

    override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a build side is probed")
    override protected[sql] def doExecuteBroadcast[T](): Broadcast[T] = handed.asInstanceOf[Broadcast[T]]
    override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
  }

  object StageBuildExec {
    /** Modes whose build side can be made here; a null-aware anti join keeps Spark's own. */
    def supports(mode: BroadcastMode): Boolean = mode match {
      case HashedRelationBroadcastMode(_, isNullAware) => !isNullAware
      case IdentityBroadcastMode => true
      case _ => false
    }

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
    def add(row: InternalRow): Unit
    def end(): Unit
    /** Forgets the rows; how many there were stays known. */
    def release(): Unit
  }

  private object IdStage {
    /** Room for so many cells is kept for the next run: 16 MiB. */
    final val KeptCells = 1 << 21
  }

  private final class IdStage(arity: Int, keys: Array[Int]) extends StageBuilder {
    private val table = new LongTable(arity)
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
    override def end(): Unit = { rows = table.rowCount; index = StaticIndex.grouped(table, null, columns, keys) }
    override def release(): Unit = { index = none; table.release(IdStage.KeptCells) }
  }

  private final class RowStage(index: RowIndex, output: Seq[Attribute]) extends StageBuilder {
    private lazy val unsafe = UnsafeProjection.create(output, output)
    override def current: Any = index
    override def begin(): Unit = { index.clear(); rows = 0 }
    override def add(row: InternalRow): Unit = {
      rows += 1
      index.add(row match { case u: UnsafeRow => u; case other => unsafe(other) })
    }
    override def end(): Unit = ()
    override def release(): Unit = index.clear()
  }

  private final class ArrayStage(output: Seq[Attribute]) extends StageBuilder {
    private lazy val unsafe = UnsafeProjection.create(output, output)
    private val held = new java.util.ArrayList[InternalRow]()
    private var array = Array.empty[InternalRow]
    override def current: Any = array
    override def begin(): Unit = held.clear()
    override def add(row: InternalRow): Unit = held.add(row match { case u: UnsafeRow => u.copy(); case other => unsafe(other).copy() })
    override def end(): Unit = { rows = held.size; array = held.toArray(new Array[InternalRow](0)) }
    override def release(): Unit = { held.clear(); array = Array.empty }
  }
}
