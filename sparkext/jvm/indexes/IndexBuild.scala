package org.apache.spark.sql.cqels
package indexes

import scala.collection.mutable

import org.apache.spark.{Partitioner, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.loading.PairBuffer
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.spark.Jobs

/** Makes indexes of a table in one Spark job: its pairs go to their blocks, and each block is sorted and written by one task. */
private[indexes] object IndexBuild {
  private final val PairsSent = 4096

  /** Writes the indexes by `columns` (0: subjects, 1: objects) into `folders`; `rows` is how many (subject, object) there are.
   *
   *  All rows of a key are in one block. Throws [[OversizedIndex]], with no index written, where one would be of more than `most` words.
   */
  def run(sc: SparkContext, pairs: RDD[InternalRow], rows: Long, columns: Array[Int], folders: Array[String], most: Int): Unit = {
    val count = IndexLayout.blocksFor(rows)
    val conf = Jobs.sendHadoopConf(sc)
    // What is not known yet of blocks: where they are is.
    val plans = folders.map(new IndexLayout(_, Array.fill(count)(BlockLayout(1, 1, 0, 0, 0, unique = false))))
    val sent = pairs.mapPartitions(deal(_, columns, plans.head.blockBits)).partitionBy(new BlockPartitioner(columns.length * count))
    val written = sent.mapPartitionsWithIndex { (part, chunks) =>
      val buffer = new PairBuffer
      // A row takes a word at least: what is too much for the file is not collected.
      val fits = chunks.forall { case (_, cells) =>
        val taken = buffer.size + cells.length / 2 <= most
        if (taken) { var i = 0; while (i < cells.length) { buffer.add(cells(i), cells(i + 1)); i += 2 } }
        taken
      }
      val layout =
        if (fits) BlockWriter.write(buffer, plans(part / count), part % count, TaskContext.get().taskAttemptId(), Jobs.confOf(conf), most) else null
      Iterator.single((part, layout))
    }.collect().toMap
    val oversized = plans.indices.find(n => (0 until count).exists(b => written(n * count + b) == null))
    if (oversized.isEmpty) for ((plan, n) <- plans.zipWithIndex)
      IndexLayout.write(new IndexLayout(plan.folder, Array.tabulate(count)(b => written(n * count + b))), sc.hadoopConfiguration)
    conf.destroy()
    for (n <- oversized)
      throw new OversizedIndex(s"${folders(n)}: a block would be larger than ${8L * most} bytes: too many rows of one key")
  }

  private def deal(rows: Iterator[InternalRow], columns: Array[Int], blockBits: Int): Iterator[(Int, Array[Long])] = {
    val blocks = 1 << blockBits
    new Iterator[(Int, Array[Long])] {
      private val held = new Array[Array[Long]](columns.length * blocks)
      private val used = new Array[Int](held.length)
      private val full = mutable.Queue[Int]() // those that are to be sent: one row may fill two
      private var rest = 0 // as far as those have been looked at that are not full

      private def take(): Unit = while (full.isEmpty && rows.hasNext) {
        val row = rows.next()
        var c = 0
        while (c < columns.length) {
          val hash = KeyHash.mix(0L, row.getLong(columns(c)))
          val b = c * blocks + IndexLayout.blockOf(hash, blockBits)
          if (held(b) == null) held(b) = new Array[Long](64)
          else if (used(b) == held(b).length) held(b) = java.util.Arrays.copyOf(held(b), used(b) * 2)
          held(b)(used(b)) = BlockWriter.ordered(hash)
          held(b)(used(b) + 1) = row.getLong(1 - columns(c))
          used(b) += 2
          if (used(b) == 2 * PairsSent) full += b
          c += 1
        }
      }
      override def hasNext: Boolean = {
        take()
        if (full.isEmpty) { while (rest < held.length && used(rest) == 0) rest += 1; if (rest < held.length) full += rest }
        full.nonEmpty
      }
      override def next(): (Int, Array[Long]) = {
        if (!hasNext) throw new NoSuchElementException
        val b = full.dequeue()
        val cells = java.util.Arrays.copyOf(held(b), used(b))
        used(b) = 0
        (b, cells)
      }
    }
  }

  private final class BlockPartitioner(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  }
}
