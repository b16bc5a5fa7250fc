package org.apache.spark.sql.cqels
package relations

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.memory.KeyHash

/** An immutable index: rows grouped by key in one array, found through an open-addressing table of group starts.
 *
 *  The bits of a group's start that row numbers leave over hold a part of its key's hash: a look-up of a
 *  key that is not there seldom reads a row, which is a cache miss each in a large index. Where groups are large,
 *  `groups` holds the starts of all of them in order, so that rows of a key are counted without reading them. Memory:
 *  8 bytes a cell, 4 a row with counts, about 8 a distinct key.
 */
final class GroupedIndex(
    columns: Int, keys: Array[Int], rows: Array[Long], times: Array[Int], private var starts: Array[Int], private var groups: Array[Int])
    extends GroupedRows(columns, keys, rows, times) {

  def this() = this(0, null, null, null, null, null)

  override def asReadOnlyCopy(): GroupedIndex = {
    val copy = new GroupedIndex(arity, keyAt, cells, counts, starts, groups)
    copy.giveRows()
    copy
  }

  override def get(key: Long): Iterator[InternalRow] = {
    val mask = starts.length - 1
    val hash = KeyHash.mix(0L, key)
    val tag = GroupedIndex.tag(hash, mask)
    var slot = KeyHash.slot(hash, mask)
    val column = keyAt(0)
    while (true) {
      val entry = starts(slot)
      if (entry < 0) return null
      if ((entry & ~mask) == tag) {
        val start = entry & mask
        if (cells(start * arity + column) == key) return iterator.from(start)
      }
      slot = (slot + 1) & mask
    }
    null
  }

  /** Probes with two and three columns stand here by themselves, which makes this more code than C2 inlines (325 bytes,
   *  FreqInlineSize). That is on purpose: with a compiler told to inline more, plans took some 15 % longer than with one
   *  told not to inline this; as it is by itself, plans of the same work took as long as in one of the two.
   */
  override protected def matches(key: InternalRow): Iterator[InternalRow] = {
    val mask = starts.length - 1
    val width = keyAt.length
    if (width == 2) {
      val first = key.getLong(0)
      val second = key.getLong(1)
      val hash = KeyHash.mix(KeyHash.mix(0L, first), second)
      val tag = GroupedIndex.tag(hash, mask)
      var slot = KeyHash.slot(hash, mask)
      while (true) {
        val entry = starts(slot)
        if (entry < 0) return null
        if ((entry & ~mask) == tag) {
          val start = entry & mask
          val at = start * arity
          if (cells(at + keyAt(0)) == first && cells(at + keyAt(1)) == second) return iterator.from(start)
        }
        slot = (slot + 1) & mask
      }
      null
    } else if (width == 3) {
      val first = key.getLong(0)
      val second = key.getLong(1)
      val third = key.getLong(2)
      val hash = KeyHash.mix(KeyHash.mix(KeyHash.mix(0L, first), second), third)
      val tag = GroupedIndex.tag(hash, mask)
      var slot = KeyHash.slot(hash, mask)
      while (true) {
        val entry = starts(slot)
        if (entry < 0) return null
        if ((entry & ~mask) == tag) {
          val start = entry & mask
          val at = start * arity
          if (cells(at + keyAt(0)) == first && cells(at + keyAt(1)) == second && cells(at + keyAt(2)) == third)
            return iterator.from(start)
        }
        slot = (slot + 1) & mask
      }
      null
    } else {
      var hash = 0L
      var i = 0
      while (i < width) { hash = KeyHash.mix(hash, key.getLong(i)); i += 1 }
      val tag = GroupedIndex.tag(hash, mask)
      var slot = KeyHash.slot(hash, mask)
      while (true) {
        val entry = starts(slot)
        if (entry < 0) return null
        if ((entry & ~mask) == tag) {
          val start = entry & mask
          var same = true
          i = 0
          while (same && i < width) { same = cells(start * arity + keyAt(i)) == key.getLong(i); i += 1 }
          if (same) return iterator.from(start)
        }
        slot = (slot + 1) & mask
      }
      null
    }
  }

  override lazy val hasUniqueKeys: Boolean = counts == null && starts.count(_ >= 0) == rowCount

  override def matchCount(key: Array[Long], most: Int): Long = {
    val mask = starts.length - 1
    val hash = KeyHash.of(key, 0, key.length)
    var slot = KeyHash.slot(hash, mask)
    val tag = GroupedIndex.tag(hash, mask)
    while (starts(slot) >= 0) {
      val entry = starts(slot)
      val first = entry & mask
      if ((entry & ~mask) == tag && hasKey(first, key))
        return if (counts != null || groups == null) groupCount(first, key, most) else math.min(most, groupEnd(first) - first)
      slot = (slot + 1) & mask
    }
    0L
  }

  private def groupEnd(first: Int): Int = {
    val after = java.util.Arrays.binarySearch(groups, first) + 1
    if (after < groups.length) groups(after) else rowCount
  }

  override def estimatedSize: Long = super.estimatedSize + 4L * starts.length + (if (groups == null) 0L else 4L * groups.length)

  override def writeExternal(out: ObjectOutput): Unit = {
    super.writeExternal(out)
    out.writeObject(starts)
    out.writeObject(groups)
  }

  override def readExternal(in: ObjectInput): Unit = {
    super.readExternal(in)
    starts = in.readObject().asInstanceOf[Array[Int]]
    groups = in.readObject().asInstanceOf[Array[Int]]
  }
}

private[relations] object GroupedIndex {
  /** So many rows a key, on the average, make groups large. */
  final val LargeGroup = 16

  /** What an entry of the table holds beside the start: rows are fewer than slots, so `mask` (slots - 1) holds any start.
   *
   *  Slots are chosen by the upper half of the hash, so this is of the lower one. An entry below 0 is free.
   */
  @inline def tag(hash: Long, mask: Int): Int = hash.toInt & ~mask & Int.MaxValue
}
