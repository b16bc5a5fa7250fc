package org.apache.spark.sql.cqels
package rows

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.cqels.memory.{GrowingInts, LongSlots, RowPages}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.LongType

/** An immutable index over packed rows of any columns, grouped by key. */
sealed abstract class StaticRowIndex extends IdRelation {
  def keyCount: Int
  override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
  override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
}

object StaticRowIndex {
  /** Builds the index of rows by a bound key; rows whose key has a null join nothing and are left out. */
  def build(rows: RowPages, key: Seq[Expression]): StaticRowIndex =
    if (key.length == 1 && key.head.dataType == LongType) RowsByLong.build(rows, key) else RowsByKey.build(rows, key)
}

/** The numbers of rows, those of one group beside each other. Memory: 4 bytes a row and a group. */
private[rows] final class RowGroups(order: Array[Int], starts: Array[Int]) {
  def size: Int = starts.length - 1
  def start(group: Int): Int = starts(group)
  def row(at: Int): Int = order(at)
  def memoryBytes: Long = 4L * (order.length + starts.length)
}

private[rows] object RowGroups {
  /** `group` of each row, -1 for none, and how many rows each has. */
  def of(group: Array[Int], sizes: GrowingInts): RowGroups = {
    val starts = new Array[Int](sizes.size + 1)
    var g = 0
    while (g < sizes.size) { starts(g + 1) = starts(g) + sizes(g); g += 1 }
    val order = new Array[Int](starts(sizes.size))
    val next = starts.clone()
    var r = 0
    while (r < group.length) {
      if (group(r) >= 0) { order(next(group(r))) = r; next(group(r)) += 1 }
      r += 1
    }
    new RowGroups(order, starts)
  }
}

/** The rows of one key at a time. */
private[rows] final class RowMatches(rows: RowPages, groups: RowGroups) extends Iterator[InternalRow] {
  private val row = new UnsafeRow(rows.fields)
  private var single = -1L
  private var at = 0
  private var until = 0
  def of(group: Int): RowMatches = { single = -1L; at = groups.start(group); until = groups.start(group + 1); this }
  def only(place: Long): RowMatches = { single = place; at = until; this }
  override def hasNext: Boolean = single >= 0 || at < until
  override def next(): InternalRow = {
    if (single >= 0) { rows.pointAt(row, single); single = -1L }
    else { rows.point(row, groups.row(at)); at += 1 }
    row
  }
}

/** By one long.
 *
 *  Beside a key is where its row lies if it is the only one, else which group it has: each array on the way to a row is
 *  another wait for memory.
 */
final class RowsByLong private[rows] (rows: RowPages, keys: LongSlots, groups: RowGroups) extends StaticRowIndex {
  private val found = new RowMatches(rows, groups)

  override val keyColumns: Array[Int] = Array(0)
  override def keyCount: Int = keys.size
  override def estimatedSize: Long = keys.memoryBytes + groups.memoryBytes

  // A copy a task: it re-uses its row and its iterator.
  override def asReadOnlyCopy(): RowsByLong = new RowsByLong(rows, keys, groups)

  override def get(key: Long): Iterator[InternalRow] = {
    val number = keys.get(key)
    if (number >= 0) found.only(number)
    else if (number == LongSlots.Absent) null
    else found.of(RowsByLong.numbered(number))
  }

  override protected def matches(key: InternalRow): Iterator[InternalRow] = get(key.getLong(0))
}

