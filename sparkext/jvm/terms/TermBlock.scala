package org.apache.spark.sql.cqels
package terms

import java.io.{Externalizable, ObjectInput, ObjectOutput}
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import org.apache.spark.sql.cqels.memory.{ByteSink, KeyHash, LongRuns}

/** Dictionary entries on their way from the tasks that met them to the driver: ids and canonical texts. */
final class TermBlock extends Externalizable {
  private[cqels] var ids = new Array[Long](64)
  private[cqels] var ends = new Array[Int](64)
  private[cqels] var texts = new Array[Byte](4096)
  private[cqels] var count = 0

  def textBytes: Int = if (count == 0) 0 else ends(count - 1)
  def estimatedBytes: Long = textBytes + 12L * count
  def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  def utf8(i: Int): Array[Byte] = util.Arrays.copyOfRange(texts, start(i), ends(i))

  def holds(i: Int, utf8: Array[Byte], from: Int, until: Int): Boolean =
    util.Arrays.equals(texts, start(i), ends(i), utf8, from, until)

  def add(id: Long, utf8: Array[Byte]): Unit = add(id, utf8, 0, utf8.length)

  def add(id: Long, utf8: Array[Byte], from: Int, until: Int): Unit = {
    val length = until - from
    val start = textBytes
    if (count == ids.length) {
      ids = util.Arrays.copyOf(ids, count * 2)
      ends = util.Arrays.copyOf(ends, count * 2)
    }
    if (start + length > texts.length) texts = util.Arrays.copyOf(texts, math.max(texts.length * 2, start + length))
    System.arraycopy(utf8, from, texts, start, length)
    ids(count) = id
    ends(count) = start + length
    count += 1
  }

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(count)
    LongRuns.write(util.Arrays.copyOf(ids, count), out)
    out.writeInt(textBytes)
    out.write(texts, 0, textBytes)
    LongRuns.writeInts(util.Arrays.copyOf(ends, count), out)
  }

  override def readExternal(in: ObjectInput): Unit = {
    count = in.readInt()
    ids = LongRuns.read(count, in)
    texts = new Array[Byte](in.readInt())
    in.readFully(texts)
    ends = LongRuns.readInts(count, in)
  }
}

/** Gives terms their ids without asking anybody, and notes each dictionary term once a block.
 *
 *  Two texts with one id are both noted: the driver, who sees all blocks, finds and mends the collision.
 */
final class TermEncoder(hasher: TermHasher) {
  private var block = new TermBlock
  // A number of the block, counted from 1, below the upper half of its id's hash: most wrong entries are told by that.
  private var slots = new Array[Long](1 << 12)
  private val last = Array.fill(4)(new LastTerm)
  private val lastTexts = new Array[String](4)
  private val lastIds = new Array[Long](4)
  // Terms that wait to be noted together.
  private var staged = new TermBlock
  private val heldSlots = new Array[Long](TermEncoder.Together)
  private var touched = 0

  def memoryBytes: Long = block.estimatedBytes + staged.estimatedBytes + 8L * slots.length

  /** The entries noted since the last call. */
  def takeBlock(): TermBlock = {
    noteStaged()
    val taken = block
    block = new TermBlock
    if (slots.length <= TermEncoder.MostKept) util.Arrays.fill(slots, 0L) else slots = new Array[Long](1 << 12)
    util.Arrays.fill(lastTexts.asInstanceOf[Array[AnyRef]], null)
    last.foreach(_.forget())
    taken
  }

  /** The id of a term; `place` (0 to 3: its place in the quad) says which text it is likely to repeat. */
  def encode(canonicalText: String, place: Int): Long =
    if (canonicalText == lastTexts(place)) lastIds(place)
    else {
      val utf8 = canonicalText.getBytes(UTF_8)
      val id = encode(utf8, 0, utf8.length)
      lastTexts(place) = canonicalText
      lastIds(place) = id
      id
    }

  /** As `encode`, of the canonical text from `from` until `until`. */
  def encode(bytes: Array[Byte], from: Int, until: Int, place: Int): Long = {
    val known = last(place)
    if (!known.is(bytes, from, until)) {
      known.id = encode(bytes, from, until)
      known.keep(bytes, from, until)
    }
    known.id
  }

