package org.apache.spark.sql.cqels
package relations

import org.apache.spark.sql.cqels.memory.{KeyHash, LongTable}

/** What one pattern finds in one window now: distinct rows, each with the number of window elements that bring it.
 *
 *  A window's content is an RDF graph, so a row is present once however often its triple was sighted, and leaves with
 *  the last occurrence; with `bag`, whoever reads the table is given it as often. Indexes that plans ask for follow each
 *  arrival and expiry; they are not rebuilt per evaluation.
 */
final class WindowTable(val arity: Int, val bag: Boolean = false) extends ListedRows {
  import WindowTable.LeastCapacity

  private var cells = new Array[Long](LeastCapacity * math.max(1, arity))
  private var occurrences = new Array[Int](LeastCapacity)
  private var hashNext = new Array[Int](LeastCapacity)
  private var heads = emptyHeads(LeastCapacity)
  private var used = 0
  private var free = -1 // free rows are chained through hashNext
  private var present = 0
  private var indexes: List[WindowChains] = Nil
  private var lists: List[WindowLists] = Nil
  private var asked = 0L
  private var total = 0L
  private var arrived = 0L
  private var expired = 0L
  private var changed = 0L
  private var compacted = 0
  private var lastSeen: Array[Long] = null // when each row was sighted last; null: nobody asks

  /** Whether indexes copy what is looked up again and again. */
  var copiesChains = true

  def rowCount: Int = present
  /** One past the highest row number in use; rows below it may be free. */
  def capacityUsed: Int = used
  /** Occurrences of all rows. */
  def occurrenceCount: Long = total
  /** How often a row that is present counts. */
  def times(row: Int): Int = if (bag) occurrences(row) else 1
  /** How often a row has come, whether it counts as often or once. */
  private[cqels] def occurrencesOf(row: Int): Int = occurrences(row)
  def isPresent(row: Int): Boolean = occurrences(row) > 0
  @inline def cell(row: Int, column: Int): Long = cells(row * arity + column)
  /** A cell, or in the column after the last, where times are kept, the time as [[TimedContent]] writes it. */
  @inline override def value(row: Int, column: Int): Long = if (column < arity) cell(row, column) else TimeCells.write(lastSeen(row))

  /** Has the time of each row's last occurrence be kept; whether it was not before. Those of the rows of now are set by `sight`. */
  def keepTimes(): Boolean = {
    val asked = lastSeen == null
    if (asked) lastSeen = Array.fill(occurrences.length)(Long.MinValue)
    changed += 1
    asked
  }

  /** Notes that a row that is present was sighted at a time. */
  def sight(values: Array[Long], time: Long): Unit = {
    var row = heads(slot(hashOf(values)))
    while (row >= 0 && !same(row, values)) row = hashNext(row)
    if (row >= 0) {
      lastSeen(row) = math.max(lastSeen(row), time)
      lists.foreach(_.resight(row))
    }
    changed += 1
  }
  /** Rows that became present, and that left, since the start. */
  def arrivals: Long = arrived
  def expiries: Long = expired
  /** How often anything has changed that a reader can see: rows, how often they count, or when they were sighted. */
  def changes: Long = changed
  /** How often rows have been given other numbers. */
  private[cqels] def compactions: Int = compacted

  def memoryBytes: Long =
    8L * (cells.length + (if (lastSeen == null) 0 else lastSeen.length)) + 4L * (occurrences.length + hashNext.length + heads.length) + indexes.map(_.memoryBytes).sum + lists.map(_.memoryBytes).sum

  def insert(values: Array[Long]): Unit = insert(values, Long.MinValue)

  /** Takes in so many occurrences of a row. */
  private[cqels] def insertTimes(values: Array[Long], times: Int): Unit = {
    var n = 0
    while (n < times) { insert(values, Long.MinValue); n += 1 }
  }

  /** Takes in an occurrence of a row at a time. */
  def insert(values: Array[Long], time: Long): Unit = insertAt(values, time)

