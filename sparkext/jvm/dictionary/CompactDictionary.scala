package org.apache.spark.sql.cqels
package dictionary

import java.io.{Externalizable, ObjectInput, ObjectOutput}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.memory.{ByteBlob, ByteSink, LongRuns}
import org.apache.spark.sql.cqels.rdf.{IdCollision, MalformedTerm}
import org.apache.spark.sql.cqels.terms.{CanonicalText, TermHasher, TermId}

/** A layer of the dictionary in memory: ids and their canonical texts in primitive arrays.
  *
  * Open addressing with linear probing over ids; each slot holds the 40-bit place of its text in a
  * [[ByteBlob]], so a term costs 13 bytes of table at 80 % load (about 16) and a length byte
  * beside its text. A quoted triple stores the ids of its parts in place of a text; its parts are
  * in the same layer.
  */
final class CompactDictionary private (
    private var hashWidth: Int,
    private var entries: Int,
    private var ids: Array[Long],
    private var low: Array[Int],
    private var high: Array[Byte],
    private var blob: ByteBlob,
    private var salted: Array[Int]
) extends DictionaryLayer with Externalizable {

  /** For deserialisation; also the empty layer. */
  def this() =
    this(TermId.PayloadBits, 0, Array(0L), Array(0), Array(0.toByte), new ByteBlob(), Array())

  override def size: Int = entries

  override def hashBits: Int = hashWidth

  override def memoryBytes: Long = ids.length * 13L + salted.length * 4L + blob.memoryBytes

  override def find(id: Long): Int = {
    val table = ids
    var slot = DictionaryLayer.home(id, table.length)
    while (true) {
      val held = table(slot)
      if (held == 0) return -1
      if (held == id) return slot
      slot += 1
      if (slot == table.length) slot = 0
    }
    -1
  }

  override private[cqels] def capacity: Int = ids.length

  override def idAt(slot: Int): Long = ids(slot)

  override protected def appendOwnText(slot: Int, out: ByteSink): Unit = {
    val from = blob.startOf(place(slot))
    blob.copy(from, blob.lengthAt(place(slot)), out)
  }

  override protected def quotedPart(slot: Int, part: Int): Long = blob.longAt(place(slot) + 8 * part)

  override private[cqels] def hasText(slot: Int, bytes: Array[Byte], from: Int, until: Int): Boolean =
    blob.sameAt(place(slot), bytes, from, until)

  override private[cqels] def saltedSlots: Array[Int] = salted

  private def place(slot: Int): Long = (high(slot) & 0xffL) << 32 | (low(slot) & 0xffffffffL)

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeByte(CompactDictionary.FormatVersion)
    out.writeInt(hashWidth)
    out.writeInt(entries)
    out.writeInt(ids.length)
    LongRuns.write(ids, out)
    LongRuns.writeInts(low, out)
    out.write(high)
    out.writeInt(salted.length)
    salted.foreach(out.writeInt)
    blob.write(out)
  }

  override def readExternal(in: ObjectInput): Unit = {
    val version = in.readByte()
    if (version != CompactDictionary.FormatVersion)
      throw new java.io.InvalidObjectException(s"a compact dictionary of unknown format $version")
    hashWidth = in.readInt()
    entries = in.readInt()
    val capacity = in.readInt()
    ids = LongRuns.read(capacity, in)
    low = LongRuns.readInts(capacity, in)
    high = new Array[Byte](capacity)
    in.readFully(high)
    salted = Array.fill(in.readInt())(in.readInt())
    blob = ByteBlob.read(in)
  }
}

object CompactDictionary {
  import DictionaryLayer.{capacityFor, home}

  private final val FormatVersion = 1
  // At 80 % load the longest of a hundred million slots has some 800. Terms that come in the order of their slots and are more
  // than was expected fill one end of a table that as a whole has room, and then look for a slot past each other.
  private final val LongestRun = 4096
  private final val MostCrowded = 4

  /** All terms of two layers that agree. */
  private[cqels] def merged(one: DictionaryLayer, other: DictionaryLayer): CompactDictionary =
    new Builder(one.size + other.size, new TermHasher(one.hashBits)).addAll(one).addAll(other).build()

  /** Collects terms for a layer; `expected` need only be roughly right. Not for several threads at
    * once.
    *
    * `hasher` gives the ids of the parts of quoted triples and says which ids are plain hashes.
    */
  final class Builder(expected: Int, hasher: TermHasher) {

    def this(expected: Int) = this(expected, new TermHasher())

    private var ids = new Array[Long](capacityFor(math.max(expected, 8)))
    private var low = new Array[Int](ids.length)
    private var high = new Array[Byte](ids.length)
    private val blob = new ByteBlob()
    private var used = 0
    private var crowded = 0
    private val saltedIds = new java.util.ArrayList[java.lang.Long]()

    def size: Int = used

    /** How often the table grew because terms came in the order of their slots and were more than expected. */
    private[cqels] def timesCrowded: Int = crowded

    def add(id: Long, canonicalText: String): Builder = add(id, canonicalText.getBytes(UTF_8))

