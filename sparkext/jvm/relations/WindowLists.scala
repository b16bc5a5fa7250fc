package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.cqels.memory.{KeyHash, LongTable}

/** A table of longs whose rows come and go under their numbers, as lists of its rows read it. */
private[cqels] trait ListedRows {
  def arity: Int
  /** Whether rows may count several times. */
  def bag: Boolean
  def rowCount: Int
  /** One past the highest row number in use; rows below it may be free. */
  def capacityUsed: Int
  def isPresent(row: Int): Boolean
  def cell(row: Int, column: Int): Long
  /** A cell, or in the column behind the last, where times are kept, the time of a row. */
  def value(row: Int, column: Int): Long = cell(row, column)
  def times(row: Int): Int

  /** Appends the rows of one of `slices` equal parts, as often as they count, `most` of them at most; as wide as `to` is. */
  def append(slice: Int, slices: Int, to: LongTable, most: Int): Unit = {
    val until = (capacityUsed.toLong * (slice + 1) / slices).toInt
    var row = (capacityUsed.toLong * slice / slices).toInt
    var left = most
    while (row < until && left > 0) {
      var times = if (isPresent(row)) math.min(left, this.times(row)) else 0
      left -= times
      while (times > 0) {
        val at = to.appendRow()
        var c = 0
        while (c < to.arity) { to.set(at + c, value(row, c)); c += 1 }
        times -= 1
      }
      row += 1
    }
  }
}

/** Keeps the rows of a window by the values of some columns, as rows come and go.
 *
 *  The other columns of a key's rows lie side by side, in a segment whose size is a power of two; a row that leaves gives its
 *  place to the last one of its key. With `timed`, the time at which a row was sighted last stands behind its columns. What
 *  nobody reads rests after as many changes as making it anew would take, and is made anew when it is asked for.
 */
final class WindowLists(table: ListedRows, val keys: Array[Int], val timed: Boolean = false) {
  import WindowLists._

  // The table knows of a column behind its own: when a row was sighted last.
  private val others = Array.range(0, if (timed) table.arity + 1 else table.arity).filterNot(keys.contains(_))
  private val width = others.length
  /** What is read: the same object always, whose content moves. */
  val rows = new HashedRows(keys.length, width, unique = false)
  private var sizes: Array[Byte] = _ // by slot: the segment's size, as a power of two
  private var rowAt: Array[Int] = _ // by place: the row of the table
  private var placeOf: Array[Int] = _ // by row of the table
  private var used = 0 // places given out so far
  private val free = Array.fill(31)(new IntStack) // segments by size
  private var resting = true
  private var keysBefore = 0 // when it went to rest: about as many are to be expected
  private var upkeep = 0L // changes since it was asked for
  private[cqels] var lastAsked = 0L
  forget()

  def keptUp: Boolean = !resting

  def memoryBytes: Long = rows.memoryBytes + sizes.length + 4L * (rowAt.length + placeOf.length) + free.map(_.memoryBytes).sum

  /** Called before the rows are read. */
  private[cqels] def ask(): HashedRows = {
    upkeep = 0L
    if (resting) {
      resting = false
      relink()
    }
    rows
  }

  private[cqels] def rest(): Unit = { resting = true; keysBefore = rows.lists; forget() }

  private def forget(): Unit = forget(0)

  /** Has no rows, and room for so many. */
  private def forget(rowCount: Int): Unit = {
    rows.slots = if (keys.isEmpty) 1 else math.max(LeastSlots, HashedRows.slotsFor(math.min(rowCount, keysBefore + keysBefore / 4), rows.stride))
    rows.table = new Array[Long](rows.slots * rows.stride)
    rows.lists = 0
    val places = math.max(LeastSlots, rowCount + rowCount / 2)
    rows.rest = new Array[Long](places * width)
    rows.counts = if (table.bag) new Array[Int](places) else null
    rows.forgetSets()
    sizes = new Array[Byte](rows.slots)
    rowAt = new Array[Int](places)
    placeOf = new Array[Int](math.max(LeastSlots, rowCount))
    used = 0
    free.foreach(_.clear())
  }

  /** Called by the table when a row became present. */
  private[cqels] def link(row: Int): Unit = if (!resting) { if (changed()) add(row) }

  /** Called by the table before a row leaves. */
  private[cqels] def unlink(row: Int): Unit = if (!resting) { if (changed()) remove(row) }