  /** As `insert`; the number of the row, which it has until `compactions` rises. */
  private[cqels] def insertAt(values: Array[Long], time: Long): Int = {
    total += 1
    changed += 1
    val hash = hashOf(values)
    var row = heads(slot(hash))
    while (row >= 0 && !same(row, values)) row = hashNext(row)
    if (row >= 0) {
      occurrences(row) += 1
      if (bag) lists.foreach(_.recount(row))
      if (lastSeen != null && time > lastSeen(row)) {
        lastSeen(row) = time
        lists.foreach(_.resight(row))
      }
      row
    } else {
      if (present >= heads.length) rehash(heads.length * 2)
      val at = takeRow()
      System.arraycopy(values, 0, cells, at * arity, arity)
      occurrences(at) = 1
      if (lastSeen != null) lastSeen(at) = time
      val s = slot(hash)
      hashNext(at) = heads(s)
      heads(s) = at
      present += 1
      arrived += 1
      indexes.foreach(_.link(at))
      lists.foreach(_.link(at))
      at
    }
  }

  def delete(values: Array[Long]): Unit =
    if (!deleteIfThere(values)) throw new IllegalStateException("a row expires that the window does not hold")

  /** Takes one occurrence of a row away, if there is any. */
  def deleteIfThere(values: Array[Long]): Boolean = {
    val s = slot(hashOf(values))
    var before = -1
    var row = heads(s)
    while (row >= 0 && !same(row, values)) { before = row; row = hashNext(row) }
    if (row < 0) return false
    total -= 1
    changed += 1
    occurrences(row) -= 1
    if (occurrences(row) > 0) { if (bag) lists.foreach(_.recount(row)) }
    else {
      indexes.foreach(_.unlink(row))
      lists.foreach(_.unlink(row))
      if (before >= 0) hashNext(before) = hashNext(row) else heads(s) = hashNext(row)
      hashNext(row) = free
      free = row
      present -= 1
      expired += 1
      if (used > LeastCapacity && present < used / 4) compact()
    }
    true
  }

  /** Takes all rows away. */
  def clear(): Unit = {
    total = 0
    changed += 1
    expired += present
    present = 0
    indexes.foreach(_.clear())
    lists.foreach(_.clear())
    java.util.Arrays.fill(occurrences, 0, used, 0)
    if (occurrences.length > LeastCapacity && used < occurrences.length / 4) compact() // after a peak
    else {
      java.util.Arrays.fill(heads, -1)
      used = 0
      free = -1
    }
  }

  /** The index over `columns` keyed by positions `keys` among them; made once, then kept up as long as it is asked for.
   *
   *  Each evaluation asks anew; an index that no plan reads any more would cost every arrival something for ever.
   */
  def index(columns: Array[Int], keys: Array[Int]): WindowIndex = synchronized { // tasks of a job may all ask first
    asked += 1
    if (indexes.exists(asked - _.lastAsked > WindowTable.UnaskedFor)) indexes = indexes.filter(asked - _.lastAsked <= WindowTable.UnaskedFor)
    val known = indexes.find(i => java.util.Arrays.equals(i.columns, columns) && java.util.Arrays.equals(i.keys, keys))
    val chains = known.getOrElse {
      val made = new WindowChains(this, columns, keys)
      made.relink(used)
      indexes = made :: indexes
      made
    }
    chains.asked(used)
    chains.lastAsked = asked
    new WindowIndex(chains)
  }

  /** The rows by the columns `keys`, ascending, for the join, with `timed` those with the times of their last occurrence; kept up
   *  as long as they are asked for.
   */
  def keyed(keys: Array[Int], timed: Boolean = false): KeyedRows = synchronized {
    asked += 1
    if (lists.exists(asked - _.lastAsked > WindowTable.UnaskedFor)) lists = lists.filter(asked - _.lastAsked <= WindowTable.UnaskedFor)
    val known = lists.find(l => l.timed == timed && java.util.Arrays.equals(l.keys, keys)).getOrElse {
      val made = new WindowLists(this, keys, timed)
      lists = made :: lists
      made
    }
    known.lastAsked = asked
    known.ask()
  }

