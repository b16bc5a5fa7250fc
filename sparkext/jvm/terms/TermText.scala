package org.apache.spark.sql.cqels
package terms

/** Parts of a term's canonical N-Triples text. */
private[cqels] object TermText {
  def lexical(text: String): String =
    if (text.startsWith("\"")) unescape(text.substring(1, text.lastIndexOf('"')))
    else if (text.startsWith("<") && !text.startsWith("<<")) text.substring(1, text.length - 1)
    else text

  /** What follows a literal's closing quote: nothing, "@en", "@en--ltr" or "^^<datatype>". */
  def suffix(text: String): String = text.substring(text.lastIndexOf('"') + 1)

  /** The language tag without the base direction, "" when there is none. */
  def language(text: String): String = {
    val tag = suffix(text)
    if (!tag.startsWith("@")) ""
    else { val at = tag.indexOf("--"); if (at < 0) tag.substring(1) else tag.substring(1, at) }
  }

  /** The base direction of a language-tagged string (RDF 1.2), "" when there is none. */
  def direction(text: String): String = {
    val tag = suffix(text)
    val at = if (tag.startsWith("@")) tag.indexOf("--") else -1
    if (at < 0) "" else tag.substring(at + 2)
  }

  def datatype(text: String): String = {
    val tag = suffix(text)
    if (tag.startsWith("^^<")) tag.substring(3, tag.length - 1)
    else if (tag.startsWith("@")) Rdf + (if (tag.contains("--")) "dirLangString" else "langString")
    else TermCodec.Xsd + "string"
  }

  /** A lexical form without the white space around it that XML Schema takes away: Java's `trim` takes all control characters. */
  def trimmed(lexical: String): String = {
    var from = 0
    var until = lexical.length
    while (from < until && isSpace(lexical.charAt(from))) from += 1
    while (from < until && isSpace(lexical.charAt(until - 1))) until -= 1
    lexical.substring(from, until)
  }

  private def isSpace(c: Char): Boolean = c == ' ' || c == '\t' || c == '\n' || c == '\r'

  final val Rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

  def quote(lexical: String): String = {
    val out = new StringBuilder("\"")
    lexical.foreach {
      case '"' => out.append("\\\"")
      case '\\' => out.append("\\\\")
      case '\n' => out.append("\\n")
      case '\r' => out.append("\\r")
      case c => out.append(c)
    }
    out.append('"').toString
  }

  def unescape(escaped: String): String =
    if (escaped.indexOf('\\') < 0) escaped
    else {
      val out = new StringBuilder(escaped.length)
      var i = 0
      while (i < escaped.length) {
        if (escaped.charAt(i) == '\\') {
          i += 1
          out.append(escaped.charAt(i) match { case 'n' => '\n'; case 'r' => '\r'; case c => c })
        } else out.append(escaped.charAt(i))
        i += 1
      }
      out.toString
    }
}