  /** Called by the table when a row that is present counts another number of times. */
  private[cqels] def recount(row: Int): Unit = if (!resting && rows.counts != null) {
    rows.counts(placeOf(row)) = table.times(row)
    rows.changes(find(row) / rows.stride)
  }

  /** Called by the table when a row that is present was sighted at a later time. */
  private[cqels] def resight(row: Int): Unit = if (!resting && timed) rows.rest((placeOf(row) + 1) * width - 1) = table.value(row, table.arity)

  /** Called by the table when all its rows are gone. */
  private[cqels] def clear(): Unit = if (!resting) { if (upkeep > 0) rest() else { upkeep += 1; keysBefore = rows.lists; forget() } }

  /** Called by the table after it has given its rows other numbers. */
  private[cqels] def relink(): Unit = if (!resting) {
    forget(table.rowCount)
    val slotOf = new Array[Int](table.capacityUsed)
    while (!counted(slotOf)) { keysBefore = 2 * rows.lists + LeastSlots; forget(table.rowCount) }
    // Each list gets a segment, then each row its place there.
    val width = keys.length
    var at = 0
    while (at < rows.table.length) {
      val length = rows.table(at + width).toInt
      if (length > 0) {
        val size = if (length == 1) 0 else 32 - Integer.numberOfLeadingZeros(length - 1)
        rows.table(at + width) = segment(size).toLong << 32
        sizes(at / rows.stride) = size.toByte
      }
      at += rows.stride
    }
    var row = 0
    while (row < slotOf.length) {
      if (table.isPresent(row)) {
        val packed = rows.table(slotOf(row) + width)
        put((packed >>> 32).toInt + packed.toInt, row)
        rows.table(slotOf(row) + width) = packed + 1
      }
      row += 1
    }
  }

  /** Finds for each row where its key stands, which counts the rows; false where there is no room for all keys. */
  private def counted(slotOf: Array[Int]): Boolean = {
    var row = 0
    while (row < slotOf.length) {
      if (table.isPresent(row)) {
        val at = find(row)
        if (!keys.isEmpty && rows.table(at) == 0L) {
          if ((rows.lists + 1L) * 5 > rows.slots * 3L) return false
          var c = 0
          while (c < keys.length) { rows.table(at + c) = table.cell(row, keys(c)); c += 1 }
          rows.lists += 1
        }
        rows.table(at + keys.length) += 1
        slotOf(row) = at
      }
      row += 1
    }
    true
  }

  private def changed(): Boolean = {
    upkeep += 1
    val goes = upkeep > UpkeepARow * math.max(LeastSlots, table.rowCount)
    if (goes) rest()
    !goes
  }

  private def hashOf(row: Int): Long = {
    var hash = 0L
    var c = 0
    while (c < keys.length) { hash = KeyHash.mix(hash, table.cell(row, keys(c))); c += 1 }
    hash
  }

  /** The place in the table of a row's key, or of the free slot where it belongs. */
  private def find(row: Int): Int = if (keys.isEmpty) 0 else {
    val (cells, stride) = (rows.table, rows.stride)
    var at = HashedRows.slot(hashOf(row), rows.slots) * stride
    while (cells(at) != 0L) {
      var c = 0
      while (c < keys.length && cells(at + c) == table.cell(row, keys(c))) c += 1
      if (c == keys.length) return at
      at += stride
      if (at == cells.length) at = 0
    }
    at
  }

  private def add(row: Int): Unit = {
    var at = find(row)
    if (!keys.isEmpty && rows.table(at) == 0L) {
      if ((rows.lists + 1L) * 5 > rows.slots * 3L) { regrow(); at = find(row) }
      var c = 0
      while (c < keys.length) { rows.table(at + c) = table.cell(row, keys(c)); c += 1 }
      rows.lists += 1
    }
    val slot = at / rows.stride
    val packed = rows.table(at + keys.length)
    val length = packed.toInt
    var start = (packed >>> 32).toInt
    if (length == 0) { start = segment(0); sizes(slot) = 0 }
    else if (length == 1 << sizes(slot)) {
      val size = sizes(slot).toInt
      val to = segment(size + 1)
      move(start, to, length)
      free(size).push(start)
      sizes(slot) = (size + 1).toByte
      start = to
    }
    put(start + length, row)
    rows.table(at + keys.length) = start.toLong << 32 | (length + 1)
    rows.changes(slot)
  }

