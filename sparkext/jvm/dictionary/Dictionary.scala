package org.apache.spark.sql.cqels
package dictionary

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.rdf.{IdCollision, UnknownTermException}
import org.apache.spark.sql.cqels.terms.{CanonicalText, ExceptionalIds, QuotedKey, TermCodec, TermHasher, TermId, TermKey, TextKey}

/** All terms of a session: inline ids, immutable static layers, and one layer of terms known only
  * from streams.
  *
  * Equal terms have equal ids and different terms different ids. A dictionary id is the hash of
  * the canonical text; on every hit the text is compared, and a text whose id is taken by another
  * gets the hash with salt 1, 2, ... that is free, noted in the exceptions. A noted text keeps its
  * id as long as it lives, even when the term that took its plain id has left meanwhile, because
  * the exceptions are asked before a free id is given out. When a noted stream term leaves, its
  * note leaves with it; no other term was found by way of it, so nothing else moves.
  *
  * Thread-safe: static layers are read without a lock, the stream layer under one short lock.
  */
class Dictionary {

  import Dictionary._

  private val lock = new Object
  private val layers = new StaticLayers(StaticLayers.MostMerged)
  private val stream = new StreamTerms
  private val exceptions = new ExceptionalIds
  private var bits = TermId.PayloadBits
  private var started = false

  private val elements = new java.util.concurrent.atomic.AtomicLong

  /** A prefix for the labels of one element's blank nodes: no two elements, of whatever stream, share any. */
  def takeElementScope(): String = s"s${elements.incrementAndGet()}_"

  /** How many prefixes have been taken; in a process that goes on for another one, as many as there. */
  def elementScopes: Long = elements.get
  def skipElementScopes(count: Long): Unit = elements.set(count)
  /** The width of hashes, 58 unless lowered to provoke collisions; settable before the first term only. */
  def hashBits: Int = bits

  def hashBits_=(width: Int): Unit = lock.synchronized {
    if (started)
      throw new IllegalStateException("the hash width cannot change once there are terms")
    val most = TermId.PayloadBits
    require(width >= 1 && width <= most, s"a hash width from 1 to $most, not $width")
    bits = width
  }

  /** As assigning `hashBits`, for callers from Python. */
  def setHashBits(width: Int): Unit = hashBits = width

  /** The number of static terms, at most. */
  def staticSize: Long = layers.size

  /** The number of places where a static term is looked for. */
  def layerCount: Int = layers.all.length

  private[cqels] def staticLayers: Array[DictionaryLayer] = layers.all

  /** Whether the term with this id is part of static data, and so stays. */
  def isStatic(id: Long): Boolean = layers.of(id) != null

  def streamSize: Long = lock.synchronized(stream.size.toLong)

  def exceptionCount: Int = lock.synchronized(exceptions.size)

  def memoryBytes: Long =
    layers.memoryBytes + lock.synchronized(stream.memoryBytes)

  /** The ids as a pure function with the exceptions of this moment, for encoding in parallel. */
  def hasher(): TermHasher = lock.synchronized { started = true; new TermHasher(bits, exceptions.byText(text)) }

  // ---- static layers ---------------------------------------------------------------------------

  /** Adds a layer; its terms keep the ids they have in the stream layer, which lets go of them.
    *
    * Throws [[IdCollision]], and changes nothing, when an id would stand for two terms or a term
    * would have two ids. The remedy: `encode` the added text here (and `retain` it), build again
    * with the id answered, add again. Layers that share terms with earlier ones are fine.
    */
  def addStatic(layer: DictionaryLayer): Unit = {
    takeStatic(layer)
    layers.merge()
  }

  private def takeStatic(layer: DictionaryLayer): Unit = lock.synchronized {
    if (layer.hashBits != bits)
      throw new IllegalArgumentException(
        s"a layer with hashes of ${layer.hashBits} bits in a dictionary of $bits"
      )
    started = true
    layers.all.foreach(known => LayerTerms.requireAgreement(known, layer))
    checkStream(layer)
    checkExceptions(layer)
    layer.saltedSlots.foreach(slot => exceptions.put(LayerTerms.key(layer, slot), layer.idAt(slot)))
    layers.add(layer)
    dropFromStream(layer)
  }

