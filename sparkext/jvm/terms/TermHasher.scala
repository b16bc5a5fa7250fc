package org.apache.spark.sql.cqels
package terms

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

/** The ids of terms as a pure function, for encoding in many places at once without a dictionary.
  *
  * `exceptions` holds the canonical texts whose ids are not their plain hashes because of
  * collisions. Ids so made are provisional until `Dictionary.addStatic` has accepted the layer
  * built from them.
  */
final class TermHasher(val bits: Int, exceptions: JMap[String, java.lang.Long])
    extends Serializable {

  def this(bits: Int) = this(bits, java.util.Collections.emptyMap[String, java.lang.Long]())

  def this() = this(TermId.PayloadBits)

  /** The texts whose ids are not their plain hashes, each with its id, in their order. */
  private[cqels] def exceptional: Seq[String] = exceptions.asScala.toSeq.map { case (text, id) => s"$id $text" }.sorted

  def id(canonicalText: String): Long = {
    val utf8 = canonicalText.getBytes(UTF_8)
    id(utf8, 0, utf8.length)
  }

  def id(utf8: Array[Byte]): Long = id(utf8, 0, utf8.length)

  def id(utf8: Array[Byte], from: Int, until: Int): Long = {
    val inline = TermCodec.inlineId(utf8, from, until)
    if (inline != 0) inline
    else {
      val excepted =
        if (exceptions.isEmpty) null
        else exceptions.get(new String(utf8, from, until - from, UTF_8))
      if (excepted != null) excepted.longValue else plainId(utf8, from, until)
    }
  }

  /** The id at salt 0, exception or not; the parts of a quoted triple may be exceptions all the
    * same.
    */
  private[cqels] def plainId(utf8: Array[Byte], from: Int, until: Int): Long = {
    val kind = CanonicalText.kindOf(utf8, from, until)
    if (kind != TermId.QuotedTriple) TermId.hashId(kind, utf8, from, until - from, 0, bits)
    else {
      val parts = partIds(utf8, from, until)
      TermId.quotedId(parts(0), parts(1), parts(2), 0, bits)
    }
  }

  /** The ids of the three parts of a quoted triple, given by its text. */
  private[cqels] def partIds(utf8: Array[Byte], from: Int, until: Int): Array[Long] = {
    val ends = CanonicalText.quotedEnds(utf8, from, until)
    Array(
      id(utf8, from + 3, ends(0)),
      id(utf8, ends(0) + 1, ends(1)),
      id(utf8, ends(1) + 1, ends(2))
    )
  }
}
