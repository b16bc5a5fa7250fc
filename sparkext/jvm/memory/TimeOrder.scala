package org.apache.spark.sql.cqels
package memory

/** Numbers in order of the times that they stand for; equal times stay in order of the numbers. */
private[cqels] object TimeOrder {
  def of(count: Int, time: Int => Long): Array[Int] = {
    var (oldest, newest, ascending) = (Long.MaxValue, Long.MinValue, true)
    var i = 0
    while (i < count) {
      val t = time(i)
      if (t < newest) ascending = false
      newest = math.max(newest, t)
      oldest = math.min(oldest, t)
      i += 1
    }
    if (ascending) Array.range(0, count)
    else if (newest - oldest >= 0 && newest - oldest < Int.MaxValue) {
      val keys = new Array[Long](count)
      i = 0
      while (i < count) { keys(i) = ((time(i) - oldest) << 32) | i; i += 1 }
      java.util.Arrays.sort(keys)
      val order = new Array[Int](count)
      i = 0
      while (i < count) { order(i) = keys(i).toInt; i += 1 }
      order
    } else Array.range(0, count).sortBy(time) // stable
  }
}
