package org.apache.spark.sql.cqels
package execution

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.cqels.calls.{NeedsTexts, TextNeed}
import org.apache.spark.sql.cqels.functions.TermValues
import org.apache.spark.sql.cqels.memory.{IdRows, LongTable}
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.LongType

/** ORDER BY, OFFSET and LIMIT of a sub-select: rows `offset` to `offset + limit` (-1: all) in SPARQL's order of `keys`.
 *
 *  Rows that the keys leave equal come in the order of the ids in `ties`: which ones are cut is the same on every run.
 */
case class OrderedSlice(
    keys: Seq[Attribute], descending: Seq[Boolean], ties: Seq[Attribute], offset: Long, limit: Long, room: Long, child: LogicalPlan)
    extends UnaryNode with NeedsTexts {
  override def output: Seq[Attribute] = child.output
  override def textNeed: Option[TextNeed] = if (keys.isEmpty) None else Some(TextNeed("ORDER BY", always = false))
  override protected def withNewChildInternal(newChild: LogicalPlan): OrderedSlice = copy(child = newChild)
}

/** Gathers all rows of one partition, as a shuffle-free plan has them, and cuts. */
case class OrderedSliceExec(
    keys: Seq[Attribute], descending: Seq[Boolean], ties: Seq[Attribute], offset: Long, limit: Long, room: Long, child: SparkPlan)
    extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = SinglePartition
  override def requiredChildDistribution: Seq[Distribution] = AllTuples :: Nil
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override protected def doExecute(): RDD[InternalRow] = {
    val columns = output
    val places = (keys ++ ties).map(a => columns.indexWhere(_.exprId == a.exprId)).toArray
    val (down, ofTerms, from, most, engine, counted) =
      (descending.toArray, keys.size, offset, limit, room, longMetric("numOutputRows"))
    Jobs.mapPartitions(child.execute()) { rows =>
      val table = new LongTable(columns.size, 64)
      rows.foreach(IdRows.appendBound(table, columns.size, _))
      val order = new RowOrder(table, places, down, ofTerms, engine)
      val unsafe = UnsafeProjection.create(columns, columns)
      val cells = new SpecificInternalRow(columns.map(_ => LongType))
      order.slice(from, most).iterator.map { row =>
        var c = 0
        while (c < columns.size) {
          val id = table(row, c)
          if (id == 0) cells.setNullAt(c) else cells.setLong(c, id)
          c += 1
        }
        counted.add(1)
        unsafe(cells): InternalRow
      }
    }
  }

  override def simpleString(maxFields: Int): String = {
    val order = keys.zip(descending).map { case (k, d) => if (d) s"$k descending" else k.toString }
    s"OrderedSlice by ${order.mkString("(", ", ", ")")} from $offset${if (limit < 0) "" else s", $limit rows"}"
  }

  override protected def withNewChildInternal(newChild: SparkPlan): OrderedSliceExec = copy(child = newChild)
}

/** The order of a table's rows by columns at `places`: the first `ofTerms` by their terms, the others by id. */
private[cqels] final class RowOrder(
    table: LongTable, places: Array[Int], descending: Array[Boolean], ofTerms: Int, room: Long) extends java.util.Comparator[Integer] {

  override def compare(a: Integer, b: Integer): Int = {
    var i = 0
    while (i < places.length) {
      val x = table(a, places(i))
      val y = table(b, places(i))
      if (x != y) {
        val c = if (i < ofTerms) TermValues.order(room, x, y) else java.lang.Long.compare(x, y)
        if (c != 0) return if (i < ofTerms && descending(i)) -c else c
      }
      i += 1
    }
    0
  }

  /** Numbers of the rows from `offset` on, `limit` at most (-1: all), in order. */
  def slice(offset: Long, limit: Long): Array[Int] = {
    val n = table.rowCount
    val until = if (limit < 0) n else math.min(n.toLong, offset + limit).toInt
    val from = math.min(offset, until.toLong).toInt
    val sorted: Array[Integer] =
      if (until < n / 4) least(until)
      else { val all = Array.tabulate[Integer](n)(Int.box); java.util.Arrays.sort(all, this); all }
    Array.tabulate(until - from)(i => sorted(from + i).intValue)
  }

  /** The first `count` rows in order, through a heap of no more. */
  private def least(count: Int): Array[Integer] = {
    val heap = new java.util.PriorityQueue[Integer](math.max(1, count), this.reversed())
    var row = 0
    while (row < table.rowCount) {
      val number = Int.box(row)
      if (heap.size < count) heap.add(number)
      else if (count > 0 && compare(number, heap.peek) < 0) { heap.poll(); heap.add(number) }
      row += 1
    }
    val found = heap.toArray(new Array[Integer](0))
    java.util.Arrays.sort(found, this)
    found
  }
}
