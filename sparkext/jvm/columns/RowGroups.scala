package org.apache.spark.sql.cqels
package columns

import org.apache.spark.sql.cqels.memory.KeyHash

/** Numbers of rows by graph and time, in the order in which these first occur; a row without a graph (0) is alone. */
private[cqels] final class RowGroups(most: Int) {
  private val rows = new Array[Int](most)
  private val groups = new Array[Int](most)
  private var used = 0
  private var graphs = new Array[Long](64)
  private var times = new Array[Long](64)
  private var count = 0
  private var slots = new Array[Int](256)
  private var last = 0 // the group of the row before
  private var inOrder = true

  def add(row: Int, graph: Long, time: Long): Unit = {
    val group =
      if (graph == 0) begin(graph, time)
      else if (used > 0 && graphs(last) == graph && times(last) == time) last
      else find(graph, time)
    inOrder &&= group >= last
    rows(used) = row
    groups(used) = group
    used += 1
    last = group
  }

  /** Gives the rows of each group, as they were added: an array, and where in it they begin and end. */
  def each(take: (Array[Int], Int, Int) => Unit): Unit = {
    val ends = new Array[Int](count + 1)
    var i = 0
    while (i < used) { ends(groups(i)) += 1; i += 1 }
    var at = 0
    i = 0
    while (i <= count) { val n = ends(i); ends(i) = at; at += n; i += 1 }
    val sorted =
      if (inOrder) rows
      else {
        val next = ends.clone
        val placed = new Array[Int](used)
        i = 0
        while (i < used) { placed(next(groups(i))) = rows(i); next(groups(i)) += 1; i += 1 }
        placed
      }
    i = 0
    while (i < count) { take(sorted, ends(i), ends(i + 1)); i += 1 }
  }

  private def find(graph: Long, time: Long): Int = {
    var mask = slots.length - 1
    var slot = slotOf(graph, time, mask)
    while (slots(slot) != 0 && !(graphs(slots(slot) - 1) == graph && times(slots(slot) - 1) == time)) slot = (slot + 1) & mask
    if (slots(slot) != 0) slots(slot) - 1
    else {
      val group = begin(graph, time)
      slots(slot) = group + 1
      if (2 * count > slots.length) {
        slots = new Array[Int](slots.length * 4)
        mask = slots.length - 1
        var g = 0
        while (g < count) {
          if (graphs(g) != 0) {
            slot = slotOf(graphs(g), times(g), mask)
            while (slots(slot) != 0) slot = (slot + 1) & mask
            slots(slot) = g + 1
          }
          g += 1
        }
      }
      group
    }
  }

  private def begin(graph: Long, time: Long): Int = {
    if (count == graphs.length) {
      graphs = java.util.Arrays.copyOf(graphs, count * 2)
      times = java.util.Arrays.copyOf(times, count * 2)
    }
    graphs(count) = graph
    times(count) = time
    count += 1
    count - 1
  }

  private def slotOf(graph: Long, time: Long, mask: Int): Int = (KeyHash.mix(graph, time) >>> 32).toInt & mask
}