  private def checkStream(layer: DictionaryLayer): Unit =
    for (slot <- 0 until stream.capacity if stream.idAt(slot) != 0) {
      val id = stream.idAt(slot)
      val other = layer.find(id)
      if (other >= 0 && !LayerTerms.holds(layer, other, TermKey.ofBody(stream.body(slot))))
        throw new IdCollision(id, text(id), layer.textAt(other))
    }

  /** A term with a note here must not come under its plain id, nor a term with a note there be
    * known otherwise.
    */
  private def checkExceptions(layer: DictionaryLayer): Unit = {
    exceptions.foreach { (key, id) =>
      val plain = key.id(0, bits)
      val slot = layer.find(plain)
      if (slot >= 0 && LayerTerms.holds(layer, slot, key))
        throw new IdCollision(id, text(id), layer.textAt(slot))
    }
    layer.saltedSlots.foreach { slot =>
      val key = LayerTerms.key(layer, slot)
      val known = find(key)
      if (known != 0 && known != layer.idAt(slot))
        throw new IdCollision(known, text(known), layer.textAt(slot))
    }
  }

  private def dropFromStream(layer: DictionaryLayer): Unit = {
    val shared = Array.newBuilder[Long]
    for (slot <- 0 until stream.capacity)
      if (layer.find(stream.idAt(slot)) >= 0) shared += stream.idAt(slot)
    shared.result().foreach { id =>
      val slot = stream.find(id)
      // A part that is shared as well may have left with the quoted triple that held it.
      if (slot >= 0) drop(slot)
    }
  }

  // ---- encoding --------------------------------------------------------------------------------

  /** The id of a term; a new term enters the stream layer with reference count 0. */
  def encode(canonicalText: String): Long = encodeUtf8(canonicalText.getBytes(UTF_8), 0)

  /** As `encode` and `retain` in one step. */
  def encodeRetained(canonicalText: String): Long = encodeUtf8(canonicalText.getBytes(UTF_8), 1)

  /** As `encodeRetained`, of the canonical text from `from` until `until`. */
  private[cqels] def encodeRetained(bytes: Array[Byte], from: Int, until: Int): Long = encodeUtf8(bytes, from, until, 1)

  private def encodeUtf8(utf8: Array[Byte], holders: Int): Long = encodeUtf8(utf8, 0, utf8.length, holders)

  private def encodeUtf8(bytes: Array[Byte], from: Int, until: Int, holders: Int): Long = {
    val inline = TermCodec.inlineId(bytes, from, until)
    if (inline != 0) return inline
    val kind = CanonicalText.kindOf(bytes, from, until)
    if (kind == TermId.QuotedTriple) lock.synchronized {
      val parts = partsOf(java.util.Arrays.copyOfRange(bytes, from, until)).map(encodeUtf8(_, 0))
      place(new QuotedKey(parts(0), parts(1), parts(2)), holders)
    }
    else {
      val id = TermId.hashId(kind, bytes, from, until - from, 0, bits)
      if (layers.hasText(id, bytes, from, until)) id else lock.synchronized(placeText(id, bytes, from, until, holders))
    }
  }

  /** The id of the quoted triple with these parts, as `encode`; throws UnknownTermException for unknown parts. */
  def encodeQuoted(subject: Long, predicate: Long, obj: Long): Long = placeQuoted(subject, predicate, obj, 0)

  /** As `encodeQuoted` and `retain` in one step. */
  def encodeQuotedRetained(subject: Long, predicate: Long, obj: Long): Long = placeQuoted(subject, predicate, obj, 1)

  private def placeQuoted(subject: Long, predicate: Long, obj: Long, holders: Int): Long = lock.synchronized {
    Array(subject, predicate, obj).foreach(requireKnown)
    place(new QuotedKey(subject, predicate, obj), holders)
  }

