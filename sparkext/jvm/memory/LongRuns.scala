package org.apache.spark.sql.cqels
package memory

import java.io.{ObjectInput, ObjectOutput}
import java.nio.ByteBuffer

/** Writing and reading arrays of numbers in blocks: object streams are slow number by number. */
private[cqels] object LongRuns {

  private final val Block = 8192

  def write(values: Array[Long], out: ObjectOutput): Unit = {
    val buffer = ByteBuffer.allocate(Block * 8)
    var from = 0
    while (from < values.length) {
      val count = math.min(Block, values.length - from)
      buffer.clear().asLongBuffer.put(values, from, count)
      out.write(buffer.array, 0, count * 8)
      from += count
    }
  }

  def read(count: Int, in: ObjectInput): Array[Long] = {
    val values = new Array[Long](count)
    val buffer = ByteBuffer.allocate(Block * 8)
    var from = 0
    while (from < count) {
      val block = math.min(Block, count - from)
      in.readFully(buffer.array, 0, block * 8)
      buffer.clear().asLongBuffer.get(values, from, block)
      from += block
    }
    values
  }

  def writeInts(values: Array[Int], out: ObjectOutput): Unit = {
    val buffer = ByteBuffer.allocate(Block * 4)
    var from = 0
    while (from < values.length) {
      val count = math.min(Block, values.length - from)
      buffer.clear().asIntBuffer.put(values, from, count)
      out.write(buffer.array, 0, count * 4)
      from += count
    }
  }

  def readInts(count: Int, in: ObjectInput): Array[Int] = {
    val values = new Array[Int](count)
    val buffer = ByteBuffer.allocate(Block * 4)
    var from = 0
    while (from < count) {
      val block = math.min(Block, count - from)
      in.readFully(buffer.array, 0, block * 4)
      buffer.clear().asIntBuffer.get(values, from, block)
      from += block
    }
    values
  }
}

/** The filled part of an array of numbers, written with its length in front. */
private[cqels] object LongArrayIO {

  def write(out: ObjectOutput, values: Array[Long], n: Int): Unit = {
    out.writeInt(n)
    LongRuns.write(if (n == values.length) values else java.util.Arrays.copyOf(values, n), out)
  }

  def read(in: ObjectInput): Array[Long] = LongRuns.read(in.readInt(), in)
}
