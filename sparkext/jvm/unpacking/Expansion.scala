package org.apache.spark.sql.cqels
package unpacking

import java.io.{FilterInputStream, IOException, InputStream}

/** How many bytes may come out of a packed file: some from any, then at most `most` times as many as were taken from it. */
private[cqels] object Expansion {
  final val Free = 64L << 20

  /** The same words as in `static_data.limits.expansion`. */
  def check(packed: Long, unpacked: Long, most: Double): Unit =
    if (unpacked > Free && unpacked > most * packed) {
      val times = if (most == most.toLong) most.toLong.toString else most.toString
      throw new IOException(s"it unpacks to more than ${Free >> 20} MiB and $times times its size;" +
        " if it is sound, raise spark.cqels.load.maxExpansion")
    }
}

/** The bytes of `stream` as long as they are not too many for those that `packed` says have been taken from the file. */
private[cqels] final class BoundedInputStream(stream: InputStream, packed: () => Long, most: Double)
    extends FilterInputStream(stream) {
  private var taken = 0L

  override def read(): Int = counted(super.read(), 1)
  override def read(target: Array[Byte], from: Int, count: Int): Int = {
    val n = super.read(target, from, count)
    counted(n, n)
  }
  override def markSupported: Boolean = false

  private def counted(result: Int, bytes: Int): Int = {
    if (result >= 0) {
      taken += bytes
      Expansion.check(packed(), taken, most)
    }
    result
  }
}