  def indexCount: Int = indexes.size + lists.size
  /** Of these, the ones that follow the rows; the others have not been asked for while most rows changed. */
  def keptUpCount: Int = indexes.count(_.keptUp) + lists.count(_.keptUp)
  /** Rows that indexes have copied of the content of now, as they are looked up again and again. */
  def copiedRows: Long = indexes.map(_.copiedRows).sum

  /** A copy of the present rows. */
  def snapshot(): LongTable = {
    val copy = new LongTable(arity, present)
    var row = 0
    while (row < used) { if (occurrences(row) > 0) copy.appendAll(cells, row, 1); row += 1 }
    copy
  }

  /** How often each row of a snapshot counts; null: once. */
  def snapshotTimes(): Array[Int] = if (bag) occurrences.iterator.take(used).filter(_ > 0).toArray else null

  // After a peak: without this, scans would walk it and memory would keep it for as long as the window is never empty.
  private def compact(): Unit = {
    compacted += 1
    val (oldCells, oldOccurrences, oldSeen, oldUsed) = (cells, occurrences, lastSeen, used)
    val capacity = math.max(LeastCapacity, Integer.highestOneBit(math.max(1, present)) * 2)
    cells = new Array[Long](capacity * math.max(1, arity))
    occurrences = new Array[Int](capacity)
    if (lastSeen != null) lastSeen = new Array[Long](capacity)
    hashNext = new Array[Int](capacity)
    used = 0
    free = -1
    var row = 0
    while (row < oldUsed) {
      if (oldOccurrences(row) > 0) {
        System.arraycopy(oldCells, row * arity, cells, used * arity, arity)
        occurrences(used) = oldOccurrences(row)
        if (lastSeen != null) lastSeen(used) = oldSeen(row)
        used += 1
      }
      row += 1
    }
    rehash(capacity)
    indexes.foreach(_.relink(used))
    lists.foreach(_.relink())
  }

  private def takeRow(): Int =
    if (free >= 0) {
      val row = free
      free = hashNext(row)
      row
    } else {
      if (used == occurrences.length) {
        if (used.toLong * 2 * arity > Int.MaxValue - 8) throw new IllegalStateException(s"more than $used rows of one pattern in one window")
        // All of them or none: without memory for one, the others would no longer fit each other.
        val (moreCells, moreNext) = (java.util.Arrays.copyOf(cells, used * 2 * math.max(1, arity)), java.util.Arrays.copyOf(hashNext, used * 2))
        val moreSeen = if (lastSeen == null) null else java.util.Arrays.copyOf(lastSeen, used * 2)
        occurrences = java.util.Arrays.copyOf(occurrences, used * 2)
        cells = moreCells
        hashNext = moreNext
        lastSeen = moreSeen
      }
      used += 1
      used - 1
    }

  private def hashOf(values: Array[Long]): Long = KeyHash.of(values, 0, arity)

  private def slot(hash: Long): Int = KeyHash.slot(hash, heads.length - 1)

  private def same(row: Int, values: Array[Long]): Boolean = {
    var c = 0
    while (c < arity) { if (cells(row * arity + c) != values(c)) return false; c += 1 }
    true
  }

  private def rehash(capacity: Int): Unit = {
    heads = emptyHeads(capacity)
    val row = new Array[Long](arity)
    var r = 0
    while (r < used) {
      if (occurrences(r) > 0) {
        System.arraycopy(cells, r * arity, row, 0, arity)
        val s = slot(hashOf(row))
        hashNext(r) = heads(s)
        heads(s) = r
      }
      r += 1
    }
  }

  private def emptyHeads(capacity: Int): Array[Int] = {
    val h = new Array[Int](capacity)
    java.util.Arrays.fill(h, -1)
    h
  }
}

private[cqels] object WindowTable {
  final val LeastCapacity = 64
  /** Other indexes are asked for so often before one that is not is given up. */
  final val UnaskedFor = 1000L
}

/** Times of occurrences in columns of ids. */
object TimeCells {
  /** A time in a column of ids, where 0 stands for an unbound variable. */
  @inline def write(time: Long): Long = 2 * time + 1
  @inline def read(cell: Long): Long = cell >> 1
}