  /** The usual case of `place` without the making of a key. */
  private def placeText(plain: Long, bytes: Array[Byte], from: Int, until: Int, holders: Int): Long = {
    val slot = stream.find(plain)
    val known = if (slot < 0) null else stream.body(slot).asInstanceOf[Array[Byte]]
    if (known != null && java.util.Arrays.equals(known, 0, known.length, bytes, from, until)) {
      if (holders > 0) hold(slot, holders)
      plain
    } else place(new TextKey(java.util.Arrays.copyOfRange(bytes, from, until)), holders)
  }

  /** Finds a term or gives it a free id; called with the lock held. */
  private def place(key: TermKey, holders: Int): Long = {
    val known = find(key)
    if (known != 0) {
      val slot = stream.find(known)
      if (slot >= 0 && holders > 0) hold(slot, holders)
      return known
    }
    started = true
    var salt = 0
    var id = key.id(0, bits)
    while (occupied(id)) {
      salt += 1
      id = key.id(salt, bits)
    }
    key match {
      case quoted: QuotedKey =>
        stream.insert(id, quoted.parts)
        quoted.parts.foreach(part => { val slot = stream.find(part); if (slot >= 0) hold(slot, 1) })
      case text: TextKey => stream.insert(id, text.utf8)
    }
    if (salt > 0) exceptions.put(key, id)
    if (holders > 0) hold(stream.find(id), holders)
    id
  }

  /** The id of a known term, 0 for others; called with the lock held. */
  private def find(key: TermKey): Long = {
    val plain = key.id(0, bits)
    if (isHere(plain, key)) plain else exceptions.get(key)
  }

  private def isHere(id: Long, key: TermKey): Boolean = {
    val slot = stream.find(id)
    if (slot >= 0) key.isBody(stream.body(slot)) else layers.holds(id, key)
  }

  private def occupied(id: Long): Boolean = stream.find(id) >= 0 || layers.of(id) != null

  /** The id of a term, 0 when it is unknown; nothing is added. */
  def lookup(canonicalText: String): Long = lookupUtf8(canonicalText.getBytes(UTF_8))

  private def lookupUtf8(utf8: Array[Byte]): Long = {
    val inline = TermCodec.inlineId(utf8, 0, utf8.length)
    if (inline != 0) inline
    else if (CanonicalText.kindOf(utf8, 0, utf8.length) != TermId.QuotedTriple)
      lock.synchronized(find(new TextKey(utf8)))
    else lock.synchronized {
      val parts = partsOf(utf8).map(lookupUtf8)
      if (parts.contains(0L)) 0L else find(new QuotedKey(parts(0), parts(1), parts(2)))
    }
  }

  // ---- holding and letting go ------------------------------------------------------------------

  /** Counts a reference to each of the first `n` ids; inline and static ids are not counted.
    *
    * Throws [[UnknownTermException]], with nothing counted, when one of them is in no layer.
    */
  def retain(ids: Array[Long], n: Int): Unit = lock.synchronized {
    var i = 0
    while (i < n) {
      if (!TermId.isInline(ids(i)) && ids(i) != 0) {
        val slot = stream.find(ids(i))
        if (slot >= 0) hold(slot, 1)
        else if (layers.of(ids(i)) == null) {
          for (counted <- ids.iterator.take(i)) {
            val undone = if (TermId.isInline(counted)) -1 else stream.find(counted)
            if (undone >= 0) hold(undone, -1)
          }
          throw new UnknownTermException(ids(i))
        }
      }
      i += 1
    }
  }

  /** Counts so many references more to ids that are held. */
  private[cqels] def retain(ids: Array[Long], times: Array[Int]): Unit = lock.synchronized {
    for (i <- ids.indices; slot = stream.find(ids(i)) if slot >= 0) hold(slot, times(i))
  }

  private def hold(slot: Int, holders: Int): Unit = stream.setCount(slot, Math.addExact(stream.count(slot), holders))

  /** Takes back a reference to each of the first `n` ids; a stream term without references leaves at once. */
  def release(ids: Array[Long], n: Int): Unit = lock.synchronized {
    var i = 0
    while (i < n) {
      if (!TermId.isInline(ids(i))) releaseOne(ids(i))
      i += 1
    }
  }

