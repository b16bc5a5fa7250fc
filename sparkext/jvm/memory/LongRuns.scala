package org.apache.spark.sql.cqels
package memory

import java.io.{ObjectInput, ObjectOutput}
import java.nio.ByteBuffer

/** Writing and reading arrays of numbers in blocks: object streams are slow number by number. */
private[cqels] object LongRuns {

  private final val Block = 8192

  def write(values: Array[Long], out: ObjectOutput): Unit = write(values, values.length, out)

  /** The first `length` of them. */
  def write(values: Array[Long], length: Int, out: ObjectOutput): Unit = {
    val buffer = ByteBuffer.allocate(Block * 8)
    var from = 0
    while (from < length) {
      val count = math.min(Block, length - from)
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
    LongRuns.write(values, n, out)
  }

  def read(in: ObjectInput): Array[Long] = LongRuns.read(in.readInt(), in)
}

/** Columns of numbers, of which those with few different ones take a byte a row, and those with one nothing. */
private[cqels] object LongColumns {
  private final val Most = 256
  private final val Slots = 1024

  /** Writes the first `length` numbers; how many they are is not written. */
  def write(values: Array[Long], length: Int, out: ObjectOutput): Unit = {
    val different = new Array[Long](Most)
    val places = new Array[Byte](length)
    val count = place(values, length, different, places)
    out.writeInt(count)
    if (count == 0) LongRuns.write(values, length, out)
    else {
      LongRuns.write(different, count, out)
      if (count > 1) out.write(places, 0, length)
    }
  }

  /** Reads so many numbers into an array with room for `room`. */
  def read(length: Int, room: Int, in: ObjectInput): Array[Long] = {
    val count = in.readInt()
    if (count == 0) {
      val values = LongRuns.read(length, in)
      if (room == length) values else java.util.Arrays.copyOf(values, room)
    } else {
      val different = LongRuns.read(count, in)
      val values = new Array[Long](room)
      if (count == 1) java.util.Arrays.fill(values, 0, length, different(0))
      else {
        val places = new Array[Byte](length)
        in.readFully(places)
        var i = 0
        while (i < length) { values(i) = different(places(i) & 0xff); i += 1 }
      }
      values
    }
  }

  /** Puts the different numbers into `different` and where each stands there into `places`; their count, 0 for too many or none. */
  private def place(values: Array[Long], length: Int, different: Array[Long], places: Array[Byte]): Int = {
    val slots = new Array[Short](Slots) // places, from 1
    var count, i, last = 0
    while (i < length) {
      val value = values(i)
      if (count == 0 || different(last) != value) {
        var slot = (KeyHash.spread(value) >>> 54).toInt
        while (slots(slot) != 0 && different(slots(slot) - 1) != value) slot = (slot + 1) & (Slots - 1)
        if (slots(slot) == 0) {
          if (count == Most) return 0
          different(count) = value
          count += 1
          slots(slot) = count.toShort
        }
        last = slots(slot) - 1
      }
      places(i) = last.toByte
      i += 1
    }
    count
  }
}
