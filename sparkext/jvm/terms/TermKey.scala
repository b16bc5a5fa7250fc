package org.apache.spark.sql.cqels
package terms

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Arrays, HashMap => JHashMap}

/** What makes a dictionary term itself: its text or, for a quoted triple, the ids of its parts. */
private[cqels] sealed abstract class TermKey {

  /** The id that this term would have at a salt. */
  def id(salt: Int, bits: Int): Long

  /** Whether a body as the stream layer keeps it is this term's. */
  def isBody(body: AnyRef): Boolean
}

private[cqels] final class TextKey(val utf8: Array[Byte]) extends TermKey {

  private val kind = CanonicalText.kindOf(utf8, 0, utf8.length)

  override def id(salt: Int, bits: Int): Long = TermId.hashId(kind, utf8, salt, bits)

  override def isBody(body: AnyRef): Boolean = body match {
    case other: Array[Byte] => Arrays.equals(other, utf8)
    case _ => false
  }

  override def hashCode: Int = Arrays.hashCode(utf8)

  override def equals(other: Any): Boolean = other match {
    case that: TextKey => Arrays.equals(that.utf8, utf8)
    case _ => false
  }
}

private[cqels] final class QuotedKey(val s: Long, val p: Long, val o: Long) extends TermKey {

  def parts: Array[Long] = Array(s, p, o)

  override def id(salt: Int, bits: Int): Long = TermId.quotedId(s, p, o, salt, bits)

  override def isBody(body: AnyRef): Boolean = body match {
    case other: Array[Long] => other(0) == s && other(1) == p && other(2) == o
    case _ => false
  }

  override def hashCode: Int = java.lang.Long.hashCode((s * 31 + p) * 31 + o)

  override def equals(other: Any): Boolean = other match {
    case that: QuotedKey => that.s == s && that.p == p && that.o == o
    case _ => false
  }
}

private[cqels] object TermKey {

  def ofBody(body: AnyRef): TermKey = body match {
    case utf8: Array[Byte] => new TextKey(utf8)
    case parts: Array[Long] => new QuotedKey(parts(0), parts(1), parts(2))
    case _ => throw new IllegalArgumentException(s"not the body of a term: $body")
  }
}

/** Terms whose ids are not their plain hashes; normally empty. Guarded by the [[Dictionary]]'s
  * lock.
  */
private[cqels] final class ExceptionalIds {

  private val ids = new JHashMap[TermKey, java.lang.Long]()

  def size: Int = ids.size

  /** The id noted for a term, 0 for none. */
  def get(key: TermKey): Long = {
    val id = if (ids.isEmpty) null else ids.get(key)
    if (id == null) 0L else id.longValue
  }

  def put(key: TermKey, id: Long): Unit = ids.put(key, id)

  def remove(key: TermKey, id: Long): Unit = ids.remove(key, id)

  def foreach(action: (TermKey, Long) => Unit): Unit = ids.forEach((key, id) => action(key, id))

  /** A copy by canonical text; `textOf` gives the text of an id. */
  def byText(textOf: Long => String): JHashMap[String, java.lang.Long] = {
    val copy = new JHashMap[String, java.lang.Long](ids.size * 2)
    ids.forEach { (key, id) =>
      val text = key match {
        case term: TextKey => new String(term.utf8, UTF_8)
        case _ => textOf(id)
      }
      copy.put(text, id)
    }
    copy
  }
}
