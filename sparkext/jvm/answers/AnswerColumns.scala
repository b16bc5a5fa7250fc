package org.apache.spark.sql.cqels
package answers

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Paths, StandardOpenOption}

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.{ByteSink, KeyHash, LongTable}
import org.apache.spark.sql.cqels.terms.TermCodec

/** Answers as columns of N-Triples texts, null where unbound: the one place where ids become terms.
 *
 *  A whole column is decoded at once into one buffer, laid out as Arrow lays out strings: a validity bitmap, 32-bit end
 *  offsets, the UTF-8 bytes. The file holds the buffers of all columns one after the other; Python maps it and wraps
 *  them without a copy. One column's buffers are kept for the next column and the next evaluation: new ones of many
 *  megabytes would be filled with zeros first, and have the collector run every few evaluations.
 */
final class AnswerColumns(texts: StaticTexts) {
  private val room = new ColumnRoom

  /** Bytes that are kept for the next evaluation. */
  def memoryBytes: Long = room.memoryBytes

  /** Gives that back. */
  def release(): Unit = room.release()

  /** Writes the file; returns JSON: for each column `[nulls, validity at, offsets at, bytes at, number of bytes]`.
   *
   *  What could not be written whole is not left behind: where answers lie in memory, there would be no room for others.
   */
  def write(rows: LongTable, columns: Int, path: String): String = {
    val out = FileChannel.open(Paths.get(path), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
    try {
      try written(rows, columns, out)
      finally { out.close(); room.settle() }
    } catch { case e: Throwable => Files.deleteIfExists(Paths.get(path)); throw e }
  }

  private def written(rows: LongTable, columns: Int, out: FileChannel): String = {
    var at = 0L
    val described = (0 until columns).map { c =>
      val column = new TermColumn(rows, c, texts, room)
      val buffers = room.buffers
      val places = buffers.scanLeft(at)((place, b) => place + b.remaining)
      at = places.last
      while (buffers.exists(_.hasRemaining)) out.write(buffers)
      s"[${column.nulls},${places(0)},${places(1)},${places(2)},${room.sink.length}]"
    }
    described.mkString("[", ",", "]")
  }
}

/** Where one column after the other is laid out. */
private final class ColumnRoom {
  import ColumnRoom._

  var sink = new ByteSink(Least)
  var ends = new Array[Int](Least)
  var validity = new Array[Byte](Least)
  private var offsets = ByteBuffer.allocate(0)
  private var rows = 0
  private var most = 0L // bytes that this evaluation has needed

  def memoryBytes: Long = sink.array.length + 4L * ends.length + validity.length + offsets.capacity

  /** Makes room for a column of so many rows. */
  def begin(rows: Int): Unit = {
    this.rows = rows
    sink.reset()
    if (ends.length <= rows) ends = new Array[Int](rows + 1)
    if (validity.length < bitmap) validity = new Array[Byte](bitmap)
    else java.util.Arrays.fill(validity, 0, bitmap, 0.toByte)
  }

  // Padded, so that what follows is aligned.
  private def bitmap: Int = (rows + 63) / 64 * 8

  /** What is to be written of the column. */
  def buffers: Array[ByteBuffer] = {
    val size = (4 * (rows + 1) + 7) / 8 * 8
    if (offsets.capacity < size) offsets = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)
    offsets.clear().limit(size)
    offsets.asIntBuffer().put(ends, 0, rows + 1)
    most = math.max(most, sink.length.toLong + 2L * size + bitmap)
    val padding = ByteBuffer.allocate((8 - sink.length % 8) % 8)
    Array(ByteBuffer.wrap(validity, 0, bitmap), offsets, ByteBuffer.wrap(sink.array, 0, sink.length), padding)
  }

  /** Gives room back of which an evaluation has needed little: after a peak. */
  def settle(): Unit = {
    if (memoryBytes > Spare * math.max(most, Kept)) release()
    most = 0L
  }

