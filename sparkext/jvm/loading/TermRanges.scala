package org.apache.spark.sql.cqels
package loading

import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.terms.{TermBlock, TermEncoder, TermHasher}

/** The terms of encoded blocks, each once: a term that many blocks have noted is compared by the tasks, not by the driver.
 *
 *  Terms go to ranges by where a dictionary layer will look for them first, so that the driver, who takes one range after
 *  the other, fills the layer from one end to the other. Two texts with one id stay both.
 */
private[loading] object TermRanges {
  /** A range of terms, repeated ones included, fits the caches of a core at about this size. */
  private final val BytesPerRange = 8L << 20
  private final val MostRanges = 2048

  def count(bytes: Long): Int = math.min(bytes / BytesPerRange + 1, MostRanges.toLong).toInt

  /** The distinct terms in so many ranges, a partition for each. */
  def of(encoded: RDD[EncodedBlock], ranges: Int, hasher: TermHasher): RDD[TermBlock] =
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
