package org.apache.spark.sql.cqels
package loading

import java.util.{List => JList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID}
import org.apache.spark.sql.cqels.dictionary.ChangeTerms
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** The distinct pairs (subject, object) of one graph and predicate in the driver's memory, sorted: what small files
 *  become in place of Parquet.
 */
final class MemoryTable private[cqels] (val graph: Long, val predicate: Long, private[cqels] val pairs: LongTable) {
  def rows: Long = pairs.rowCount.toLong
}

object MemoryTables {
  private val pairSchema = StructType(Seq("s", "o").map(StructField(_, LongType, nullable = false)))

  /** The quads of `blocks` by graph and predicate, merged with the pairs of `known` tables. */
  private[cqels] def of(blocks: Iterable[QuadBlock], known: Iterable[MemoryTable]): Array[MemoryTable] = {
    val groups = new mutable.HashMap[(Long, Long), PairBuffer]
    for (block <- blocks; i <- 0 until block.size)
      groups.getOrElseUpdate((block.graph(i), block.predicate(i)), new PairBuffer).add(block.subject(i), block.obj(i))
    for (table <- known; group <- groups.get((table.graph, table.predicate)); i <- 0 until table.pairs.rowCount)
      group.add(table.pairs(i, 0), table.pairs(i, 1))
    groups.toArray.sortBy(_._1).map { case ((graph, predicate), pairs) =>
      pairs.sort()
      val distinct = new LongTable(2, pairs.size)
      for (i <- 0 until pairs.size)
        if (i == 0 || pairs.left(i) != pairs.left(i - 1) || pairs.right(i) != pairs.right(i - 1)) {
          val at = distinct.appendRow()
          distinct.set(at, pairs.left(i))
          distinct.set(at + 1, pairs.right(i))
        }
      new MemoryTable(graph, predicate, distinct)
    }
  }

  /** A table after an edit; `known` may be null: all rows are in `added` then. Ids are as `ChangeTerms` has them. */
  def edited(known: MemoryTable, graph: Long, predicate: Long, added: Array[Byte], removed: Array[Byte]): MemoryTable = {
    val gone = pairs(removed).toSet
    val left = new QuadBlock
    if (known != null) for (i <- 0 until known.pairs.rowCount; pair = (known.pairs(i, 0), known.pairs(i, 1)) if !gone(pair))
      left.add(pair._1, predicate, pair._2, graph)
    for ((s, o) <- pairs(added)) left.add(s, predicate, o, graph)
    of(Seq(left), Nil).headOption.getOrElse(new MemoryTable(graph, predicate, new LongTable(2)))
  }

  private def pairs(cells: Array[Byte]): Iterator[(Long, Long)] = {
    val ids = ChangeTerms.numbers(cells)
    Iterator.range(0, ids.length, 2).map(i => (ids(i), ids(i + 1)))
  }

  /** The pairs of a table as bytes, ids as `ChangeTerms` has them. */
  def cells(table: MemoryTable): Array[Byte] = ChangeTerms.bytes(table.pairs)

  /** All rows (s, p, o, g) of some tables as a DataFrame that is computed without a Spark job. */
  def frame(session: SparkSession, tables: JList[MemoryTable]): Dataset[Row] =
    frame(session, for (t <- tables.asScala.iterator; i <- (0 until t.pairs.rowCount).iterator)
      yield row(t.pairs(i, 0), t.predicate, t.pairs(i, 1), t.graph))

  /** The same of rows whose ids are side by side in `cells`. */
  def frame(session: SparkSession, cells: Array[Byte]): Dataset[Row] = {
    val ids = ChangeTerms.numbers(cells)
    frame(session, Iterator.range(0, ids.length, 4).map(i => row(ids(i), ids(i + 1), ids(i + 2), ids(i + 3))))
  }

  private def frame(session: SparkSession, rows: Iterator[InternalRow]): Dataset[Row] = {
    val output = Seq("s", "p", "o", "g").map(AttributeReference(_, LongType, nullable = false)())
    Frames.of(session, LocalRelation(output, rows.toSeq))
  }

  private def row(ids: Long*): InternalRow = {
    val row = new UnsafeRow(4)
    row.pointTo(new Array[Byte](40), 40)
    var c = 0
    while (c < 4) { row.setLong(c, ids(c)); c += 1 }
    row
  }

  /** All quads (s, p, o, g) of some tables; `merged`: those of several graphs as of one, whose id is 0. */
  private[cqels] def quads(tables: JList[MemoryTable], merged: Boolean): LongTable = {
    val quads = new LongTable(4, math.max(1, tables.asScala.map(_.pairs.rowCount).sum))
    def add(table: MemoryTable, graph: Long): Unit = for (i <- 0 until table.pairs.rowCount) {
      val at = quads.appendRow()
      quads.set(at, table.pairs(i, 0))
      quads.set(at + 1, table.predicate)
      quads.set(at + 2, table.pairs(i, 1))
      quads.set(at + 3, graph)
    }
    if (!merged) tables.asScala.foreach(table => add(table, table.graph))
    else for ((predicate, same) <- tables.asScala.groupBy(_.predicate).toSeq.sortBy(_._1)) {
      val block = new QuadBlock
      for (table <- same; i <- 0 until table.pairs.rowCount) block.add(table.pairs(i, 0), predicate, table.pairs(i, 1), 0L)
      of(Seq(block), Nil).foreach(add(_, 0L))
    }
    quads
  }

  /** Writes each table that has rows into `folder`, as QuadTables.write does, and says the same of them; without a Spark job. */
  def write(session: SparkSession, tables: JList[MemoryTable], folder: String): Array[Array[Long]] = {
    val job = Job.getInstance(session.sessionState.newHadoopConfWithOptions(QuadTables.options))
    val files = new ParquetFileFormat().prepareWrite(session, job, QuadTables.options, pairSchema)
    val task = new TaskAttemptContextImpl(job.getConfiguration, new TaskAttemptID)
    val pair = new UnsafeRow(2)
    pair.pointTo(new Array[Byte](24), 24)
    for (table <- tables.asScala.toArray if table.rows > 0) yield {
      val inside = s"graph=${table.graph}/predicate=${table.predicate}/part-00000${files.getFileExtension(task)}"
      val file = files.newInstance(new Path(folder, inside).toString, pairSchema, task)
      try for (i <- 0 until table.pairs.rowCount) {
        for (c <- 0 to 1) pair.setLong(c, table.pairs(i, c))
        file.write(pair)
      } finally file.close()
      Array(table.graph, table.predicate, table.rows)
    }
  }

  /** The catalogue's counts of some tables, see CatalogueCounts.count: a line of numbers for each of its rows. */
  def counts(tables: JList[MemoryTable], top: Int): String = {
    val block = new QuadBlock
    for (table <- tables.asScala; i <- 0 until table.pairs.rowCount)
      block.add(table.pairs(i, 0), table.predicate, table.pairs(i, 1), table.graph)
    CatalogueCounts.countHere(block, top).map(_.mkString(",")).mkString("\n")
  }
}
