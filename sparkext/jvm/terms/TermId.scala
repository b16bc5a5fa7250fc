package org.apache.spark.sql.cqels
package terms

import org.apache.spark.unsafe.Platform

/** The bit layout of term ids, and the hashes that dictionary ids are made of.
  *
  * Bit 63 marks a quoted triple, whose other 63 bits are a hash of the ids of its parts. Otherwise
  * bits 58 to 62 hold the kind of term and bits 0 to 57 its payload: the value itself for the
  * inline kinds, a hash of the canonical text for the others. The id 0 is never a term.
  */
object TermId {

  final val Iri = 1
  final val BlankNode = 2
  final val StringLiteral = 3
  final val LanguageLiteral = 4
  final val TypedLiteral = 5
  final val Integer = 8
  final val Decimal = 9
  final val Double = 10
  final val Float = 11
  final val Boolean = 12
  final val DateTime = 13
  final val DerivedInteger = 14

  /** What `kind` answers for a quoted triple: none of the five bit values. */
  final val QuotedTriple = 32

  final val PayloadBits = 58
  final val PayloadMask = (1L << PayloadBits) - 1

  /** Each further salt widens a narrowed hash by this much, so that narrow hashes find free ids. */
  private final val BitsPerSalt = 4

  def kind(id: Long): Int = if (id < 0) QuotedTriple else (id >>> PayloadBits).toInt

  def isInline(id: Long): Boolean = id >= (Integer.toLong << PayloadBits)

  def payload(id: Long): Long = id & PayloadMask

  /** The payload read as a signed number of `bits` bits. */
  def signedPayload(id: Long, bits: Int): Long = id << (64 - bits) >> (64 - bits)

  def of(kind: Int, payload: Long): Long = (kind.toLong << PayloadBits) | (payload & PayloadMask)

  /** The dictionary id of a canonical text.
    *
    * Salt 0 is the ordinary id, higher salts are the choices after a collision. `bits` is the width
    * of the hash, lowered only to provoke collisions.
    */
  def hashId(kind: Int, utf8: Array[Byte], salt: Int, bits: Int): Long =
    hashId(kind, utf8, 0, utf8.length, salt, bits)

  def hashId(kind: Int, bytes: Array[Byte], offset: Int, count: Int, salt: Int, bits: Int): Long = {
    val hash = hashBytes(bytes, offset, count, salt)
    (kind.toLong << PayloadBits) | (hash >>> (64 - width(bits, salt, PayloadBits)))
  }

  /** The id of the quoted triple with these parts, salted and narrowed as `hashId`. */
  def quotedId(subject: Long, predicate: Long, obj: Long, salt: Int, bits: Int): Long = {
    var hash = step(salt + P5, subject)
    hash = step(hash, predicate)
    hash = finish(step(hash, obj))
    val wanted = if (bits >= PayloadBits) 63 else width(bits, salt, 63)
    (1L << 63) | (hash >>> (64 - wanted))
  }

  private def width(bits: Int, salt: Int, most: Int): Int =
    if (bits >= most) most else math.min(most.toLong, bits + BitsPerSalt.toLong * salt).toInt

  // Multiply-rotate hashing by 8 bytes, in the manner of xxHash64's short-input loop (one lane).
  // The constants are its published odd primes.
  private final val P1 = 0x9e3779b185ebca87L
  private final val P2 = 0xc2b2ae3d27d4eb4fL
  private final val P3 = 0x165667b19e3779f9L
  private final val P4 = 0x85ebca77c2b2ae63L
  private final val P5 = 0x27d4eb2f165667c5L

  private val bigEndian = java.nio.ByteOrder.nativeOrder() == java.nio.ByteOrder.BIG_ENDIAN

  private def step(hash: Long, word: Long): Long = {
    val mixed = java.lang.Long.rotateLeft(word * P2, 31) * P1
    java.lang.Long.rotateLeft(hash ^ mixed, 27) * P1 + P4
  }

  private def finish(hash: Long): Long = {
    var h = hash ^ (hash >>> 33)
    h *= P2
    h ^= h >>> 29
    h *= P3
    h ^ (h >>> 32)
  }

  /** A 64-bit hash of bytes, the same on every machine. */
  def hashBytes(bytes: Array[Byte], offset: Int, count: Int, seed: Int): Long = {
    java.util.Objects.checkFromIndexSize(offset, count, bytes.length)
    var hash = seed * P3 + P5 + count
    var at = offset
    val end = offset + count
    while (at + 8 <= end) {
      hash = step(hash, littleEndian(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at)))
      at += 8
    }
    if (at < end) {
      var word = 0L
      var shift = 0
      while (at < end) {
        word |= (bytes(at) & 0xffL) << shift
        shift += 8
        at += 1
      }
      hash = step(hash, word)
    }
    finish(hash)
  }

  private def littleEndian(word: Long): Long =
    if (bigEndian) java.lang.Long.reverseBytes(word) else word
}