  def release(): Unit = {
    sink = new ByteSink(Least)
    ends = new Array[Int](Least)
    validity = new Array[Byte](Least)
    offsets = ByteBuffer.allocate(0)
  }
}

private object ColumnRoom {
  final val Least = 256

  /** Room of so many times what was needed last is given back, if it is more than this many bytes. */
  final val Spare = 8L
  final val Kept = 1L << 17
}

/** Writes one column's texts. A term seen lately is copied from where it stands in the column, not looked up again. */
private final class TermColumn(rows: LongTable, c: Int, texts: StaticTexts, room: ColumnRoom) {
  private val n = rows.rowCount
  var nulls = 0

  fill()

  private def fill(): Unit = {
    room.begin(n)
    val (sink, ends, validity) = (room.sink, room.ends, room.validity)
    val ids = new Array[Long](TermColumn.Block)
    val known = new Array[Array[Byte]](TermColumn.Block)
    var last = 0L
    var from = 0
    var until = 0
    var begin = 0
    while (begin < n) {
      val count = math.min(TermColumn.Block, n - begin)
      var i = 0
      while (i < count) { ids(i) = rows(begin + i, c); i += 1 }
      texts.find(ids, count, known)
      i = 0
      while (i < count) {
        val id = ids(i)
        val row = begin + i
        if (id == 0L) nulls += 1
        else {
          validity(row >> 3) = (validity(row >> 3) | (1 << (row & 7))).toByte
          if (id == last) sink.append(sink.array, from, until - from)
          else {
            from = sink.length
            if (known(i) != null) sink.append(known(i)) else texts.append(id, sink)
            until = sink.length
            last = id
          }
        }
        ends(row + 1) = sink.length
        i += 1
      }
      begin += count
    }
  }
}

private object TermColumn {
  /** Rows whose texts are looked for together. */
  private final val Block = 128
}

/** Texts of terms, those of static data through a small cache of the ones answered lately.
 *
 *  A look-up in a dictionary of millions costs several cache misses, and a query answers the same people again and
 *  again. Only static terms are kept: they never leave, so what is kept is never out of date.
 */
final class StaticTexts(dictionary: Dictionary) {
  private val ids = new Array[Long](StaticTexts.Slots)
  private val texts = new Array[Array[Byte]](StaticTexts.Slots)
  private var touched = 0L // read by nobody; without it, the touching would be compiled away

  /** The texts of the first `count` ids that are in the cache, null for the others.
   *
   *  Steps of many ids at a time, none of which waits for another: the processor has many of their cache misses under way
   *  at once, where one term after the other would wait for each.
   */
  def find(wanted: Array[Long], count: Int, found: Array[Array[Byte]]): Unit = {
    var i = 0
    while (i < count) {
      val slot = StaticTexts.slot(wanted(i))
      found(i) = if (ids(slot) == wanted(i)) texts(slot) else null
      i += 1
    }
    i = 0
    while (i < count) {
      val text = found(i)
      if (text != null) touched += text.length // the text will be there when it is copied
      i += 1
    }
  }

  def append(id: Long, sink: ByteSink): Unit = {
    val slot = StaticTexts.slot(id)
    if (ids(slot) == id) {
      val text = texts(slot)
      sink.append(text, 0, text.length)
    } else if (TermCodec.isInline(id)) TermCodec.appendInline(id, sink)
    else {
      val from = sink.length
      dictionary.appendText(id, sink)
      if (sink.length - from <= StaticTexts.LongestKept && dictionary.isStatic(id)) {
        texts(slot) = java.util.Arrays.copyOfRange(sink.array, from, sink.length)
        ids(slot) = id
      }
    }
  }
}

private[cqels] object StaticTexts {
  val Slots: Int = 1 << 15
  val LongestKept = 256

  @inline private def slot(id: Long): Int = (KeyHash.mix(0L, id) >>> 32).toInt & (Slots - 1)
}
