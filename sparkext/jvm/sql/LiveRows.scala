package org.apache.spark.sql.cqels
package sql

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.cqels.rows.{DistinctValues, LiveRelation, LiveRelations, RowContent, RowIndex, RowKeys, RowNumbers}
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.StructType

/** The rows of a live view: replaced as a whole, or appended and expired by time.
 *
 *  Indexes follow appended and expired rows; a replacement drops them, to be made again when next probed. `timeColumn`
 *  is -1 where rows do not expire; `width` is in the column's own unit. A scan sees the rows of the moment it began,
 *  less those that expire meanwhile.
 */
final class LiveRows(name: String, schema: StructType, val timeColumn: Int, width: Long, val advice: JoinOrderAdvice)
    extends RowContent(name, schema) {
  private var rows = new Array[UnsafeRow](16)
  private var used = 0
  private var present = 0
  private var low = Long.MinValue // rows of this time or an earlier one have left
  private val places = new java.util.TreeMap[Long, mutable.ArrayBuffer[Int]]()
  private val indexes = new java.util.HashMap[Seq[Expression], RowIndex]()
  private val asked = new java.util.HashMap[Seq[Expression], Long]() // the version when an index was last asked for
  private val counted = new java.util.HashMap[Expression, (Long, Double)]()
  private var version = 0L
  private var joined: LiveRelations = _ // what clusters of joins read; null: none has asked

  override def live: Boolean = true
  override def rowCount: Long = synchronized(present)

  def replace(batch: Array[UnsafeRow]): Unit = synchronized {
    clear()
    append(batch)
  }

  def clear(): Unit = synchronized {
    version += 1
    rows = new Array[UnsafeRow](math.max(16, math.min(used, 1 << 20)))
    used = 0
    present = 0
    places.clear()
    indexes.clear()
    if (joined != null) joined.cleared()
  }

  /** Adds rows; those that an advance has passed already are left out. */
  def append(batch: Array[UnsafeRow]): Unit = synchronized {
    version += 1
    // Another join order may no longer probe an index, which costs something to keep.
    indexes.keySet.removeIf(key => asked.get(key) < version - LiveRows.IdleChanges)
    if (joined != null) joined.forget(version - LiveRows.IdleChanges)
    var i = 0
    while (i < batch.length) {
      val row = batch(i)
      if (timeColumn < 0) put(row)
      else {
        val time = row.getLong(timeColumn)
        if (time > low) {
          places.computeIfAbsent(time, _ => new mutable.ArrayBuffer[Int](1)) += used
          put(row)
        }
      }
      i += 1
    }
  }

  private def put(row: UnsafeRow): Unit = {
    if (used == rows.length) rows = java.util.Arrays.copyOf(rows, used * 2)
    rows(used) = row
    used += 1
    present += 1
    indexes.values.forEach(_.add(row))
    if (joined != null) joined.came(used - 1, row)
  }

  /** Rows with a time of `time - width` or earlier leave; time only goes forwards. */
  def advanceTo(time: Long): Unit = synchronized {
    val bound = Math.subtractExact(time, width)
    if (bound > low) {
      low = bound
      val gone = places.headMap(bound, true)
      if (!gone.isEmpty) {
        version += 1
        gone.values.forEach(_.foreach(expire))
        gone.clear()
        if (used > 1024 && present < used / 2) compact()
      }
    }
  }

  private def expire(place: Int): Unit = {
    val row = rows(place)
    rows(place) = null
    present -= 1
    indexes.values.forEach(_.remove(row))
    if (joined != null) joined.left(place)
  }

  private def compact(): Unit = {
    val kept = new Array[UnsafeRow](math.max(16, present * 2))
    val moved = new Array[Int](used)
    var to = 0
    var i = 0
    while (i < used) {
      if (rows(i) != null) { kept(to) = rows(i); moved(i) = to; to += 1 }
      i += 1
    }
    places.values.forEach(_.mapInPlace(moved(_)))
    if (joined != null) joined.moved(rows, moved)
    rows = kept
    used = to
  }

  override def scan(slice: Int, slices: Int): Iterator[InternalRow] = synchronized {
    // Rows are only added behind `used`, and compacting makes a new array: what is captured stays valid.
    new HeldRows(rows, (used.toLong * slice / slices).toInt, (used.toLong * (slice + 1) / slices).toInt)
  }

  override def copies(): Array[UnsafeRow] = synchronized(rows.iterator.take(used).filter(_ != null).toArray)

  override def index(key: Seq[Expression]): IdRelation = synchronized {
    val known = RowContent.normalised(key)
    asked.put(known, version)
    indexes.computeIfAbsent(known, k => {
      val made = new RowIndex(k)
      var i = 0
      while (i < used) { if (rows(i) != null) made.add(rows(i)); i += 1 }
      made
    })
  }

  private def relations: LiveRelations = {
    if (joined == null) {
      joined = new LiveRelations(name)
      var i = 0
      while (i < used) { if (rows(i) != null) joined.came(i, rows(i)); i += 1 }
    }
    joined
  }

  override def relation(keys: RowKeys): LiveRelation = synchronized(relations.relation(keys, version))
  override def numbers: RowNumbers = synchronized(relations.numbers)

  override def distinct(value: Expression): Double = synchronized {
    val known = RowContent.normalised(Seq(value))
    val index = indexes.get(known)
    if (index != null) index.keyCount
    else {
      val last = counted.get(known.head)
      if (last != null && last._1 == version) last._2
      else {
        val now = DistinctValues.estimate(scan(0, 1), present, known.head)
        counted.put(known.head, (version, now))
        now
      }
    }
  }

  def indexCount: Int = synchronized(indexes.size)
}

private object LiveRows {
  final val IdleChanges = 64L
}

private final class HeldRows(rows: Array[UnsafeRow], from: Int, until: Int) extends Iterator[InternalRow] {
  private var at = from
  private var ahead: UnsafeRow = _
  override def hasNext: Boolean = {
    while (ahead == null && at < until) { ahead = rows(at); at += 1 }
    ahead != null
  }
  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = ahead
    ahead = null
    row
  }
}
