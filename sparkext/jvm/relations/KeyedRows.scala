package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.cqels.memory.KeyHash

/** The rows of a relation by the values of some of its columns, as the join reads them: no iterator, no row object.
 *
 *  A key is looked up once ([[find]]), and what is asked of its rows is asked of the place that was found. In memory there is one class for
 *  static rows and for those of a window ([[HashedRows]]), beside it one for rows in files: loops that read them are compiled for two classes at
 *  most, as long as nobody edits rows in files.
 */
abstract class KeyedRows(val keyWidth: Int, val width: Int) {
  /** Whether rows may count several times. */
  def counted: Boolean
  /** The place of a key of one id; -1 where there is none. */
  def find(key: Long): Int
  /** The same for keys of any width, read from row `i` of columns. */
  def find(columns: Array[Array[Long]], i: Int): Int
  /** How many rows there are at a place that `find` gave. */
  def length(at: Int): Int
  /** Another column, the `c`-th of those that are not in the key, of the `n`-th row at a place. */
  def cell(at: Int, n: Int, c: Int): Long
  /** The same of `count` rows from the `from`-th on, one after the other. */
  def copy(at: Int, from: Int, count: Int, c: Int, to: Array[Long], start: Int): Unit
  /** How often the row counts that is the `n`-th at a place. */
  def times(at: Int, n: Int): Int
  /** How often all rows at a place count together. */
  def total(at: Int): Long
  /** The list at a place as a set, if it is worth one to whom asks so many times; else null: its values are to be compared. */
  def set(at: Int, asks: Int): IdSet
  /** How often a value counts at a place, by comparing it with those that are there. */
  def search(at: Int, value: Long): Int
  /** Puts those of `n` ids that `search` finds at a place into `found`, which may be the same array; how many they are. */
  def select(at: Int, ids: Array[Long], n: Int, found: Array[Long]): Int = {
    var kept = 0
    var i = 0
    while (i < n) {
      val id = ids(i)
      if (search(at, id) > 0) { found(kept) = id; kept += 1 }
      i += 1
    }
    kept
  }
  /** Distinct keys, with those that have lost all rows. */
  def keyCount: Int
  def memoryBytes: Long
}

/** Rows by key in memory.
 *
 *  An open-addressing table holds each key beside the place of its rows, whose other columns lie side by side in `rest`, in
 *  the order of the relation's columns. A look-up thus waits for memory twice: for the slot, and for the list. Where each
 *  key has one row, that row's other columns lie in the slot itself. Long lists that are asked again and again whether they hold a
 *  value get a set beside them ([[IdSet]]). No id is 0, which marks a free slot. [[WindowLists]] keeps up those of a window.
 */
final class HashedRows(keys: Int, others: Int, val unique: Boolean) extends KeyedRows(keys, others) {
  private[relations] val stride = keyWidth + (if (unique) width else 1)
  private[relations] var table: Array[Long] = _
  private[relations] var slots = 0
  private[relations] var rest: Array[Long] = _
  private[relations] var counts: Array[Int] = _ // by row; null: each row counts once
  @volatile private var sets: Array[IdSet] = _ // by slot, of lists that were worth it
  private var asked: Array[Int] = _ // by slot: values read to look for others, in units of the list's length
  private[relations] var lists = 0 // keys with rows, and keys that had some

  override def counted: Boolean = counts != null

  override def find(key: Long): Int = {
    var at = HashedRows.slot(HashedRows.hash(key), slots) * stride
    val end = table.length
    while (true) {
      val here = table(at)
      if (here == key) return if (key == 0L) -1 else at
      if (here == 0L) return -1
      at += stride
      if (at == end) at = 0
    }
    -1
  }

  override def find(columns: Array[Array[Long]], i: Int): Int =
    if (keyWidth == 1) find(columns(0)(i))
    else if (keyWidth == 0) 0
    else {
      var hash = 0L
      var c = 0
      while (c < keyWidth) { hash = KeyHash.mix(hash, columns(c)(i)); c += 1 }
      var at = HashedRows.slot(hash, slots) * stride
      while (true) {
        if (table(at) == 0L) return -1
        c = 0
        while (c < keyWidth && table(at + c) == columns(c)(i)) c += 1
        if (c == keyWidth) return at
        at += stride
        if (at == table.length) at = 0
      }
      -1
    }

  override def length(at: Int): Int = if (at < 0) 0 else if (unique) 1 else table(at + keyWidth).toInt

  @inline private def cells: Array[Long] = if (unique) table else rest
  @inline private def first(at: Int): Int = if (unique) at + keyWidth else (table(at + keyWidth) >>> 32).toInt * width

