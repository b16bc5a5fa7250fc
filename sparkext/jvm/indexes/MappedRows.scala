package org.apache.spark.sql.cqels
package indexes

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.cqels.memory.KeyHash
import org.apache.spark.sql.cqels.relations.{IdSet, KeyedRows}

/** The rows of a table by one of its columns, as they lie in the files of an index. For any thread.
 *
 *  A place is a slot, with the number of its block in front. Blocks are opened when they are first asked: a process of a cluster that is asked for
 *  some ranges of hashes touches their files only.
 */
private[indexes] final class MappedRows(val layout: IndexLayout, conf: Configuration) extends KeyedRows(1, 1) {
  private val blockBits = layout.blockBits
  private val slotBits = 30 - blockBits
  private val slotMask = (1 << slotBits) - 1
  private val blocks = new Array[IndexBlock](layout.blocks.length)
  layout.blocks.foreach(b => if (b.slots > slotMask) throw new UnreadableIndex(s"${layout.folder} has a block of ${b.slots} slots: too many"))

  private[indexes] def block(number: Int): IndexBlock = {
    val known = blocks(number)
    if (known != null) known else open(number)
  }

  private def open(number: Int): IndexBlock = {
    val made = IndexBlock.open(layout, number, conf)
    blocks(number) = made // two threads may both open it: its fields are final, and one of the two stays
    made
  }

  @inline private def blockAt(at: Int): IndexBlock = block(at >>> slotBits)

  override def counted: Boolean = false

  override def find(key: Long): Int =
    if (key == 0L) -1
    else {
      val hash = KeyHash.mix(0L, key)
      val number = IndexLayout.blockOf(hash, blockBits)
      val slot = block(number).find(hash)
      if (slot < 0) -1 else number << slotBits | slot
    }

  override def find(columns: Array[Array[Long]], i: Int): Int = find(columns(0)(i))
  override def length(at: Int): Int = if (at < 0) 0 else blockAt(at).length(at & slotMask)
  override def cell(at: Int, n: Int, c: Int): Long = blockAt(at).value(at & slotMask, n)
  override def copy(at: Int, from: Int, count: Int, c: Int, to: Array[Long], start: Int): Unit =
    blockAt(at).copy(at & slotMask, from, count, to, start)
  override def times(at: Int, n: Int): Int = 1
  override def total(at: Int): Long = length(at).toLong
  /** Lists are in order, and long ones have bits beside them in the file: no set is needed. */
  override def set(at: Int, asks: Int): IdSet = null
  override def search(at: Int, value: Long): Int = if (at >= 0 && value != 0L && blockAt(at).has(at & slotMask, value)) 1 else 0
  override def select(at: Int, ids: Array[Long], n: Int, found: Array[Long]): Int = if (at < 0) 0 else blockAt(at).select(at & slotMask, ids, n, found)
  override def keyCount: Int = math.min(layout.keys, Int.MaxValue.toLong).toInt
  /** In the heap; what files hold is the system's to keep. */
  override def memoryBytes: Long = 64L * blocks.length

  /** Bytes of the files that have been opened here. */
  def openedBytes: Long = blocks.indices.foldLeft(0L)((n, b) => if (blocks(b) == null) n else n + 8 * layout.blocks(b).words)
}