    /** Adds a term, given its canonical text; a repeated pair and an inline id change nothing.
      *
      * The parts of a quoted triple are added with it. Throws [[IdCollision]] when the id already
      * stands for another text in this layer.
      */
    def add(id: Long, utf8: Array[Byte]): Builder = {
      if (id == 0) throw new MalformedTerm(s"0 is not an id, given for ${new String(utf8, UTF_8)}")
      if (id < 0) addQuoted(id, utf8)
      else if (!TermId.isInline(id)) {
        val slot = find(id)
        if (ids(slot) == id) {
          if (!blob.sameAt(place(slot), utf8))
            throw new IdCollision(id, textAt(slot), new String(utf8, UTF_8))
        } else {
          val kind = CanonicalText.kindOf(utf8, 0, utf8.length)
          if (kind != TermId.kind(id)) {
            val text = new String(utf8, UTF_8)
            throw new MalformedTerm(s"an id of kind ${TermId.kind(id)} for $text")
          }
          put(slot, id, blob.append(utf8))
          noteSalted(id, utf8)
        }
      }
      this
    }

    /** Adds a term under the id that the hasher gives it; answers the id. */
    def add(canonicalText: String): Long = {
      val utf8 = canonicalText.getBytes(UTF_8)
      val id = hasher.id(utf8)
      add(id, utf8)
      id
    }

    /** Takes over the terms of a layer, which must agree with those that are here. */
    private[cqels] def addAll(layer: DictionaryLayer): Builder = {
      val salted = layer.saltedSlots.map(layer.idAt).toSet
      var from = layer.nextSlot(-1)
      while (from >= 0) {
        val id = layer.idAt(from)
        val to = find(id)
        if (ids(to) == 0) {
          put(to, id, if (id < 0) blob.appendLongs(layer.quotedAt(from)) else blob.append(layer.utf8At(from)))
          if (salted(id)) saltedIds.add(id)
        }
        from = layer.nextSlot(from)
      }
      this
    }

    private def addQuoted(id: Long, utf8: Array[Byte]): Unit = {
      val ends = CanonicalText.quotedEnds(utf8, 0, utf8.length)
      val parts = hasher.partIds(utf8, 0, utf8.length)
      val at = find(id)
      if (ids(at) == id) {
        val same = (0 until 3).forall(i => blob.longAt(place(at) + 8 * i) == parts(i))
        if (!same) throw new IdCollision(id, textAt(at), new String(utf8, UTF_8))
      } else {
        var from = 3
        for (i <- 0 until 3) {
          add(parts(i), java.util.Arrays.copyOfRange(utf8, from, ends(i)))
          from = ends(i) + 1
        }
        put(find(id), id, blob.appendLongs(parts))
        noteSalted(id, utf8)
      }
    }

    private def noteSalted(id: Long, utf8: Array[Byte]): Unit =
      if (hasher.plainId(utf8, 0, utf8.length) != id) saltedIds.add(id)

    /** The finished layer; the builder is of no use afterwards. */
    def build(): CompactDictionary = {
      val fitting = capacityFor(used)
      if (ids.length > fitting + fitting / 8) resize(fitting)
      blob.trim()
      val salted = new Array[Int](saltedIds.size)
      for (i <- salted.indices) salted(i) = find(saltedIds.get(i))
      new CompactDictionary(hasher.bits, used, ids, low, high, blob, salted)
    }

    /** The slot that holds the id or, when there is none, the free slot for it. */
    private def find(id: Long): Int = {
      var slot = home(id, ids.length)
      while (ids(slot) != id && ids(slot) != 0) {
        slot += 1
        if (slot == ids.length) slot = 0
      }
      slot
    }

    private def put(slot: Int, id: Long, offset: Long): Unit = {
      ids(slot) = id
      low(slot) = offset.toInt
      high(slot) = (offset >>> 32).toByte
      used += 1
      if (used + used / 4 + 1 >= ids.length) resize(capacityFor(used * 2L))
      else if (crowded < MostCrowded && runBefore(slot, id) > LongestRun) {
        crowded += 1
        resize(math.min(ids.length * 2L, DictionaryLayer.MaxCapacity.toLong).toInt)
      }
    }

    /** How many slots lie between a term's first and the one it got. */
    private def runBefore(slot: Int, id: Long): Int = {
      val from = slot - home(id, ids.length)
      if (from < 0) from + ids.length else from
    }

    private def resize(capacity: Int): Unit = {
      if (used >= capacity - 1)
        throw new IllegalStateException(s"a dictionary layer cannot hold more than $used terms")
      val (oldIds, oldLow, oldHigh) = (ids, low, high)
      ids = new Array[Long](capacity)
      low = new Array[Int](capacity)
      high = new Array[Byte](capacity)
      for (old <- oldIds.indices if oldIds(old) != 0) {
        val slot = find(oldIds(old))
        ids(slot) = oldIds(old)
        low(slot) = oldLow(old)
        high(slot) = oldHigh(old)
      }
    }

    private def place(slot: Int): Long = (high(slot) & 0xffL) << 32 | (low(slot) & 0xffffffffL)

    private def textAt(slot: Int): String =
      new CompactDictionary(hasher.bits, used, ids, low, high, blob, Array()).textAt(slot)
  }
}
