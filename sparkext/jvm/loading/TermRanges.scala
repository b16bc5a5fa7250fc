package org.apache.spark.sql.cqels
package loading

import org.apache.spark.{Partitioner, SparkContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.terms.{TermBlock, TermEncoder, TermHasher}

/** The terms of encoded blocks on the driver, block by block, and how many different ones there may be, about. */
private[loading] final class FetchedTerms(val blocks: Iterator[TermBlock], val expected: Long)

/** The terms of encoded blocks, each once: a term that many blocks have noted is compared by the tasks, not by the driver.
 *
 *  Terms go to ranges by where a dictionary layer will look for them first, so that the driver, who takes one range after
 *  the other, fills the layer from one end to the other. Two texts with one id stay both.
 */
private[loading] object TermRanges {
  /** A range of terms, repeated ones included, fits the caches of a core at about this size. */
  private final val BytesPerRange = 8L << 20
  private final val MostRanges = 2048
  private final val FetchBytes = 64L << 20

  /** How many of so many noted terms are different ones, as a guess for what grows when it is too small. */
  def distinctOf(noted: Long): Long = noted / 3 + 1024

  /** The terms of all blocks, each about once, brought to the driver group by group as they are asked for. */
  def fetched(context: SparkContext, encoded: RDD[EncodedBlock], summaries: Array[BlockSummary], hasher: TermHasher): FetchedTerms = {
    val bytes = summaries.map(_.bytes).sum
    val ranges = math.min(bytes / BytesPerRange + 1, MostRanges.toLong).toInt
    val terms = if (ranges == 1) encoded.map(_.terms) else of(encoded, ranges, hasher)
    val partitions = terms.partitions.length
    // What a partition may have, at most.
    val each = if (ranges == 1) bytes else bytes / ranges + 1
    val allowed = context.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")
    val most = if (allowed <= 0) FetchBytes else math.min(FetchBytes, allowed / 3)
    val together = math.max(1L, math.min(most / math.max(each, 1L), partitions.toLong)).toInt
    val groups = (0 until partitions).grouped(together).map { group =>
      context.runJob(terms, (blocks: Iterator[TermBlock]) => blocks.toArray, group).flatten
    }.buffered
    val expected =
      if (ranges == 1) distinctOf(summaries.map(_.terms.toLong).sum)
      else whole(groups.head.map(_.count.toLong).sum, together, ranges)
    new FetchedTerms(groups.flatMap(_.iterator), expected)
  }

  /** How many terms all ranges have, when some have so many: ranges are parts of equal size of what hashes can be.
   *
   *  A layer that is filled from one end and has too few slots grows too late: where its load is more than one, a term
   *  looks for its slot past all before it.
   */
  private[loading] def whole(found: Long, of: Int, ranges: Int): Long =
    ((found + 4 * math.sqrt(found.toDouble) + 16) * ranges / of).toLong

  /** The distinct terms in so many ranges, a partition for each. */
  private def of(encoded: RDD[EncodedBlock], ranges: Int, hasher: TermHasher): RDD[TermBlock] =
    encoded.mapPartitions(_.flatMap(block => divided(block.terms, ranges)))
      .partitionBy(new RangeNumbers(ranges))
      .mapPartitions { blocks =>
        val terms = new TermEncoder(hasher)
        blocks.foreach { case (_, block) => terms.note(block) }
        Iterator.single(terms.takeBlock())
      }

  private def divided(terms: TermBlock, ranges: Int): Iterator[(Int, TermBlock)] = {
    val parts = new Array[TermBlock](ranges)
    var i = 0
    while (i < terms.count) {
      val range = ((KeyHash.spread(terms.ids(i)) >>> 32) * ranges >>> 32).toInt
      if (parts(range) == null) parts(range) = new TermBlock
      parts(range).add(terms.ids(i), terms.texts, terms.start(i), terms.ends(i))
      i += 1
    }
    parts.iterator.zipWithIndex.collect { case (part, range) if part != null => (range, part) }
  }

  private final class RangeNumbers(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  }
}
