package org.apache.spark.sql.cqels
package loading

import scala.collection.mutable

import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.cqels.dictionary.ChangeTerms
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.{DataFrame, SaveMode}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, AttributeReference, SortOrder, UnsafeRow}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** Encoded quads as Parquet: one folder per graph and predicate, distinct rows (s, o) sorted by subject. */
object QuadTables {
  /** Rows that one task sorts in memory, at most about; larger predicates are split by subject. */
  final val RowsPerTask = 1 << 20
  private final val RowsPerBlock = 1 << 16

  /** Of the files. Nearly all ids of a column differ: a dictionary would be begun, found too large, and written anew
   *  without it. Differences of sorted ids are short: version 2 of the format has an encoding for them.
   */
  private[loading] val options = Map("parquet.enable.dictionary" -> "false", "parquet.writer.version" -> "PARQUET_2_0")

  private val schema = StructType(
    Seq("graph", "predicate", "s", "o").map(StructField(_, LongType, nullable = false)))

  /** Writes distinct quads under `folder` (graph=G/predicate=P/part-*.parquet).
   *
   *  `counts` says how many quads (repeated ones included) each (graph, predicate) has. Returns the distinct rows of
   *  each, as triples graph, predicate, rows.
   */
  def write(spark: SparkSession, quads: RDD[QuadBlock], counts: mutable.Map[(Long, Long), Long], folder: String): Array[Array[Long]] = {
    val total = counts.values.sum
    val tasks = math.max(spark.sparkContext.defaultParallelism.toLong, total / RowsPerTask + 1).toInt
    val split = counts.collect { case (key, rows) if rows > RowsPerTask => key -> (rows / RowsPerTask + 1).toInt }.toMap
    val rowCounts = spark.sparkContext.collectionAccumulator[Array[Long]]("rows per graph and predicate")
    val sorted = quads
      .mapPartitions(scatter(_, tasks, split))
      .partitionBy(new TaskPartitioner(tasks))
      .mapPartitions { blocks => sortedRows(blocks.map(_._2), (g, p, n) => rowCounts.add(Array(g, p, n))) }
    val output = DataTypeUtils.toAttributes(schema)
    // Stating the order keeps the writer from sorting all rows again by folder.
    val ordering = output.map(SortOrder(_, Ascending))
    val plan = LogicalRDD(output, sorted, outputOrdering = ordering)(spark)
    Frames.of(spark, plan).write.mode(SaveMode.ErrorIfExists).partitionBy("graph", "predicate")
      .options(options).parquet(folder)
    val rows = new mutable.HashMap[(Long, Long), Long]
    rowCounts.value.forEach { r => rows((r(0), r(1))) = rows.getOrElse((r(0), r(1)), 0L) + r(2) }
    rows.map { case ((g, p), n) => Array(g, p, n) }.toArray
  }

  /** Writes the distinct quads (s, p, o, g) of a data frame; for `rows` see `countsOf`. */
  def writeFrame(spark: SparkSession, quads: DataFrame, rows: Array[Byte], folder: String): Array[Array[Long]] =
    write(spark, blocks(quads), countsOf(rows), folder)

  /** How many rows tables have: graph, predicate and rows of each, numbers as `ChangeTerms` has them. */
  private[loading] def countsOf(rows: Array[Byte]): mutable.Map[(Long, Long), Long] = {
    val numbers = ChangeTerms.numbers(rows)
    mutable.HashMap.from(Iterator.range(0, numbers.length, 3).map(i => (numbers(i), numbers(i + 1)) -> numbers(i + 2)))
  }

  /** Rows (s, p, o, g) of a data frame as blocks. */
  def blocks(frame: DataFrame): RDD[QuadBlock] =
    frame.select("s", "p", "o", "g").asInstanceOf[Dataset[_]].queryExecution.toRdd.mapPartitions { rows =>
      // Spark hands out one row object again and again: each is read before the next is asked for.
      new Iterator[QuadBlock] {
        override def hasNext: Boolean = rows.hasNext
        override def next(): QuadBlock = {
          val block = new QuadBlock
          while (rows.hasNext && block.size < RowsPerBlock) {
            val row = rows.next()
            block.add(row.getLong(0), row.getLong(1), row.getLong(2), row.getLong(3))
          }
          block
        }
      }
    }

  private def scatter(blocks: Iterator[QuadBlock], tasks: Int, split: Map[(Long, Long), Int]): Iterator[(Int, QuadBlock)] =
    blocks.flatMap { block =>
      val parts = new Array[QuadBlock](tasks)
      var lastGraph, lastPredicate = 0L
      var width = 0
      var i = 0
      while (i < block.size) {
        val g = block.graph(i)
        val p = block.predicate(i)
        if (width == 0 || g != lastGraph || p != lastPredicate) {
          lastGraph = g
          lastPredicate = p
          width = split.getOrElse((g, p), 1)
        }
        val base = Math.floorMod(mix(g * 31 + p), tasks)
        val task = if (width == 1) base else (base + Math.floorMod(mix(block.subject(i)), width)) % tasks
        if (parts(task) == null) parts(task) = new QuadBlock
        parts(task).add(block.subject(i), p, block.obj(i), g)
        i += 1
      }
      parts.iterator.zipWithIndex.collect { case (part, task) if part != null => (task, part) }
    }

  private[cqels] def mix(value: Long): Int = {
    val h = KeyHash.spread(value)
    (h ^ (h >>> 32)).toInt
  }

  private def sortedRows(blocks: Iterator[QuadBlock], counted: (Long, Long, Long) => Unit): Iterator[InternalRow] = {
    val groups = new mutable.HashMap[(Long, Long), PairBuffer]
    for (block <- blocks) {
      var group: PairBuffer = null
      var lastGraph, lastPredicate = 0L
      var i = 0
      while (i < block.size) {
        val g = block.graph(i)
        val p = block.predicate(i)
        if (group == null || g != lastGraph || p != lastPredicate) {
          lastGraph = g
          lastPredicate = p
          group = groups.getOrElseUpdate((g, p), new PairBuffer)
        }
        group.add(block.subject(i), block.obj(i))
        i += 1
      }
    }
    val row = new UnsafeRow(4)
    row.pointTo(new Array[Byte](8 + 4 * 8), 8 + 4 * 8)
    groups.keys.toArray.sorted.iterator.flatMap { key =>
      val pairs = groups.remove(key).get
      pairs.sort()
      distinctRows(pairs, key._1, key._2, row, counted)
    }
  }

  private def distinctRows(pairs: PairBuffer, g: Long, p: Long, row: UnsafeRow,
      counted: (Long, Long, Long) => Unit): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var at = 0
    private var emitted = 0L
    override def hasNext: Boolean = {
      val more = at < pairs.size
      if (!more && emitted > 0) { counted(g, p, emitted); emitted = 0 }
      more
    }
    override def next(): InternalRow = {
      row.setLong(0, g)
      row.setLong(1, p)
      row.setLong(2, pairs.left(at))
      row.setLong(3, pairs.right(at))
      val from = at
      at += 1
      while (at < pairs.size && pairs.left(at) == pairs.left(from) && pairs.right(at) == pairs.right(from)) at += 1
      emitted += 1
      row
    }
  }

  private final class TaskPartitioner(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  }
}
