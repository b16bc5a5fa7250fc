package org.apache.spark.sql.cqels
package loading

import java.util.PriorityQueue

import scala.collection.mutable

import org.apache.spark.HashPartitioner
import org.apache.spark.sql.cqels.terms.TermCodec
import org.apache.spark.sql.DataFrame

/** Counts of values per graph, predicate and column, for all of them in one Spark job. */
object CatalogueCounts {
  final val Subject = 0
  final val Object = 1

  /** Counts the values of the distinct quads (s, p, o, g).
   *
   *  Returns rows of: column (0 subject, 1 object), graph, predicate (0: all together), rows, distinct values, rows of
   *  the most frequent value, rows with a literal, then the `top` most frequent values, each followed by its rows.
   */
  def count(quads: DataFrame, top: Int, tasks: Int): Array[Array[Long]] = {
    val partial = QuadTables.blocks(quads)
      .mapPartitions(scatter(_, tasks))
      .partitionBy(new HashPartitioner(tasks))
      .mapPartitions(blocks => countBlocks(blocks.map(_._2), top))
      .collect()
    merged(partial, top)
  }

  /** The same for few quads, in this thread. */
  private[cqels] def countHere(quads: QuadBlock, top: Int): Array[Array[Long]] =
    merged(countBlocks(scatter(Iterator.single(quads), 1).map(_._2), top).toArray, top)

  private def merged(partial: Array[Array[Long]], top: Int): Array[Array[Long]] = {
    val merged = new mutable.HashMap[(Long, Long, Long), ValueCounts]
    for (part <- partial) {
      val key = (part(0), part(1), part(2))
      merged.getOrElseUpdate(key, new ValueCounts(top)).merge(part)
    }
    merged.toArray.sortBy(_._1).map { case ((column, g, p), counts) => counts.row(column, g, p) }
  }

  /** A value goes to one task whatever its predicate, so that counts per graph fall out as well. */
  private def scatter(blocks: Iterator[QuadBlock], tasks: Int): Iterator[(Int, QuadBlock)] =
    blocks.flatMap { block =>
      val parts = Array.fill(tasks)(new QuadBlock)
      def send(value: Long, column: Int, i: Int): Unit =
        parts(Math.floorMod(QuadTables.mix(value), tasks)).add(value, block.predicate(i), column, block.graph(i))
      // One column after the other: each is then written as one number.
      var i = 0
      while (i < block.size) { send(block.subject(i), Subject, i); i += 1 }
      i = 0
      while (i < block.size) { send(block.obj(i), Object, i); i += 1 }
      parts.iterator.zipWithIndex.collect { case (part, task) if part.size > 0 => (task, part) }
    }

  private def countBlocks(blocks: Iterator[QuadBlock], top: Int): Iterator[Array[Long]] = {
    val groups = new mutable.HashMap[(Long, Long), PairBuffer]
    for (block <- blocks) {
      var group: PairBuffer = null
      var lastColumn, lastGraph = -1L
      var i = 0
      while (i < block.size) {
        if (group == null || block.obj(i) != lastColumn || block.graph(i) != lastGraph) {
          lastColumn = block.obj(i)
          lastGraph = block.graph(i)
          group = groups.getOrElseUpdate((lastColumn, lastGraph), new PairBuffer)
        }
        group.add(block.subject(i), block.predicate(i))
        i += 1
      }
    }
    groups.keys.toArray.sorted.iterator.flatMap { case (column, g) =>
      val pairs = groups.remove((column, g)).get
      pairs.sort()
      val all = new ValueCounts(top)
      val byPredicate = new mutable.LongMap[ValueCounts]
      var i = 0
      while (i < pairs.size) {
        val value = pairs.left(i)
        val first = i
        while (i < pairs.size && pairs.left(i) == value) {
          val p = pairs.right(i)
          val from = i
          while (i < pairs.size && pairs.left(i) == value && pairs.right(i) == p) i += 1
          byPredicate.getOrElseUpdate(p, new ValueCounts(top)).add(value, i - from)
        }
        all.add(value, i - first)
      }
      Iterator.single(all.row(column, g, 0L)) ++ byPredicate.iterator.map { case (p, counts) => counts.row(column, g, p) }
    }
  }
}

/** How often values occur: totals and the most frequent ones; of equally frequent ones those with the smaller id. */
private[cqels] final class ValueCounts(top: Int) {
  private var rows = 0L
  private var distinct = 0L
  private var literals = 0L
  // Least frequent first.
  private val heap = new PriorityQueue[(Long, Long)](top + 1, (a: (Long, Long), b: (Long, Long)) =>
    if (a._2 != b._2) java.lang.Long.compare(a._2, b._2) else java.lang.Long.compare(b._1, a._1))

  def add(value: Long, n: Long): Unit = {
    rows += n
    distinct += 1
    if (TermCodec.isLiteral(value)) literals += n
    offer(value, n)
  }

  private def offer(value: Long, n: Long): Unit =
    if (heap.size < top || n >= heap.peek()._2) {
      heap.add((value, n))
      if (heap.size > top) heap.poll()
    }

  def merge(row: Array[Long]): Unit = {
    rows += row(3)
    distinct += row(4)
    literals += row(6)
    for (i <- 7 until row.length by 2) offer(row(i), row(i + 1))
  }

  def row(column: Long, graph: Long, predicate: Long): Array[Long] = {
    val frequent = heap.toArray(new Array[(Long, Long)](0)).sortBy { case (value, n) => (-n, value) }
    val most = if (frequent.isEmpty) 0L else frequent(0)._2
    Array(column, graph, predicate, rows, distinct, most, literals) ++ frequent.flatMap { case (value, n) => Array(value, n) }
  }
}
