package org.apache.spark.sql.cqels
package unpacking

import java.io.InputStream

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Seekable
import org.apache.hadoop.io.compress.{BZip2Codec, CompressionInputStream, Decompressor, GzipCodec, SplitCompressionInputStream}
import org.apache.hadoop.io.compress.SplittableCompressionCodec.READ_MODE

/** Hadoop's readers of packed text with an end to how far it unpacks. */
private[cqels] object BoundedCodecs {
  private final val Key = "cqels.load.maxExpansion"

  /** Have files that are read with `configuration` unpack to at most `most` times their size. */
  def use(configuration: Configuration, most: Double): Unit = {
    configuration.setDouble(Key, most)
    configuration.set("io.compression.codecs", s"${classOf[BoundedGzipCodec].getName},${classOf[BoundedBZip2Codec].getName}")
  }

  def most(configuration: Configuration): Double = configuration.getDouble(Key, Double.PositiveInfinity)

  /** How many bytes have been taken from a stream from now on; of one that cannot tell, as many as you like. */
  def taken(packed: InputStream): () => Long = packed match {
    case file: Seekable =>
      val begin = file.getPos
      () => file.getPos - begin
    case _ => () => Long.MaxValue
  }
}

/** Gzip; Hadoop makes it by its name. */
final class BoundedGzipCodec extends GzipCodec {
  override def createInputStream(in: InputStream): CompressionInputStream = bounded(in, super.createInputStream(in))
  override def createInputStream(in: InputStream, decompressor: Decompressor): CompressionInputStream =
    bounded(in, super.createInputStream(in, decompressor))

  private def bounded(in: InputStream, unpacked: CompressionInputStream): CompressionInputStream =
    new BoundedStream(unpacked, BoundedCodecs.taken(in), BoundedCodecs.most(getConf))
}

/** Bzip2, of which Hadoop reads parts at once; Hadoop makes it by its name. */
final class BoundedBZip2Codec extends BZip2Codec {
  override def createInputStream(in: InputStream, decompressor: Decompressor, start: Long, end: Long,
      mode: READ_MODE): SplitCompressionInputStream = {
    val taken = BoundedCodecs.taken(in)
    new BoundedSplit(super.createInputStream(in, decompressor, start, end, mode), taken, BoundedCodecs.most(getConf))
  }
}

private final class BoundedStream(unpacked: CompressionInputStream, packed: () => Long, most: Double)
    extends CompressionInputStream(unpacked) {
  private val bounded = new BoundedInputStream(unpacked, packed, most)
  override def read(): Int = bounded.read()
  override def read(target: Array[Byte], from: Int, count: Int): Int = bounded.read(target, from, count)
  override def resetState(): Unit = unpacked.resetState()
  override def getPos: Long = unpacked.getPos
}

private final class BoundedSplit(unpacked: SplitCompressionInputStream, packed: () => Long, most: Double)
    extends SplitCompressionInputStream(unpacked, unpacked.getAdjustedStart, unpacked.getAdjustedEnd) {
  private val bounded = new BoundedInputStream(unpacked, packed, most)
  override def read(): Int = bounded.read()
  override def read(target: Array[Byte], from: Int, count: Int): Int = bounded.read(target, from, count)
  override def resetState(): Unit = unpacked.resetState()
  override def getPos: Long = unpacked.getPos
  override def getAdjustedStart: Long = unpacked.getAdjustedStart
  override def getAdjustedEnd: Long = unpacked.getAdjustedEnd
}
