package org.apache.spark.sql.cqels
package journal

import java.nio.ByteBuffer
import java.util.Arrays

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{ElementBlock, RecordLayout}
import org.apache.spark.sql.cqels.memory.LongTable

/** Elements of one stream with their numbers in it, in the order in which they came: since a segment was cut last, or as segments
 *  have them. `width` is that of the stream's records, 0 where it has none.
 */
private[cqels] final class ElementJournal(val iri: String, val width: Int) {
  private var times = new Array[Long](64)
  private var numbers = new Array[Long](64)
  private var quadEnds = new Array[Int](64)
  private var recordEnds = new Array[Int](64)
  private var used = 0
  private val quads = new LongTable(4, 64)
  private val records = if (width == 0) null else new LongTable(width, 64)

  def size: Int = used
  def time(element: Int): Long = times(element)
  def number(element: Int): Long = numbers(element)
  private def quadBegin(element: Int) = if (element == 0) 0 else quadEnds(element - 1)
  private def recordBegin(element: Int) = if (element == 0) 0 else recordEnds(element - 1)

  /** Notes an element of a block, and which of the stream's it is. */
  def note(block: ElementBlock, element: Int, number: Long): Unit = {
    quads.appendAll(block.quads.data, block.begin(element), block.end(element) - block.begin(element))
    if (block.records != null) records.appendAll(block.records.data, block.recordBegin(element), block.recordEnd(element) - block.recordBegin(element))
    ended(block.time(element), number)
  }

  private def ended(time: Long, number: Long): Unit = {
    if (used == times.length) {
      times = Arrays.copyOf(times, used * 2)
      numbers = Arrays.copyOf(numbers, used * 2)
      quadEnds = Arrays.copyOf(quadEnds, used * 2)
      recordEnds = Arrays.copyOf(recordEnds, used * 2)
    }
    times(used) = time
    numbers(used) = number
    quadEnds(used) = quads.rowCount
    recordEnds(used) = if (records == null) 0 else records.rowCount
    used += 1
  }

  /** Writes what was noted: of elements of a time that is not `kept` any more only that they were there. */
  def cut(to: SegmentWriter, kept: Long => Boolean): Unit = {
    var (first, last) = (Long.MaxValue, Long.MinValue)
    var bytes = 0L
    val isThere = new Array[Boolean](used)
    var i = 0
    while (i < used) {
      first = math.min(first, times(i))
      last = math.max(last, times(i))
      isThere(i) = if (i > 0 && times(i) == times(i - 1)) isThere(i - 1) else kept(times(i))
      bytes += 20L + (if (isThere(i)) 32L * (quadEnds(i) - quadBegin(i)) + 4L + 8L * width * (recordEnds(i) - recordBegin(i)) else 0L)
      i += 1
    }
    to.stream(iri, width, used, first, last)
    to.reserve(bytes)
    to.longs(times, 0, used)
    to.longs(numbers, 0, used)
    val (quadBefore, recordBefore) = (new Array[Long](4), new Array[Long](width))
    i = 0
    while (i < used) {
      if (isThere(i)) {
        to.int(quadEnds(i) - quadBegin(i))
        to.rows(quads.data, quadBegin(i) * 4, (quadEnds(i) - quadBegin(i)) * 4, quadBefore)
        if (records != null) {
          to.int(recordEnds(i) - recordBegin(i))
          to.rows(records.data, recordBegin(i) * width, (recordEnds(i) - recordBegin(i)) * width, recordBefore)
        }
      } else to.int(ElementJournal.Gone)
      i += 1
    }
  }

  /** Begins anew. */
  def forget(): Unit = {
    used = 0
    quads.release(ElementJournal.MostKept)
    if (records != null) records.release(ElementJournal.MostKept)
    if (times.length > ElementJournal.MostKept) {
      times = new Array[Long](64)
      numbers = new Array[Long](64)
      quadEnds = new Array[Int](64)
      recordEnds = new Array[Int](64)
    }
  }

  // -- reading again --------------------------------------------------------------------------------------------

  /** Adds the elements that `cut` wrote, those of the times from `oldest` on, with the ids of who wrote them; the others' times are
   *  given to `seen`, as are those of all.
   */
  def read(from: ByteBuffer, elements: Int, oldest: Long)(seen: Long => Unit): Unit = {
    val (at, theirs) = (new Array[Long](elements), new Array[Long](elements))
    longs(from, at)
    longs(from, theirs)
    var i = 0
    while (i < elements) {
      seen(at(i))
      val quadCount = from.getInt()
      if (quadCount != ElementJournal.Gone) {
        val before = (quads.rowCount, if (records == null) 0 else records.rowCount)
        rows(from, quads, quadCount)
        if (records != null) rows(from, records, from.getInt())
        if (at(i) >= oldest) ended(at(i), theirs(i))
        else { quads.truncate(before._1); if (records != null) records.truncate(before._2) }
      }
      i += 1
    }
  }

  private def longs(from: ByteBuffer, to: Array[Long]): Unit = {
    from.asLongBuffer().get(to)
    from.position(from.position() + 8 * to.length)
  }

  private def rows(from: ByteBuffer, to: LongTable, count: Int): Unit = {
    val cells = new Array[Long](count * to.arity)
    longs(from, cells)
    to.appendAll(cells, 0, count)
  }

  /** Gives the ids of the elements from a place on others, and has each be held once for each cell. */
  def renumber(element: Int, number: Long => Long, dictionary: Dictionary): Unit = {
    renumber(quads, quadBegin(element), number, dictionary)
    if (records != null) renumber(records, recordBegin(element), number, dictionary)
  }

  private def renumber(table: LongTable, row: Int, number: Long => Long, dictionary: Dictionary): Unit = {
    val cells = table.data
    var i = row * table.arity
    while (i < table.rowCount * table.arity) { cells(i) = number(cells(i)); i += 1 }
    val held = Arrays.copyOfRange(cells, row * table.arity, i)
    dictionary.retain(held, held.length)
  }

  /** The elements as a block, which takes over what they hold. */
  def block(dictionary: Dictionary, layout: RecordLayout): ElementBlock = {
    val made = new ElementBlock(dictionary, layout)
    var i = 0
    while (i < used) {
      made.beginElement(times(i))
      made.quads.appendAll(quads.data, quadBegin(i), quadEnds(i) - quadBegin(i))
      if (records != null) made.records.appendAll(records.data, recordBegin(i), recordEnds(i) - recordBegin(i))
      i += 1
    }
    made
  }
}

private[journal] object ElementJournal {
  /** In place of the number of an element's quads: it is kept no more. */
  final val Gone = -1
  final val MostKept = 1 << 20
}