  private def remove(row: Int): Unit = {
    val at = find(row)
    val slot = at / rows.stride
    val packed = rows.table(at + keys.length)
    val length = packed.toInt - 1
    var start = (packed >>> 32).toInt
    val place = placeOf(row)
    if (place != start + length) move(start + length, place, 1)
    val size = sizes(slot).toInt
    if (length == 0) free(size).push(start)
    else if (size > 1 && length == 1 << (size - 2)) {
      val to = segment(size - 1)
      move(start, to, length)
      free(size).push(start)
      sizes(slot) = (size - 1).toByte
      start = to
    }
    rows.table(at + keys.length) = if (length == 0) 0L else start.toLong << 32 | length
    rows.changes(slot)
  }

  private def put(place: Int, row: Int): Unit = {
    var c = 0
    while (c < width) { rows.rest(place * width + c) = table.value(row, others(c)); c += 1 }
    if (rows.counts != null) rows.counts(place) = table.times(row)
    rowAt(place) = row
    if (row >= placeOf.length) placeOf = java.util.Arrays.copyOf(placeOf, math.max(row + 1, placeOf.length / 2 * 3))
    placeOf(row) = place
  }

  private def move(from: Int, to: Int, length: Int): Unit = {
    System.arraycopy(rows.rest, from * width, rows.rest, to * width, length * width)
    if (rows.counts != null) System.arraycopy(rows.counts, from, rows.counts, to, length)
    var i = 0
    while (i < length) {
      val row = rowAt(from + i)
      rowAt(to + i) = row
      placeOf(row) = to + i
      i += 1
    }
  }

  /** The first place of a segment for 2 to the power of `size` rows. */
  private def segment(size: Int): Int =
    if (!free(size).isEmpty) free(size).pop()
    else {
      val start = used
      val needed = used.toLong + (1L << size)
      if (needed * math.max(1, width) > Int.MaxValue - 8) throw new IllegalStateException(s"more than $used rows in one index of a window")
      used = needed.toInt
      if (used > rowAt.length) {
        val places = math.min(math.max(needed, rowAt.length * 3L / 2), (Int.MaxValue - 8L) / math.max(1, width)).toInt
        rows.rest = java.util.Arrays.copyOf(rows.rest, places * width)
        if (rows.counts != null) rows.counts = java.util.Arrays.copyOf(rows.counts, places)
        rowAt = java.util.Arrays.copyOf(rowAt, places)
      }
      start
    }

  /** Room for more keys; those that have lost all their rows go. */
  private def regrow(): Unit = {
    val (before, sizesBefore, stride) = (rows.table, sizes, rows.stride)
    var held = 0
    var at = 0
    while (at < before.length) { if (before(at) != 0L && before(at + keys.length).toInt > 0) held += 1; at += stride }
    rows.slots = math.max(LeastSlots, HashedRows.slotsFor(held * 3 / 2 + 16, stride))
    rows.table = new Array[Long](rows.slots * stride)
    rows.lists = held
    rows.forgetSets()
    sizes = new Array[Byte](rows.slots)
    at = 0
    while (at < before.length) {
      if (before(at) != 0L && before(at + keys.length).toInt > 0) {
        var to = HashedRows.slot(KeyHash.of(before, at, keys.length), rows.slots) * stride
        while (rows.table(to) != 0L) { to += stride; if (to == rows.table.length) to = 0 }
        System.arraycopy(before, at, rows.table, to, stride)
        sizes(to / stride) = sizesBefore(at / stride)
      }
      at += stride
    }
  }
}

private[cqels] object WindowLists {
  final val LeastSlots = 64
  /** Changes for each row that is there before an index rests: a window that is all new changes twice as much between two
   *  evaluations, and to make the index anew costs about one for each row.
   */
  final val UpkeepARow = 3L

  private final class IntStack {
    private var cells = new Array[Int](4)
    private var held = 0
    def isEmpty: Boolean = held == 0
    def clear(): Unit = held = 0
    def push(value: Int): Unit = {
      if (held == cells.length) cells = java.util.Arrays.copyOf(cells, held * 2)
      cells(held) = value
      held += 1
    }
    def pop(): Int = { held -= 1; cells(held) }
    def memoryBytes: Long = 4L * cells.length
  }
}
