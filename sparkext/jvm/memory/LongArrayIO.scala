package org.apache.spark.sql.cqels
package memory

import java.io.{ObjectInput, ObjectOutput}

/** The filled part of an array of numbers, written with its length in front. */
private[cqels] object LongArrayIO {

  def write(out: ObjectOutput, values: Array[Long], n: Int): Unit = {
    out.writeInt(n)
    LongRuns.write(if (n == values.length) values else java.util.Arrays.copyOf(values, n), out)
  }

  def read(in: ObjectInput): Array[Long] = LongRuns.read(in.readInt(), in)
}
