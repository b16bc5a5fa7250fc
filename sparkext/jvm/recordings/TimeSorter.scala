package org.apache.spark.sql.cqels
package recordings

import java.util.{ArrayDeque, PriorityQueue}

/** Elements of which the oldest comes out first, as they came where their times are equal; or, `inTimeOrder` or not, as they came. */
private[cqels] final class TimeSorter(inTimeOrder: Boolean) {
  // Nearly all come in order: they need no heap.
  private val run = new ArrayDeque[ReplayElement]()
  private val others = new PriorityQueue[ReplayElement](16, TimeSorter.Order)
  /** Of their texts, and what else they take, about. */
  var bytes = 0L

  def size: Int = run.size + others.size

  def add(element: ReplayElement): Unit = {
    bytes += element.bytes + TimeSorter.Overhead
    if (!inTimeOrder || run.isEmpty || element.time >= run.peekLast.time) run.add(element) else others.add(element)
  }

  def peek: ReplayElement = if (isRunNext) run.peek else others.peek

  def poll(): ReplayElement = {
    val element = if (isRunNext) run.poll() else others.poll()
    if (element != null) bytes -= element.bytes + TimeSorter.Overhead
    element
  }

  def foreach(action: ReplayElement => Unit): Unit = {
    run.forEach(e => action(e))
    others.forEach(e => action(e))
  }

  private def isRunNext: Boolean = others.isEmpty || !run.isEmpty && TimeSorter.Order.compare(run.peek, others.peek) < 0
}

private object TimeSorter {
  final val Overhead = 200L
  val Order: java.util.Comparator[ReplayElement] = (a, b) => {
    val byTime = java.lang.Long.compare(a.time, b.time)
    if (byTime != 0) byTime else java.lang.Long.compare(a.number, b.number)
  }
}