  override def cell(at: Int, n: Int, c: Int): Long = cells(first(at) + n * width + c)

  override def copy(at: Int, from: Int, count: Int, c: Int, to: Array[Long], start: Int): Unit = {
    val source = cells
    var cell = first(at) + from * width + c
    if (width == 1) System.arraycopy(source, cell, to, start, count)
    else {
      var i = start
      while (i < start + count) { to(i) = source(cell); cell += width; i += 1 }
    }
  }

  override def times(at: Int, n: Int): Int = if (counts == null) 1 else counts((table(at + keyWidth) >>> 32).toInt + n)

  override def total(at: Int): Long = {
    val n = length(at)
    if (counts == null || n == 0) n.toLong
    else {
      var sum = 0L
      var i = 0
      while (i < n) { sum += times(at, i); i += 1 }
      sum
    }
  }

  override def set(at: Int, asks: Int): IdSet = {
    val n = length(at)
    if (unique || n <= HashedRows.Short) null
    else {
      val slot = at / stride
      if (sets == null) synchronized {
        if (sets == null) { asked = new Array[Int](slots); sets = new Array[IdSet](slots) }
      }
      val known = sets(slot)
      if (known != null) known
      else {
        val spent = asked(slot) + asks // threads may lose counts of each other: a set is made a little later
        asked(slot) = spent
        if (spent < HashedRows.AsksASet) null
        else {
          val made = IdSet.of(rest, counts, (table(at + keyWidth) >>> 32).toInt, n)
          sets(slot) = made // its fields are final: who sees it sees all of it
          made
        }
      }
    }
  }

  override def search(at: Int, value: Long): Int =
    if (at < 0 || value == 0L) 0
    else if (unique) { if (table(at + keyWidth) == value) 1 else 0 }
    else {
      val packed = table(at + keyWidth)
      val from = (packed >>> 32).toInt
      val until = from + packed.toInt
      var i = from
      while (i < until) {
        if (rest(i) == value) return if (counts == null) 1 else counts(i)
        i += 1
      }
      0
    }

  /** Forgets the set of a list that changes. */
  private[relations] def changes(slot: Int): Unit = if (sets != null) { sets(slot) = null; asked(slot) = 0 }

  /** Forgets all sets: places are others from now on. */
  private[relations] def forgetSets(): Unit = { sets = null; asked = null }

  override def keyCount: Int = lists

  override def memoryBytes: Long = {
    var sum = 8L * (table.length + (if (rest == null) 0 else rest.length)) + (if (counts == null) 0L else 4L * counts.length)
    val known = sets
    if (known != null) { sum += 12L * known.length; known.foreach(s => if (s != null) sum += s.memoryBytes) }
    sum
  }
}

object HashedRows {
  /** Lists up to this length are compared value by value: two lines of memory. */
  final val Short = 16
  /** As many questions about a long list as pay for a set of it. */
  final val AsksASet = 12

  @inline def hash(key: Long): Long = KeyHash.mix(0L, key)
  /** By the lower half of the hash: the upper one tells the part in which a row is on a cluster. */
  @inline def slot(hash: Long, slots: Int): Int = (((hash & 0xffffffffL) * slots) >>> 32).toInt

  /** Slots for so many keys: three fifths of them are used. */
  private[relations] def slotsFor(keys: Int, stride: Int): Int = {
    val wanted = keys.toLong * 5 / 3 + 2
    if (wanted * stride > Int.MaxValue - 8) throw new IllegalArgumentException(s"$keys keys are too many for one in-memory index")
    wanted.toInt
  }

  /** Distinct rows, `arity` cells each, by the columns `keys`; `counts` tells how often each counts (null: once). */
  def build(data: Array[Long], n: Int, arity: Int, keys: Array[Int], counts: Array[Int]): HashedRows = {
    val others = Array.range(0, arity).filterNot(keys.contains(_))
    if (keys.length == 0) whole(data, n, arity, counts)
    else {
      val bound = withKeys(data, n, arity, keys)
      if (bound != null) {
        val kept = bound.map(r => java.util.Arrays.copyOfRange(data, r * arity, (r + 1) * arity)).flatten
        build(kept, bound.length, arity, keys, if (counts == null) null else bound.map(counts(_)))
      } else {
        val grouping = new Grouping(data, n, arity, keys)
        if (counts == null && grouping.groups == n) grouping.unique(others) else grouping.lists(others, counts)
      }
    }
  }

