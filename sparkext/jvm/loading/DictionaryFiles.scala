package org.apache.spark.sql.cqels
package loading

import java.io.ObjectOutputStream
import java.util.{List => JList, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.cqels.dictionary.{CompactDictionary, Dictionary}
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.cqels.terms.{TermBlock, TermHasher}
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}

/** Dictionary layers as Parquet: id BIGINT and the canonical text as UTF-8. */
object DictionaryFiles {
  private final val TermsPerSlice = 1 << 18
  private val schema = StructType(Seq(StructField("id", LongType, nullable = false), StructField("text", BinaryType, nullable = false)))

  /** Writes the static terms, each once; returns how many. */
  def write(spark: SparkSession, dictionary: Dictionary, path: String): Long = {
    val layers = dictionary.staticLayers
    val slices = layers.zipWithIndex.flatMap { case (layer, i) =>
      val earlier = layers.take(i)
      slotRanges(layer).map { case (from, until) => (earlier, layer, from, until) }
    }
    val rdd = new LayerSlices(spark.sparkContext, slices.zipWithIndex.map { case ((earlier, layer, from, until), i) =>
      new LayerSlice(i, earlier, layer, from, until)
    })
    val rows = rdd.mapPartitions(_.flatMap { block =>
      Iterator.range(0, block.count).map(i => new GenericInternalRow(Array[Any](block.ids(i), block.utf8(i))): InternalRow)
    })
    Frames.ofRows(spark, rows, schema).write.parquet(path)
    spark.read.schema(schema).parquet(path).count()
  }

  private def slotRanges(layer: CompactDictionary): Array[(Int, Int)] = {
    val starts = new scala.collection.mutable.ArrayBuffer[Int]
    var slot = layer.nextSlot(-1)
    var n = 0
    while (slot >= 0) {
      if (n % TermsPerSlice == 0) starts += slot
      n += 1
      slot = layer.nextSlot(slot)
    }
    starts.toArray.zip(starts.drop(1).toArray :+ Int.MaxValue)
  }

  /** The static texts whose ids are not their plain hashes. */
  def exceptions(dictionary: Dictionary): JList[String] =
    dictionary.staticLayers.toSeq.flatMap(layer => layer.saltedSlots.map(layer.textAt)).distinct.sorted.asJava

  /** Reads what `write` wrote into one layer and adds it to `dictionary`; returns the number of terms.
   *
   *  `expected` is the number of terms, `exceptions` are the ids of the texts that have not their plain hashes. Throws [[IdCollision]] when an id
   *  contradicts the dictionary, which then stays as it was.
   */
  def read(spark: SparkSession, dictionary: Dictionary, path: String, expected: Long,
      exceptions: JMap[String, Number]): Int = {
    val byText = new java.util.HashMap[String, java.lang.Long]
    exceptions.forEach((text, id) => byText.put(text, id.longValue))
    val files = spark.read.schema(schema).parquet(path)
    // Terms come in the order of their slots: in a table that is too small at first they would all crowd at one end.
    val room = math.min(expected, Int.MaxValue.toLong).toInt
    val builder = new CompactDictionary.Builder(room, new TermHasher(dictionary.hashBits, byText))
    val blocks = files.asInstanceOf[Dataset[_]].queryExecution.toRdd.mapPartitions { rows =>
      new Iterator[TermBlock] {
        override def hasNext: Boolean = rows.hasNext
        override def next(): TermBlock = {
          val block = new TermBlock
          while (rows.hasNext && block.count < TermsPerSlice) {
            val row = rows.next()
            block.add(row.getLong(0), row.getBinary(1))
          }
          block
        }
      }
    }
    // One partition at a time, so that the driver never holds more than one beside the dictionary.
    blocks.toLocalIterator.foreach { block =>
      var i = 0
      while (i < block.count) { builder.add(block.ids(i), block.utf8(i)); i += 1 }
    }
    val layer = builder.build()
    dictionary.addStatic(layer)
    layer.size
  }
}

/** Some slots of a layer of the driver's dictionary; only their terms are sent when a task is. */
private[cqels] final class LayerSlice(override val index: Int, @transient private val earlier: Array[CompactDictionary],
    @transient private val layer: CompactDictionary, from: Int, until: Int) extends Partition {
  private var terms: TermBlock = _

  def block: TermBlock = if (terms == null) collect() else terms

  private def collect(): TermBlock = {
    val block = new TermBlock
    var slot = if (from == 0) layer.nextSlot(-1) else from
    while (slot >= 0 && slot < until) {
      val id = layer.idAt(slot)
      if (!earlier.exists(_.find(id) >= 0)) block.add(id, layer.utf8At(slot))
      slot = layer.nextSlot(slot)
    }
    block
  }

  private def writeObject(out: ObjectOutputStream): Unit = {
    terms = collect()
    out.defaultWriteObject()
    terms = null
  }
}

/** The terms of dictionary layers, block by block. */
private[cqels] final class LayerSlices(context: SparkContext, @transient private val slices: Array[LayerSlice])
    extends RDD[TermBlock](context, Nil) {
  override protected def getPartitions: Array[Partition] = slices.map(s => s: Partition)
  override def compute(split: Partition, context: TaskContext): Iterator[TermBlock] =
    Iterator.single(split.asInstanceOf[LayerSlice].block)
}
