package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.cqels.relations.{KeyedRows, ListedRows, WindowLists}

/** The codes of rows that come and go, by the rows' places; the last column is the number of the row.
 *
 *  Its lists follow each change as those of windows do; one that is not asked for any more rests, and goes.
 */
private[rows] final class RowTable(width: Int) extends ListedRows {
  import RowTable._

  private var codes = new Array[Long](64 * math.max(1, width))
  private var states = new Array[Byte](64)
  private var used = 0
  private var present = 0
  private var lists: List[WindowLists] = Nil
  private var asked = 0L

  override val arity: Int = width + 1
  override def bag: Boolean = false
  override def rowCount: Int = present
  override def capacityUsed: Int = used
  override def isPresent(row: Int): Boolean = states(row) == Present
  override def times(row: Int): Int = 1
  override def cell(row: Int, column: Int): Long = if (column == width) row + 1L else codes(row * width + column)

  /** Whether it was told of the row at a place. */
  def knows(row: Int): Boolean = row < used && states(row) != Unknown

  /** Takes in the row at a place, with its codes; null where it joins nothing. */
  def put(row: Int, made: Array[Long]): Unit = {
    if (row >= states.length) {
      val room = math.max(row + 1, states.length * 2)
      if (room.toLong * math.max(1, width) > Int.MaxValue - 8) throw new IllegalStateException(s"more than $row rows in one relation of a join")
      states = java.util.Arrays.copyOf(states, room)
      codes = java.util.Arrays.copyOf(codes, room * math.max(1, width))
    }
    if (row >= used) used = row + 1
    if (made == null) states(row) = LeftOut
    else {
      System.arraycopy(made, 0, codes, row * width, width)
      states(row) = Present
      present += 1
      lists.foreach(_.link(row))
    }
  }

  /** Lets the row at a place leave; `gone` is given the place of its codes, if it has some. */
  def remove(row: Int, gone: RowCoder): Unit = if (row < used) {
    if (states(row) == Present) {
      lists.foreach(_.unlink(row))
      present -= 1
      gone.release(codes, row * width)
    }
    states(row) = Unknown
  }

  def clear(gone: RowCoder): Unit = {
    lists.foreach(_.clear())
    if (gone.usesDictionary) { var row = 0; while (row < used) { if (states(row) == Present) gone.release(codes, row * width); row += 1 } }
    if (states.length > 1024 && used < states.length / 4) {
      states = new Array[Byte](math.max(64, used * 2))
      codes = new Array[Long](states.length * math.max(1, width))
    } else java.util.Arrays.fill(states, 0, used, Unknown)
    used = 0
    present = 0
  }

  /** The rows by the columns `keys`, ascending; kept up as long as they are asked for. */
  def keyed(keys: Array[Int]): KeyedRows = synchronized { // threads of one join may all ask first
    asked += 1
    if (lists.exists(asked - _.lastAsked > UnaskedFor)) lists = lists.filter(asked - _.lastAsked <= UnaskedFor)
    val known = lists.find(l => java.util.Arrays.equals(l.keys, keys)).getOrElse {
      val made = new WindowLists(this, keys)
      lists = made :: lists
      made
    }
    known.lastAsked = asked
    known.ask()
  }

  def memoryBytes: Long = 8L * codes.length + states.length + lists.map(_.memoryBytes).sum
}

private object RowTable {
  private final val Unknown: Byte = 0
  private final val Present: Byte = 1
  private final val LeftOut: Byte = 2
  /** Others are asked for so often before a list that is not is given up. */
  private final val UnaskedFor = 1000L
}
