package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.{IdRow, LongTable}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.util.collection.OpenHashSet

/** Breadth-first search over steps by key; what was found from a start is remembered while there is room. */
final class PathReach(relation: Any, keyArity: Int, toAt: Int, zero: Boolean, many: Boolean) {
  private val steps = IdRelation.lookUp(relation)
  private val key = new IdRow(keyArity)
  private val remembered = new java.util.HashMap[AnyRef, Array[Long]]()
  private var rememberedCells = 0L

  /** All ends from the start that a row holds at these places; none where one of them is unbound. */
  def from(row: InternalRow, places: Array[Int]): Array[Long] = {
    var i = 0
    while (i < places.length) { if (row.isNullAt(places(i))) return Array.emptyLongArray; i += 1 }
    val start = row.getLong(places.last)
    i = 0
    while (i < places.length) { key.set(i, row.getLong(places(i))); i += 1 }
    val known: AnyRef = if (places.length == 1) Long.box(start) else places.toSeq.map(row.getLong)
    val before = remembered.get(known)
    if (before != null) return before
    val found = search(start)
    if (rememberedCells > PathReach.MostRemembered) { remembered.clear(); rememberedCells = 0 }
    remembered.put(known, found)
    rememberedCells += found.length + 8
    found
  }

  private var found = new Array[Long](16)
  private var count = 0
  private var seen: OpenHashSet[Long] = _

  private def search(start: Long): Array[Long] = {
    seen = new OpenHashSet[Long](16)
    count = 0
    if (zero) note(start)
    if (!zero || !many) step(start)
    if (many) {
      var at = 0
      while (at < count) { step(found(at)); at += 1 }
    }
    seen = null
    java.util.Arrays.copyOf(found, count)
  }

  private def step(from: Long): Unit = {
    key.set(keyArity - 1, from)
    val next = steps(key.row)
    if (next != null) while (next.hasNext) note(next.next().getLong(toAt))
  }

  private def note(id: Long): Unit = if (!seen.contains(id)) {
    seen.add(id)
    if (count == found.length) found = java.util.Arrays.copyOf(found, count * 2)
    found(count) = id
    count += 1
  }
}

object PathReach {
  private final val MostRemembered = 4L << 20

  /** How many pairs any number of steps connects, `most` + 1 when there are more; rows are (.., from, to). */
  def pairs(steps: LongTable, most: Long): Long = {
    val (columns, keys) = (Array.range(0, steps.arity), Array.range(0, steps.arity - 1))
    val reach = new PathReach(StaticIndex.build(steps, null, columns, keys), keys.length, keys.length, zero = false, many = true)
    var total = 0L
    val row = new IdRow(keys.length)
    val done = new java.util.HashSet[Seq[Long]]()
    var r = 0
    while (r < steps.rowCount && total <= most) {
      val start = keys.toSeq.map(steps(r, _))
      if (done.add(start)) {
        keys.foreach(c => row.set(c, start(c)))
        total += reach.from(row.row, keys).length
      }
      r += 1
    }
    math.min(total, most + 1)
  }
}