  private def releaseOne(id: Long): Unit = {
    val slot = stream.find(id)
    if (slot >= 0) {
      val count = stream.count(slot)
      if (count == 0)
        throw new IllegalStateException(s"released without having been retained: ${text(id)}")
      if (count > 1) stream.setCount(slot, count - 1) else drop(slot)
    }
  }

  /** Drops the stream terms that were never retained; answers how many left, their parts included.
    */
  def sweepUnreferenced(): Int = lock.synchronized {
    val before = stream.size
    for (id <- stream.takeUnreferenced()) {
      val slot = stream.find(id)
      if (slot >= 0 && stream.count(slot) == 0) drop(slot)
    }
    before - stream.size
  }

  private def drop(slot: Int): Unit = {
    val id = stream.idAt(slot)
    val body = stream.body(slot)
    stream.remove(slot)
    // A term that moves to a static layer keeps its id, and with it its note.
    if (exceptions.size > 0 && layers.of(id) == null) exceptions.remove(TermKey.ofBody(body), id)
    body match {
      case parts: Array[Long] => parts.foreach(releaseOne)
      case _ =>
    }
  }

  // ---- decoding --------------------------------------------------------------------------------

  /** Writes the canonical text of a term; throws [[UnknownTermException]]. */
  def appendText(id: Long, out: ByteSink): Unit =
    if (TermId.isInline(id)) TermCodec.appendInline(id, out)
    else if (!layers.appendText(id, out)) {
      val body = lock.synchronized {
        val slot = stream.find(id)
        if (slot < 0) null else stream.body(slot)
      }
      body match {
        case utf8: Array[Byte] => out.append(utf8)
        case parts: Array[Long] =>
          out.appendAscii("<< ")
          appendText(parts(0), out)
          out.appendByte(' ')
          appendText(parts(1), out)
          out.appendByte(' ')
          appendText(parts(2), out)
          out.appendAscii(" >>")
        // The term may have moved to a static layer between the two looks.
        case _ => if (!layers.appendText(id, out)) throw new UnknownTermException(id)
      }
    }

  def text(id: Long): String = {
    val sink = new ByteSink()
    appendText(id, sink)
    sink.text
  }

  /** The ids of subject, predicate and object of a quoted triple, null when `id` is none that is
    * known.
    */
  def quoted(id: Long): Array[Long] =
    if (id >= 0) null
    else lock.synchronized {
      val slot = stream.find(id)
      if (slot >= 0) stream.body(slot).asInstanceOf[Array[Long]].clone
      else {
        val layer = layers.of(id)
        if (layer == null) null else layer.quotedAt(layer.find(id))
      }
    }

  /** Writes the ids of the parts of a quoted triple to `out` from `at` on; false when `id` is none that is known. */
  def copyQuoted(id: Long, out: Array[Long], at: Int): Boolean =
    if (id >= 0) false
    else {
      val parts = lock.synchronized {
        val slot = stream.find(id)
        if (slot >= 0) stream.body(slot).asInstanceOf[Array[Long]] else null
      }
      val found = if (parts != null) parts else quoted(id)
      if (found == null) false
      else {
        System.arraycopy(found, 0, out, at, 3)
        true
      }
    }

  private def requireKnown(id: Long): Unit =
    if (!TermId.isInline(id) && !occupied(id)) throw new UnknownTermException(id)

  /** The reference count of a stream term, 0 for other ids. */
  def referenceCount(id: Long): Int = lock.synchronized {
    val slot = stream.find(id)
    if (slot < 0) 0 else stream.count(slot)
  }
}

object Dictionary {
  /** The id that a term has when there are no collisions. */
  def hashOnly(canonicalText: String): Long = plain.id(canonicalText)

  private val plain = new TermHasher()

  private def partsOf(utf8: Array[Byte]): Array[Array[Byte]] = {
    val ends = CanonicalText.quotedEnds(utf8, 0, utf8.length)
    Array(
      java.util.Arrays.copyOfRange(utf8, 3, ends(0)),
      java.util.Arrays.copyOfRange(utf8, ends(0) + 1, ends(1)),
      java.util.Arrays.copyOfRange(utf8, ends(1) + 1, ends(2))
    )
  }
}