  /** The id of the term whose canonical text these bytes are. */
  def encode(utf8: Array[Byte], from: Int, until: Int): Long = {
    val id = hasher.id(utf8, from, until)
    if (!TermId.isInline(id)) {
      if (staged.count == TermEncoder.Together || staged.textBytes > TermEncoder.StagedBytes) noteStaged()
      staged.add(id, utf8, from, until)
    }
    id
  }

  /** Appends the canonical text of an id; false where it was not noted since the last block. */
  private[cqels] def appendText(id: Long, out: ByteSink): Boolean =
    if (TermId.isInline(id)) { TermCodec.appendInline(id, out); true }
    else {
      noteStaged()
      val hash = TermEncoder.hash(id)
      val mask = slots.length - 1
      var slot = hash & mask
      while (slots(slot) != 0 && block.ids(slots(slot).toInt - 1) != id) slot = (slot + 1) & mask
      val entry = slots(slot).toInt - 1
      if (entry >= 0) out.append(block.texts, block.start(entry), block.ends(entry) - block.start(entry))
      entry >= 0
    }

  /** Notes the terms of another block, whose ids are from an encoder like this. */
  private[cqels] def note(terms: TermBlock): Unit = {
    var from = 0
    while (from < terms.count) {
      val until = math.min(from + TermEncoder.Together, terms.count)
      noteAll(terms, from, until)
      from = until
    }
  }

  private def noteStaged(): Unit = if (staged.count > 0) {
    noteAll(staged, 0, staged.count)
    if (staged.textBytes > 2 * TermEncoder.StagedBytes) staged = new TermBlock else staged.count = 0
  }

  /** Notes some terms together: what the table has of all of them is fetched first, so that they wait for memory at once. */
  private def noteAll(terms: TermBlock, from: Int, until: Int): Unit = {
    val mask = slots.length - 1
    var i = from
    while (i < until) { heldSlots(i - from) = slots(TermEncoder.hash(terms.ids(i)) & mask); i += 1 }
    var sum = 0
    i = 0
    while (i < until - from) {
      val entry = heldSlots(i).toInt - 1
      if (entry >= 0) sum += block.texts(block.start(entry)) + block.texts(block.ends(entry) - 1)
      i += 1
    }
    // Kept, so that no compiler leaves the reading out.
    touched = sum
    i = from
    while (i < until) { note(terms.ids(i), terms.texts, terms.start(i), terms.ends(i)); i += 1 }
  }

  private def note(id: Long, utf8: Array[Byte], from: Int, until: Int): Unit = {
    if (2 * block.count >= slots.length) widen()
    val hash = TermEncoder.hash(id)
    val mask = slots.length - 1
    var slot = hash & mask
    var held = slots(slot)
    while (held != 0) {
      // Equal texts have one id, so the text decides alone.
      if ((held >>> 32).toInt == hash && block.holds(held.toInt - 1, utf8, from, until)) return
      slot = (slot + 1) & mask
      held = slots(slot)
    }
    slots(slot) = hash.toLong << 32 | (block.count + 1)
    block.add(id, utf8, from, until)
  }

  private def widen(): Unit = {
    val narrow = slots
    slots = new Array[Long](narrow.length * 2)
    val mask = slots.length - 1
    for (held <- narrow if held != 0) {
      var slot = (held >>> 32).toInt & mask
      while (slots(slot) != 0) slot = (slot + 1) & mask
      slots(slot) = held
    }
  }
}

private object TermEncoder {
  /** A table of so many slots is used again for the next block. */
  final val MostKept = 1 << 19

  /** So many terms are noted together, or so many bytes of them and one term more. */
  final val Together = 128
  final val StagedBytes = 1 << 14

  def hash(id: Long): Int = (KeyHash.spread(id) >>> 32).toInt
}

/** The text and id of the term that was read last at one place. */
private final class LastTerm {
  private var text = new Array[Byte](128)
  private var length = -1
  var id = 0L

  def is(bytes: Array[Byte], from: Int, until: Int): Boolean =
    length == until - from && util.Arrays.equals(text, 0, length, bytes, from, until)

  def keep(bytes: Array[Byte], from: Int, until: Int): Unit = {
    length = until - from
    if (length > text.length) text = new Array[Byte](length * 2)
    System.arraycopy(bytes, from, text, 0, length)
  }

  def forget(): Unit = length = -1
}
