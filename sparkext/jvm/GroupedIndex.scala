package org.apache.spark.sql.execution.joins

import java.io.{ObjectInput, ObjectOutput}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.{IdRow, LongArrayIO, LongTable}

/** An immutable index: rows grouped by key in one array, found through an open-addressing table of group starts.
 *
 *  A row may stand for several equal solution mappings (`counts`); the iterator repeats it, so multiplicities never
 *  show in plans. The bits of a group's start that row numbers leave over hold a part of its key's hash: a look-up of a
 *  key that is not there seldom reads a row, which is a cache miss each in a large index. Where groups are large,
 *  `groups` holds the starts of all of them in order, so that rows of a key are counted without reading them. Memory:
 *  8 bytes a cell, 4 a row with counts, about 8 a distinct key.
 */
final class GroupedIndex(
    private var arity: Int,
    private var keyAt: Array[Int],
    private var cells: Array[Long],
    private var counts: Array[Int],
    private var starts: Array[Int],
    private var groups: Array[Int]) extends StaticIndex {

  def this() = this(0, null, null, null, null, null)

  private var cursor: IdRow = _
  private var iterator: MatchIterator = _

  override def keyColumns: Array[Int] = keyAt
  override def rowCount: Int = if (arity == 0) 0 else cells.length / arity

  override def asReadOnlyCopy(): GroupedIndex = {
    val copy = new GroupedIndex(arity, keyAt, cells, counts, starts, groups)
    copy.cursor = new IdRow(arity)
    copy.iterator = new copy.MatchIterator
    copy
  }

  override def get(key: Long): Iterator[InternalRow] = {
    val mask = starts.length - 1
    val hash = LongTable.mix(0L, key)
    val tag = GroupedIndex.tag(hash, mask)
    var slot = (hash >>> 32).toInt & mask
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
      val hash = LongTable.mix(LongTable.mix(0L, first), second)
      val tag = GroupedIndex.tag(hash, mask)
      var slot = (hash >>> 32).toInt & mask
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
      val hash = LongTable.mix(LongTable.mix(LongTable.mix(0L, first), second), third)
      val tag = GroupedIndex.tag(hash, mask)
      var slot = (hash >>> 32).toInt & mask
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
      while (i < width) { hash = LongTable.mix(hash, key.getLong(i)); i += 1 }
      val tag = GroupedIndex.tag(hash, mask)
      var slot = (hash >>> 32).toInt & mask
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
    var hash = 0L
    var i = 0
    while (i < key.length) { hash = LongTable.mix(hash, key(i)); i += 1 }
    var slot = (hash >>> 32).toInt & mask
    val tag = GroupedIndex.tag(hash, mask)
    while (starts(slot) >= 0) {
      val entry = starts(slot)
      val first = entry & mask
      if ((entry & ~mask) == tag && hasKey(first, key)) {
        if (counts == null) return if (groups == null) runLength(first, key, most) else math.min(most, groupEnd(first) - first)
        var row = first
        var found = 0L
        while (found < most && row * arity < cells.length && hasKey(row, key)) { found += counts(row); row += 1 }
        return found
      }
      slot = (slot + 1) & mask
    }
    0L
  }

  private def groupEnd(first: Int): Int = {
    val after = java.util.Arrays.binarySearch(groups, first) + 1
    if (after < groups.length) groups(after) else rowCount
  }

  // Rows of one key stand together: doubling steps and a binary search find their end.
  private def runLength(first: Int, key: Array[Long], most: Int): Long = {
    val rows = rowCount
    var inside = 0
    var step = 1
    while (step <= most && step < rows - first && hasKey(first + step, key)) { inside = step; step *= 2 }
    var outside = math.min(math.min(step.toLong, most.toLong), rows.toLong - first).toInt
    while (outside - inside > 1) {
      val middle = (inside + outside) >>> 1
      if (hasKey(first + middle, key)) inside = middle else outside = middle
    }
    inside + 1L
  }

  private def hasKey(row: Int, key: Array[Long]): Boolean = {
    var i = 0
    while (i < key.length) { if (cells(row * arity + keyAt(i)) != key(i)) return false; i += 1 }
    true
  }

  override def estimatedSize: Long = 8L * cells.length + 4L * starts.length + (if (groups == null) 0L else 4L * groups.length) + (if (counts == null) 0L else 4L * counts.length)

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(arity)
    out.writeObject(keyAt)
    LongArrayIO.write(out, cells, cells.length)
    out.writeObject(counts)
    out.writeObject(starts)
    out.writeObject(groups)
  }

  override def readExternal(in: ObjectInput): Unit = {
    arity = in.readInt()
    keyAt = in.readObject().asInstanceOf[Array[Int]]
    cells = LongArrayIO.read(in)
    counts = in.readObject().asInstanceOf[Array[Int]]
    starts = in.readObject().asInstanceOf[Array[Int]]
    groups = in.readObject().asInstanceOf[Array[Int]]
  }

  private final class MatchIterator extends Iterator[InternalRow] {
    private var first = 0
    private var at = 0
    private var left = 0 // repetitions of the current row still to give
    private var more = false

    def from(start: Int): MatchIterator = {
      first = start
      at = start
      left = if (counts == null) 1 else counts(start)
      more = true
      this
    }

    override def hasNext: Boolean = more

    override def next(): InternalRow = {
      var c = 0
      val base = at * arity
      while (c < arity) { cursor.set(c, cells(base + c)); c += 1 }
      left -= 1
      if (left == 0) {
        at += 1
        more = at * arity < cells.length && sameKey(at)
        if (more && counts != null) left = counts(at) else left = 1
      }
      cursor.row
    }

    private def sameKey(row: Int): Boolean = {
      var i = 0
      while (i < keyAt.length) {
        if (cells(row * arity + keyAt(i)) != cells(first * arity + keyAt(i))) return false
        i += 1
      }
      true
    }
  }
}

private[joins] object GroupedIndex {
  /** So many rows a key, on the average, make groups large. */
  final val LargeGroup = 16

  /** What an entry of the table holds beside the start: rows are fewer than slots, so `mask` (slots - 1) holds any start.
   *
   *  Slots are chosen by the upper half of the hash, so this is of the lower one. An entry below 0 is free.
   */
  @inline def tag(hash: Long, mask: Int): Int = hash.toInt & ~mask & Int.MaxValue
}