private[rows] object RowsByLong {
  /** Below `LongSlots.Absent`, and its own inverse. */
  private def numbered(group: Long): Int = (-2 - group).toInt

  def build(rows: RowPages, key: Seq[Expression]): RowsByLong = {
    val project = UnsafeProjection.create(key)
    val keys = new LongSlots
    val group = new Array[Int](rows.rowCount)
    val sizes = new GrowingInts(1024)
    val firstRows = new GrowingInts(1024) // of each group
    val row = new UnsafeRow(rows.fields)
    var r = 0
    while (r < group.length) {
      rows.point(row, r)
      val k = project(row)
      if (k.anyNull()) group(r) = -1
      else {
        val known = keys.get(k.getLong(0))
        if (known == LongSlots.Absent) {
          group(r) = sizes.size
          keys.put(k.getLong(0), sizes.size)
          sizes.add(1)
          firstRows.add(r)
        } else {
          group(r) = known.toInt
          sizes(group(r)) = sizes(group(r)) + 1
        }
      }
      r += 1
    }
    // Only groups of several rows are kept.
    val several = new GrowingInts(16)
    val renumbered = new Array[Int](sizes.size)
    var g = 0
    while (g < renumbered.length) {
      renumbered(g) = if (sizes(g) == 1) -1 else { several.add(sizes(g)); several.size - 1 }
      g += 1
    }
    r = 0
    while (r < group.length) { if (group(r) >= 0) group(r) = renumbered(group(r)); r += 1 }
    keys.renumber { n => if (renumbered(n.toInt) < 0) rows.placeOf(firstRows(n.toInt)) else numbered(renumbered(n.toInt)) }
    new RowsByLong(rows, keys, RowGroups.of(group, several))
  }
}

/** By any other key, whose value is kept. Memory: about 20 bytes a distinct key beside it. */
final class RowsByKey private[rows] (
    rows: RowPages, arity: Int, groups: RowGroups, slots: Array[Int], keys: RowPages, hashes: Array[Int]) extends StaticRowIndex {
  private val groupKey = new UnsafeRow(arity)
  private val found = new RowMatches(rows, groups)

  override val keyColumns: Array[Int] = Array.range(0, arity)
  override def keyCount: Int = groups.size
  override def estimatedSize: Long = groups.memoryBytes + 4L * (slots.length + hashes.length) + keys.memoryBytes

  override def asReadOnlyCopy(): RowsByKey = new RowsByKey(rows, arity, groups, slots, keys, hashes)

  override def get(key: Long): Iterator[InternalRow] = throw new UnsupportedOperationException("the key is no long")

  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    val mask = slots.length - 1
    val hash = key.hashCode()
    var slot = LongSlots.spread(hash) & mask
    while (slots(slot) >= 0) {
      val g = slots(slot)
      if (hashes(g) == hash) {
        keys.point(groupKey, g)
        if (groupKey == key) return found.of(g)
      }
      slot = (slot + 1) & mask
    }
    null
  }
}

private[rows] object RowsByKey {
  def build(rows: RowPages, key: Seq[Expression]): RowsByKey = {
    val project = UnsafeProjection.create(key)
    val n = rows.rowCount
    if (n > (1 << 29)) throw new IllegalArgumentException(s"$n rows are too many for one in-memory index")
    var capacity = 16
    while (capacity < n * 3L / 2) capacity <<= 1
    val mask = capacity - 1
    val slots = new Array[Int](capacity)
    java.util.Arrays.fill(slots, -1)
    val group = new Array[Int](n)
    val sizes = new GrowingInts(1024)
    val hashes = new GrowingInts(1024)
    val keys = new RowPages(key.length)
    val row = new UnsafeRow(rows.fields)
    val known = new UnsafeRow(key.length)
    var r = 0
    while (r < n) {
      rows.point(row, r)
      val k = project(row)
      if (k.anyNull()) group(r) = -1
      else {
        val hash = k.hashCode()
        var slot = LongSlots.spread(hash) & mask
        var g = -1
        while (g < 0) {
          val there = slots(slot)
          if (there < 0) {
            g = sizes.size
            slots(slot) = g
            sizes.add(0)
            hashes.add(hash)
            keys.append(k)
          } else if (hashes(there) == hash && { keys.point(known, there); known == k }) g = there
          else slot = (slot + 1) & mask
        }
        group(r) = g
        sizes(g) = sizes(g) + 1
      }
      r += 1
    }
    new RowsByKey(rows, key.length, RowGroups.of(group, sizes), slots, keys, Array.tabulate(hashes.size)(hashes(_)))
  }
}
