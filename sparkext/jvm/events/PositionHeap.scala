package org.apache.spark.sql.cqels
package events

/** Rows by position, the least first: what leaves a window next.
 *
 *  Positions mostly ascend: a row whose position is not below those before waits in a queue, the others in a heap. A row
 *  that has left otherwise stays in it; whoever takes rows out looks whether they are still there.
 */
private[events] final class PositionHeap {
  private var queuePositions = new Array[Long](64) // a ring
  private var queueRows = new Array[Int](64)
  private var first = 0
  private var queued = 0
  private var positions = new Array[Long](16)
  private var rows = new Array[Int](16)
  private var count = 0

  def size: Int = queued + count
  def memoryBytes: Long = 12L * (positions.length + queuePositions.length)
  def least: Long = math.min(leastQueued, leastHeaped)
  def leastRow: Int = if (leastQueued <= leastHeaped) queueRows(first) else rows(0)

  @inline private def leastQueued: Long = if (queued == 0) Long.MaxValue else queuePositions(first)
  @inline private def leastHeaped: Long = if (count == 0) Long.MaxValue else positions(0)

  def add(position: Long, row: Int): Unit =
    if (queued > 0 && position < queuePositions((first + queued - 1) & (queueRows.length - 1))) addBelow(position, row)
    else {
      if (queued == queueRows.length) setQueue(queued * 2)
      val at = (first + queued) & (queueRows.length - 1)
      queuePositions(at) = position
      queueRows(at) = row
      queued += 1
    }

  def removeLeast(): Unit =
    if (leastQueued > leastHeaped) removeHeaped()
    else {
      first = (first + 1) & (queueRows.length - 1)
      queued -= 1
      if (queueRows.length > 4096 && queued < queueRows.length / 8) setQueue(queueRows.length / 2)
    }

  private def setQueue(capacity: Int): Unit = {
    val (oldPositions, oldRows) = (queuePositions, queueRows)
    queuePositions = new Array[Long](capacity)
    queueRows = new Array[Int](capacity)
    var i = 0
    while (i < queued) {
      val at = (first + i) & (oldRows.length - 1)
      queuePositions(i) = oldPositions(at)
      queueRows(i) = oldRows(at)
      i += 1
    }
    first = 0
  }

  private def addBelow(position: Long, row: Int): Unit = {
    if (count == positions.length) setHeap(count * 2)
    var at = count
    count += 1
    while (at > 0 && positions((at - 1) >>> 1) > position) {
      val above = (at - 1) >>> 1
      positions(at) = positions(above)
      rows(at) = rows(above)
      at = above
    }
    positions(at) = position
    rows(at) = row
  }

  private def removeHeaped(): Unit = {
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
    if (positions.length > 4096 && count < positions.length / 8) setHeap(positions.length / 2)
  }

  private def setHeap(capacity: Int): Unit = {
    positions = java.util.Arrays.copyOf(positions, capacity)
    rows = java.util.Arrays.copyOf(rows, capacity)
  }
}
