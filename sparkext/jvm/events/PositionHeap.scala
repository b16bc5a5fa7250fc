package org.apache.spark.sql.cqels
package events

/** Rows by position, the least first: what leaves a window next.
 *
 *  A row that has left otherwise stays in it; whoever takes rows out looks whether they are still there.
 */
private[events] final class PositionHeap {
  private var positions = new Array[Long](64)
  private var rows = new Array[Int](64)
  private var count = 0

  def size: Int = count
  def memoryBytes: Long = 12L * positions.length
  def least: Long = if (count == 0) Long.MaxValue else positions(0)
  def leastRow: Int = rows(0)

  def add(position: Long, row: Int): Unit = {
    if (count == positions.length) {
      positions = java.util.Arrays.copyOf(positions, count * 2)
      rows = java.util.Arrays.copyOf(rows, count * 2)
    }
    var at = count
    count += 1
    // Positions mostly ascend, so that a new one stays where it is.
    while (at > 0 && positions((at - 1) >>> 1) > position) {
      val above = (at - 1) >>> 1
      positions(at) = positions(above)
      rows(at) = rows(above)
      at = above
    }
    positions(at) = position
    rows(at) = row
  }

  def removeLeast(): Unit = {
    count -= 1
    val position = positions(count)
    val row = rows(count)
    var at = 0
    var below = 1
    while (below < count) {
      if (below + 1 < count && positions(below + 1) < positions(below)) below += 1
      if (positions(below) < position) {
        positions(at) = positions(below)
        rows(at) = rows(below)
        at = below
        below = 2 * at + 1
      } else below = count
    }
    positions(at) = position
    rows(at) = row
    if (count < positions.length / 8 && positions.length > 4096) {
      positions = java.util.Arrays.copyOf(positions, positions.length / 2)
      rows = java.util.Arrays.copyOf(rows, rows.length / 2)
    }
  }

  def clear(): Unit = {
    positions = new Array[Long](64)
    rows = new Array[Int](64)
    count = 0
  }
}
