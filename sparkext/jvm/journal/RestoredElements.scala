package org.apache.spark.sql.cqels
package journal

import java.nio.ByteBuffer

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.{Dictionary, IdBuffer}
import org.apache.spark.sql.cqels.memory.LongSlots

/** The elements that the segments of a checkpoint have, with ids of this process, by stream, until streams take them over.
 *
 *  Of each stream there are also the times of the elements that came after a time, with how many came at each.
 */
final class RestoredElements(dictionary: Dictionary) {
  private final class Restored(val oldest: Long, val after: Long) {
    /** The times of elements after `after`, as they came. */
    var times = new Array[Long](64)
    var timeCount = 0
    var elements: ElementJournal = _ // null: none yet

    def see(time: Long): Unit = if (time > after) {
      if (timeCount == times.length) times = java.util.Arrays.copyOf(times, timeCount * 2)
      times(timeCount) = time
      timeCount += 1
    }
  }
  private val streams = mutable.HashMap[String, Restored]()
  private val borrowed = new IdBuffer // held until all is read

  /** Says that a stream's elements before a time are gone, and that times up to another do not matter any more. */
  def expect(iri: String, oldest: Long, after: Long): Unit = streams(iri) = new Restored(oldest, after)

  private val packed = mutable.Queue[Array[Byte]]()

  /** Reads a file, whose segments are taken in by `unpack`; throws [[TornFile]]. */
  def read(folder: CheckpointFolder, file: String): Unit = packed ++= Segment.packed(folder, file)

  /** Takes in the segments that were read; those of streams that are not expected are left out. */
  def unpack(): Unit = while (packed.nonEmpty) read(ByteBuffer.wrap(CheckpointFiles.unpacked(packed.dequeue())))

  private def read(from: ByteBuffer): Unit = {
    val begun = mutable.ArrayBuffer[(ElementJournal, Int)]()
    var kind = from.getInt()
    while (kind == Segment.Stream) {
      val iri = Segment.text(from)
      val (width, elements) = (from.getInt(), from.getInt())
      streams.get(iri) match {
        case Some(stream) =>
          if (stream.elements == null) stream.elements = new ElementJournal(iri, width)
          begun += ((stream.elements, stream.elements.size))
          stream.elements.read(from, elements, stream.oldest)(stream.see)
        case None => new ElementJournal(iri, width).read(from, elements, Long.MaxValue)(_ => ())
      }
      kind = from.getInt()
    }
    val ids = new Array[Long](from.getInt())
    from.asLongBuffer().get(ids)
    from.position(from.position() + 8 * ids.length)
    val others = terms(from, ids)
    val number: Long => Long = if (others == null) identity else { id => val other = others.get(id); if (other == LongSlots.Absent) id else other }
    begun.foreach { case (elements, from) => if (elements.size > from) elements.renumber(from, number, dictionary) }
    dictionary.release(borrowed.array, borrowed.size)
    borrowed.reset()
  }

  /** The ids here of those whose id is another one than there; null where none is. */
  private def terms(from: ByteBuffer, ids: Array[Long]): LongSlots = {
    var others: LongSlots = null
    val bytes = from.array
    for (id <- ids) {
      val length = from.getInt()
      val at = from.arrayOffset + from.position()
      val here = dictionary.encodeRetained(bytes, at, at + length)
      borrowed.add(here)
      if (here != id) {
        if (others == null) others = new LongSlots
        others.put(id, here)
      }
      from.position(from.position() + length)
    }
    others
  }

  /** The times of a stream's elements and how many came at each, as "time count time count ...". */
  def times(iri: String): String = {
    val stream = streams(iri)
    val (times, used) = (stream.times, stream.timeCount)
    java.util.Arrays.sort(times, 0, used)
    val text = new java.lang.StringBuilder
    var i = 0
    while (i < used) {
      var next = i + 1
      while (next < used && times(next) == times(i)) next += 1
      text.append(times(i)).append(' ').append(next - i).append(' ')
      i = next
    }
    stream.times = new Array[Long](64)
    stream.timeCount = 0
    text.toString
  }

  /** The elements of a stream, which are given once; null where there are none. */
  private[cqels] def take(iri: String): ElementJournal = {
    val stream = streams(iri)
    val elements = stream.elements
    stream.elements = null
    elements
  }
}
