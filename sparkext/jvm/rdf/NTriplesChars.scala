package org.apache.spark.sql.cqels
package rdf

/** The character classes of the N-Triples grammar (RDF 1.1 N-Triples, section 7). */
private[cqels] object NTriplesChars {

  /** ASCII characters that stand for themselves in an IRI. */
  val inIri: Array[Boolean] = Array.tabulate(128)(c => c > ' ' && "<>\"{}|^`\\".indexOf(c) < 0)

  private val labelStart: Array[Boolean] = Array.tabulate(128)(c => isAlphanumeric(c) || c == '_')
  private val labelPart: Array[Boolean] = Array.tabulate(128)(c => labelStart(c) || c == '-')

  def isIriChar(c: Int): Boolean = if (c < 128) inIri(c) else !isSurrogate(c)

  /** Whether a character may stand in an IRI that is taken as it is. */
  def isAcceptedInIri(c: Int): Boolean = c >= ' ' && c != '<' && c != '>' && !isSurrogate(c)

  def inScheme(c: Char, first: Boolean): Boolean =
    isLetter(c) || (!first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'))

  def isLabel(text: String): Boolean =
    text.nonEmpty && endOfLabel(text, 0, text.length) == text.length

  /** The end of the blank node label that starts at `from`, `from` itself when there is none. */
  def endOfLabel(text: String, from: Int, until: Int): Int = {
    var at = from
    var last = from
    var inside = true
    while (inside && at < until) {
      val c = text.charAt(at)
      if (c < 128) {
        if (if (at == from) labelStart(c) else labelPart(c)) {
          at += 1
          last = at
        } else if (c == '.' && at > from) at += 1
        else inside = false
      } else {
        val code = text.codePointAt(at)
        if (isNameStart(code) || (at > from && isNamePart(code))) {
          at += Character.charCount(code)
          last = at
        } else inside = false
      }
    }
    // A label does not end in '.', so that the end of the statement may follow it at once.
    last
  }

  def endOfAlphanumerics(text: String, from: Int, until: Int, lettersOnly: Boolean): Int = {
    var at = from
    var inside = true
    while (inside && at < until) {
      val c = text.charAt(at)
      inside = if (lettersOnly) isLetter(c) else isAlphanumeric(c)
      if (inside) at += 1
    }
    at
  }

  /** Writes a character as the canonical text of a literal has it. */
  def appendEscaped(c: Int, out: java.lang.StringBuilder): Unit = c match {
    case '"' => out.append("\\\"")
    case '\\' => out.append("\\\\")
    case '\n' => out.append("\\n")
    case '\r' => out.append("\\r")
    case _ => out.appendCodePoint(c)
  }

  private def isLetter(c: Int): Boolean = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')

  private def isAlphanumeric(c: Int): Boolean = isLetter(c) || (c >= '0' && c <= '9')

  private def isSurrogate(c: Int): Boolean = c >= 0xd800 && c <= 0xdfff

  /** PN_CHARS_BASE beyond ASCII. */
  private def isNameStart(c: Int): Boolean =
    (c >= 0xc0 && c <= 0x2ff && c != 0xd7 && c != 0xf7) ||
      (c >= 0x370 && c <= 0x1fff && c != 0x37e) || c == 0x200c ||
      c == 0x200d || (c >= 0x2070 && c <= 0x218f) || (c >= 0x2c00 && c <= 0x2fef) ||
      (c >= 0x3001 && c <= 0xd7ff) || (c >= 0xf900 && c <= 0xfdcf) ||
      (c >= 0xfdf0 && c <= 0xfffd) || (c >= 0x10000 && c <= 0xeffff)

  /** What PN_CHARS adds to it beyond ASCII. */
  private def isNamePart(c: Int): Boolean =
    c == 0xb7 || (c >= 0x300 && c <= 0x36f) || c == 0x203f || c == 0x2040
}