  /** The rows without those in which a key is unbound, which no look-up finds; null where there are none of these. */
  private def withKeys(data: Array[Long], n: Int, arity: Int, keys: Array[Int]): Array[Int] = {
    def unbound(row: Int): Boolean = { var c = 0; while (c < keys.length) { if (data(row * arity + keys(c)) == 0L) return true; c += 1 }; false }
    var row = 0
    while (row < n && !unbound(row)) row += 1
    if (row == n) null else Array.range(0, n).filterNot(unbound)
  }

  private def whole(data: Array[Long], n: Int, arity: Int, counts: Array[Int]): HashedRows = {
    val all = new HashedRows(0, arity, unique = false)
    all.table = Array(n.toLong)
    all.slots = 1
    all.rest = java.util.Arrays.copyOf(data, n * arity)
    all.counts = counts
    all.lists = 1
    all
  }

  /** The rows of each key numbered, in the order in which keys are met. */
  private final class Grouping(data: Array[Long], n: Int, arity: Int, keys: Array[Int]) {
    private var slots = 64
    private var firstRows = new Array[Int](64) // of each group
    private var table = filled(slots) // slot -> group
    private val groupOf = new Array[Int](n)
    var groups = 0

    locally {
      var row = 0
      while (row < n) { groupOf(row) = group(row); row += 1 }
    }

    private def filled(size: Int): Array[Int] = { val t = new Array[Int](size); java.util.Arrays.fill(t, -1); t }

    private def hashOf(row: Int): Long = KeyHash.of(data, row * arity, keys)

    private def same(row: Int, other: Int): Boolean = {
      var c = 0
      while (c < keys.length) { if (data(row * arity + keys(c)) != data(other * arity + keys(c))) return false; c += 1 }
      true
    }

    private def group(row: Int): Int = {
      var at = slot(hashOf(row), slots)
      while (table(at) >= 0) {
        if (same(firstRows(table(at)), row)) return table(at)
        at += 1
        if (at == slots) at = 0
      }
      if (groups == firstRows.length) firstRows = java.util.Arrays.copyOf(firstRows, groups * 2)
      firstRows(groups) = row
      table(at) = groups
      groups += 1
      if (groups > slots / 5 * 3) grow()
      groups - 1
    }

    private def grow(): Unit = {
      if (slots > (1 << 29)) throw new IllegalArgumentException(s"$n rows are too many for one in-memory index")
      slots *= 2
      table = filled(slots)
      var g = 0
      while (g < groups) {
        var at = slot(hashOf(firstRows(g)), slots)
        while (table(at) >= 0) { at += 1; if (at == slots) at = 0 }
        table(at) = g
        g += 1
      }
    }

    /** An empty index with the keys of all groups, and where each of them is. */
    private def placed(index: HashedRows): Array[Int] = {
      table = null
      index.slots = slotsFor(groups, index.stride)
      index.table = new Array[Long](index.slots * index.stride)
      index.lists = groups
      val places = new Array[Int](groups)
      var g = 0
      while (g < groups) {
        val row = firstRows(g)
        var at = slot(hashOf(row), index.slots) * index.stride
        while (index.table(at) != 0L) { at += index.stride; if (at == index.table.length) at = 0 }
        var c = 0
        while (c < keys.length) { index.table(at + c) = data(row * arity + keys(c)); c += 1 }
        places(g) = at
        g += 1
      }
      places
    }

    def unique(others: Array[Int]): HashedRows = {
      val index = new HashedRows(keys.length, others.length, unique = true)
      val places = placed(index)
      var row = 0
      while (row < n) {
        val at = places(groupOf(row)) + keys.length
        var c = 0
        while (c < others.length) { index.table(at + c) = data(row * arity + others(c)); c += 1 }
        row += 1
      }
      index
    }

    def lists(others: Array[Int], times: Array[Int]): HashedRows = {
      val index = new HashedRows(keys.length, others.length, unique = false)
      val places = placed(index)
      val sizes = new Array[Int](groups)
      var row = 0
      while (row < n) { sizes(groupOf(row)) += 1; row += 1 }
      val next = new Array[Int](groups)
      var total = 0
      var g = 0
      while (g < groups) {
        next(g) = total
        index.table(places(g) + keys.length) = total.toLong << 32 | sizes(g)
        total += sizes(g)
        g += 1
      }
      index.rest = new Array[Long](Math.multiplyExact(n, others.length))
      if (times != null) index.counts = new Array[Int](n)
      row = 0
      while (row < n) {
        val to = next(groupOf(row))
        next(groupOf(row)) = to + 1
        var c = 0
        while (c < others.length) { index.rest(to * others.length + c) = data(row * arity + others(c)); c += 1 }
        if (times != null) index.counts(to) = times(row)
        row += 1
      }
      index
    }
  }
}
