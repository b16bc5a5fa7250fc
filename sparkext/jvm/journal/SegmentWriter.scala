package org.apache.spark.sql.cqels
package journal

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.{ByteSink, Json, LongSlots}
import org.apache.spark.sql.cqels.terms.TermId

/** A segment that is being made: streams with their elements, one after the other, then the terms of all their ids, each once. */
private[cqels] final class SegmentWriter(dictionary: Dictionary) {
  private var buffer = ByteBuffer.allocate(1 << 16)
  private val seen = new LongSlots
  private var ids = new Array[Long](1024)
  private var idCount = 0
  private val spans = mutable.ArrayBuffer[String]()

  def isEmpty: Boolean = spans.isEmpty

  def int(value: Int): Unit = { reserve(4); buffer.putInt(value) }

  def longs(values: Array[Long], from: Int, count: Int): Unit = {
    reserve(8 * count)
    buffer.asLongBuffer().put(values, from, count)
    buffer.position(buffer.position() + 8 * count)
  }

  /** Rows of ids, whose terms are written with them; `before` is the row written before, and becomes the last one: most
   *  have its predicate and graph.
   */
  def rows(values: Array[Long], from: Int, count: Int, before: Array[Long]): Unit = {
    reserve(8L * count)
    var column = 0
    var i = from
    while (i < from + count) {
      val id = values(i)
      buffer.putLong(id)
      if (id != before(column)) { before(column) = id; if (!TermId.isInline(id)) note(id) }
      column += 1
      if (column == before.length) column = 0
      i += 1
    }
  }

  private def note(id: Long): Unit = if (id != 0L && seen.get(id) == LongSlots.Absent) {
    seen.put(id, 0L)
    if (idCount == ids.length) ids = java.util.Arrays.copyOf(ids, idCount * 2)
    ids(idCount) = id
    idCount += 1
  }

  private def text(value: String): Unit = {
    val bytes = value.getBytes(UTF_8)
    int(bytes.length)
    reserve(bytes.length)
    buffer.put(bytes)
  }

  /** Begins a stream, whose elements follow; they are of the times from the first to the last. */
  def stream(iri: String, width: Int, elements: Int, first: Long, last: Long): Unit = {
    int(Segment.Stream)
    text(iri)
    int(width)
    int(elements)
    spans += s"${Json.quote(iri)}:[$first,$last]"
  }

  /** The whole segment; nothing is added afterwards. */
  def made(): Segment = {
    int(Segment.Terms)
    int(idCount)
    longs(ids, 0, idCount)
    val sink = new ByteSink(1 << 12)
    var i = 0
    while (i < idCount) {
      sink.reset()
      dictionary.appendText(ids(i), sink)
      int(sink.length)
      reserve(sink.length)
      buffer.put(sink.array, 0, sink.length)
      i += 1
    }
    new Segment(buffer.array(), buffer.position(), spans.mkString("{", ",", "}"))
  }

  /** Makes room for so many bytes. */
  def reserve(more: Long): Unit = if (buffer.remaining() < more) {
    val needed = buffer.position() + more
    if (needed > Int.MaxValue - 64) throw new IllegalStateException("more elements between two commits of a checkpoint than a segment of 2 GiB holds")
    val larger = ByteBuffer.allocate(math.min(Int.MaxValue - 64L, math.max(needed, buffer.capacity() * 3L / 2)).toInt)
    buffer.flip()
    larger.put(buffer)
    buffer = larger
  }
}

/** A segment in memory; `spans` tells of each stream the first and last time of its elements, as JSON. A file holds one or several, each packed: its version, length, and bytes. */
final class Segment private[journal] (private var bytes: Array[Byte], length: Int, val spans: String) {
  def size: Int = length

  /** Gives its bytes back; it is in a file. */
  def letGo(): Unit = bytes = null

  /** Writes it into a file of its own; how many bytes that takes. */
  def writeTo(folder: CheckpointFolder, name: String): Long = {
    val packed = CheckpointFiles.packed(bytes, length)
    val head = ByteBuffer.allocate(8).putInt(Segment.Version).putInt(packed.length).array()
    folder.files.write(name, Seq(head, packed), replaces = true)
    8L + packed.length
  }
}

private[journal] object Segment {
  final val Version = 1
  final val Stream = 1
  final val Terms = 2

  /** The segments of a file, still packed. */
  def packed(folder: CheckpointFolder, name: String): Seq[Array[Byte]] = {
    val all = ByteBuffer.wrap(folder.files.read(name))
    val found = mutable.ArrayBuffer[Array[Byte]]()
    while (all.hasRemaining) {
      val version = all.getInt()
      if (version != Version) throw new TornFile(s"$name is of format $version of segments; this version reads $Version")
      val bytes = new Array[Byte](all.getInt())
      all.get(bytes)
      found += bytes
    }
    found.toSeq
  }

  def text(from: ByteBuffer): String = {
    val bytes = new Array[Byte](from.getInt())
    from.get(bytes)
    new String(bytes, UTF_8)
  }
}
