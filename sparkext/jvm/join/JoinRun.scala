package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{BasePredicate, Predicate, UnsafeProjection}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{KeyedRows, RelationContent}
import org.apache.spark.sql.cqels.runs.RunLimit

/** One thread's way through a join, on vectors of rows.
 *
 *  The rows of the driving relation are put where it begins; a vector of rows takes one step after the other. What only
 *  drops rows, or adds one value to each, works on the vector as it is; what gives a row several others writes these where
 *  they have to go on, and they wait there until they are a vector again. Nothing is allocated while rows flow, and nothing is
 *  compiled for an order.
 */
private[join] final class JoinRun(val spec: JoinSpec) {
  import JoinNodes.{FirstVector, Vector}

  val nodes = new JoinNodes(spec)
  val probe = new JoinProbe(this)
  private val row = spec.expressionRow()
  private lazy val predicates: Array[BasePredicate] = spec.items.map(i => if (i.binds >= 0) null else {
    val made = Predicate.create(i.expression, spec.expressionShape)
    made.initialize(0)
    made
  })
  private lazy val projections: Array[UnsafeProjection] = spec.items.map(i => if (i.binds < 0) null else {
    val made = UnsafeProjection.create(Seq(i.expression), spec.expressionShape)
    made.initialize(0)
    made
  })
  private var out: LongTable = _
  private var shown: Array[Int] = spec.output // variables, in the order in which they are told
  private var weighed = false
  private var limit: RunLimit = _
  private var waiting = mutable.ArrayBuffer[JoinNode]() // nodes with buffers, those with most left to do first
  private var vectors = 0 // since this evaluation began
  private var revalued = 0
  private var inner = 0L // nanoseconds of vectors that others began, within the step of now

  /** Makes code ready for the expressions. */
  def warm(): Unit = { predicates; projections }

  /** `number`: of the evaluation, where another thread has begun it; -1: the next one. */
  def begin(contents: Array[RelationContent], order: JoinOrderData, out: LongTable, limit: RunLimit, number: Long = -1): Unit = {
    if (!nodes.begin(contents, order, if (number < 0) nodes.evaluation + 1 else number)) waiting.clear()
    this.out = out
    this.limit = limit
    vectors = 0
    revalued = 0
    waiting.foreach { node => node.buffer.rows = 0; node.buffer.weighted = false } // what a run that failed has left
  }

  /** Has of each answer only these cells of the output be told; `weighed`: once, its weight behind them, not as often as it counts. */
  def output(select: Array[Int], weighed: Boolean = false): Unit = { shown = select.map(spec.output(_)); this.weighed = weighed }
  def table: LongTable = out

  private[join] def bufferOf(node: JoinNode): JoinBuffer = {
    if (node.buffer == null) {
      node.buffer = new JoinBuffer(spec.variables)
      waiting += node
      waiting = waiting.sortBy(n => -(java.lang.Long.bitCount(n.remaining) + java.lang.Long.bitCount(n.items)))
    }
    node.buffer
  }

  /** Takes in rows `from` until `until` of the driving relation, `data` holding its cells side by side; with `weights` behind each row's. */
  def drive(relation: Int, data: Array[Long], from: Int, until: Int, weights: Boolean = false): Unit = {
    val node = nodes.start(relation)
    val columns = spec.relations(relation).variables
    val stride = if (weights) columns.length + 1 else columns.length
    val buffer = bufferOf(node)
    var at = from
    while (at < until) {
      val n = math.min(until - at, node.limit - buffer.rows)
      var c = 0
      while (c < columns.length) {
        if ((node.live & 1L << columns(c)) != 0) {
          val column = buffer.column(columns(c))
          var i = 0
          while (i < n) { column(buffer.rows + i) = data((at + i) * stride + c); i += 1 }
        }
        c += 1
      }
      if (weights) takeWeights(buffer, data, at, n, stride)
      buffer.rows += n
      at += n
      if (buffer.rows >= node.limit) process(node)
    }
  }

  private def takeWeights(buffer: JoinBuffer, data: Array[Long], at: Int, n: Int, stride: Int): Unit = {
    var i = 0
    while (i < n) {
      val weight = data((at + i) * stride + stride - 1)
      if (weight != 1L || buffer.weighted) buffer.weightsOf(buffer.rows + i)(buffer.rows + i) = weight
      i += 1
    }
  }

  /** Has all rows that wait go their way. */
  def drain(): Unit = {
    var i = 0
    while (i < waiting.length) {
      val before = waiting.length
      if (waiting(i).buffer.rows > 0) process(waiting(i))
      if (waiting.length != before) i = 0 // new ones have come among those before
      else i += 1
    }
  }

  private[join] def process(node: JoinNode): Unit = {
    val began = System.nanoTime()
    val innerBefore = inner
    inner = 0
    val buffer = node.buffer
    var n = buffer.rows
    val selected = buffer.selected
    var i = 0
    while (i < n) { selected(i) = i; i += 1 }
    if (node.limit < Vector) node.limit *= 4
    vectors += 1
    if (vectors >= 2 * revalued) { revalued = vectors; nodes.table.update() }
    if (limit != null) limit.check(1)
    var at = node
    while (n > 0 && !at.isEnd) {
      val step = nodes.choose(at)
      val came = n
      val started = System.nanoTime()
      val spent = inner
      n = step match {
        case extend: Extend => extending(extend, buffer, selected, n)
        case check: Check => checkBy(check, buffer, selected, n)
        case apply: Apply => applyBy(apply, buffer, selected, n)
      }
      val took = System.nanoTime() - started - (inner - spent)
      step.nanos += took
      step match { case a: Apply => a.took(took, came); case _ => }
      at = step.next
    }
    if (n > 0) emit(buffer, selected, n)
    buffer.rows = 0
    buffer.weighted = false
    inner = innerBefore + System.nanoTime() - began
  }

  private def emit(buffer: JoinBuffer, selected: Array[Int], n: Int): Unit = {
    val output = shown
    var j = 0
    while (j < n) {
      val i = selected(j)
      val weight = if (buffer.weighted) buffer.weights(i) else 1L
      var times = if (weighed) 1L else weight
      while (times > 0) {
        val at = out.appendRow()
        val cells = out.data
        var c = 0
        while (c < output.length) { cells(at + c) = buffer.columns(output(c))(i); c += 1 }
        if (weighed) cells(at + c) = weight
        else if (output.length == 0) cells(at) = 1L
        times -= 1
        if (limit != null && times > 0) limit.check(RunLimit.RowsOut)
      }
      j += 1
    }
  }

  // -- filters and BINDs ---------------------------------------------------------------------------

  private def applyBy(step: Apply, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    row.columns = buffer.columns
    val binds = step.what.binds
    var kept = 0
    var j = 0
    if (binds >= 0) {
      val column = buffer.column(binds)
      val projection = projections(step.item)
      while (j < n) {
        row.at = selected(j)
        val made = projection(row)
        column(row.at) = if (made.isNullAt(0)) 0L else made.getLong(0)
        j += 1
      }
      kept = n
    } else {
      val predicate = predicates(step.item)
      while (j < n) {
        row.at = selected(j)
        if (predicate.eval(row)) { selected(kept) = row.at; kept += 1 }
        j += 1
      }
    }
    step.note(n, kept, 0, 0)
    kept
  }

  /** Whether a row of a sample passes a filter. */
  def passes(item: Int, columns: Array[Array[Long]], at: Int): Boolean = {
    row.columns = columns
    row.at = at
    predicates(item).eval(row)
  }

  // -- relations of which all is bound -----------------------------------------------------------

  private val extending = new JoinExtending(this)
  private var keyColumns = new Array[Array[Long]](0)

  private[join] def keysOf(variables: Array[Int], buffer: JoinBuffer): Array[Array[Long]] = {
    if (keyColumns.length < variables.length) keyColumns = new Array[Array[Long]](variables.length)
    var k = 0
    while (k < variables.length) { keyColumns(k) = buffer.columns(variables(k)); k += 1 }
    keyColumns
  }

  private def checkBy(step: Check, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    val parts = step.rows
    val keys = keysOf(step.keyVariables, buffer)
    val values = if (step.last >= 0) buffer.columns(step.last) else null
    var kept = 0
    var j = 0
    while (j < n) {
      val i = selected(j)
      var times = 0L
      var p = 0
      while (p < parts.length) {
        val rows = parts(p)
        val at = rows.find(keys, i)
        if (at >= 0) times += (if (values == null) rows.total(at) else timesAt(rows, at, values(i), 1))
        p += 1
      }
      if (times > 0) {
        if (times != 1 || buffer.weighted) buffer.weightsOf(buffer.rows)(i) *= times
        selected(kept) = i
        kept += 1
      }
      j += 1
    }
    step.note(n, kept, 0, n)
    kept
  }

  @inline private def timesAt(rows: KeyedRows, at: Int, value: Long, asks: Int): Int =
    if (at < 0) 0
    else {
      val set = rows.set(at, asks)
      if (set != null) set.times(value) else rows.search(at, value)
    }
}
