package org.apache.spark.sql.cqels
package terms

import org.apache.spark.sql.cqels.rdf.MalformedTerm

/** Reading the canonical N-Triples text of a term, as UTF-8 bytes, without checking what is in it.
  */
private[cqels] object CanonicalText {

  /** The dictionary kind of a text; literals with an inline id are answered as typed literals. */
  def kindOf(utf8: Array[Byte], from: Int, until: Int): Int = {
    val count = until - from
    if (count < 2) malformed(utf8, from, until)
    val last = utf8(until - 1)
    utf8(from) match {
      case '<' if utf8(from + 1) == '<' => TermId.QuotedTriple
      case '<' if last == '>' && count > 2 => TermId.Iri
      case '_' if utf8(from + 1) == ':' && count > 2 => TermId.BlankNode
      case '"' =>
        if (last == '"') TermId.StringLiteral
        else if (last == '>') TermId.TypedLiteral
        else TermId.LanguageLiteral
      case _ => malformed(utf8, from, until)
    }
  }

  /** The ends of the three parts of a quoted triple `<< s p o >>` that starts at `from`.
    *
    * The subject starts at `from + 3`, each further part one byte after the end of the one before.
    */
  def quotedEnds(utf8: Array[Byte], from: Int, until: Int): Array[Int] = {
    val subject = endOfTerm(utf8, from + 3, until)
    val predicate = endOfTerm(utf8, subject + 1, until)
    val obj = endOfTerm(utf8, predicate + 1, until)
    val closed = obj + 3 == until && utf8(from + 2) == ' ' && utf8(subject) == ' ' &&
      utf8(predicate) == ' ' && utf8(obj) == ' ' && utf8(obj + 1) == '>'
    if (!closed) malformed(utf8, from, until)
    Array(subject, predicate, obj)
  }

  /** The position after the closing quote of a literal that starts at `from`. */
  def endOfLexical(utf8: Array[Byte], from: Int, until: Int): Int = {
    var at = from + 1
    while (at < until && utf8(at) != '"') at += (if (utf8(at) == '\\') 2 else 1)
    if (at >= until) malformed(utf8, from, until)
    at + 1
  }

  private def endOfTerm(utf8: Array[Byte], from: Int, until: Int): Int = {
    if (from >= until) malformed(utf8, 0, until)
    utf8(from) match {
      case '<' if from + 1 < until && utf8(from + 1) == '<' => endOfQuoted(utf8, from, until)
      case '<' => find('>', utf8, from, until) + 1
      case '"' =>
        val quote = endOfLexical(utf8, from, until)
        if (quote < until && utf8(quote) == '^') find('>', utf8, quote, until) + 1
        else find(' ', utf8, quote, until)
      case _ => find(' ', utf8, from, until)
    }
  }

  private def endOfQuoted(utf8: Array[Byte], from: Int, until: Int): Int = {
    var end = endOfTerm(utf8, from + 3, until)
    end = endOfTerm(utf8, end + 1, until)
    end = endOfTerm(utf8, end + 1, until)
    if (end + 3 > until) malformed(utf8, from, until)
    end + 3
  }

  private def find(wanted: Char, utf8: Array[Byte], from: Int, until: Int): Int = {
    var at = from
    while (at < until && utf8(at) != wanted) at += 1
    if (at >= until) malformed(utf8, from, until)
    at
  }

  private def malformed(utf8: Array[Byte], from: Int, until: Int): Nothing = {
    val text = new String(utf8, from, until - from, java.nio.charset.StandardCharsets.UTF_8)
    throw new MalformedTerm(s"not the canonical text of a term: $text")
  }
}
