package org.apache.spark.sql.cqels
package memory

private[cqels] final class GrowingInts(initial: Int) {
  private var values = new Array[Int](initial)
  private var used = 0
  def size: Int = used
  def apply(i: Int): Int = values(i)
  def update(i: Int, v: Int): Unit = values(i) = v
  def add(v: Int): Unit = { if (used == values.length) values = java.util.Arrays.copyOf(values, used * 2); values(used) = v; used += 1 }
}
