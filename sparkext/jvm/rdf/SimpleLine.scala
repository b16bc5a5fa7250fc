package org.apache.spark.sql.cqels
package rdf

/** Finds the terms of a line of N-Triples or N-Quads in its bytes, where all of them stand there as their canonical texts.
 *
 *  That is nearly every line: absolute IRIs in ASCII, literals without escapes and language tags, no blank nodes, no quoted
 *  triples. Of any other line `read` says so, and [[NQuadsReader]] judges it. Literals must be
 *  sound UTF-8: that is not looked at.
 */
private[cqels] final class SimpleLine {
  import SimpleLine._

  private var bytes: Array[Byte] = _
  private var at = 0
  private var end = 0
  /** Where the terms begin and end: subject, predicate, object, graph. */
  val from = new Array[Int](4)
  val until = new Array[Int](4)
  var hasGraph = false

  /** Whether the bytes from `begin` until `end` are a statement of such terms. */
  def read(bytes: Array[Byte], begin: Int, end: Int, allowGraph: Boolean): Boolean = {
    this.bytes = bytes
    this.end = end
    at = begin
    hasGraph = false
    blanks()
    if (!iri(0)) return false
    blanks()
    if (!iri(1)) return false
    blanks()
    if (at >= end || !(if (bytes(at) == '"') literal(2) else iri(2))) return false
    blanks()
    if (allowGraph && at < end && bytes(at) == '<') {
      if (!iri(3)) return false
      hasGraph = true
      blanks()
    }
    if (at >= end || bytes(at) != '.') return false
    at += 1
    blanks()
    while (at < end && (bytes(at) == '\r' || bytes(at) == '\n')) at += 1
    at == end
  }

  private def blanks(): Unit = while (at < end && { val c = bytes(at); c == ' ' || c == '\t' }) at += 1

  private def iri(place: Int): Boolean = {
    val begin = at
    val found = passIri()
    from(place) = begin
    until(place) = at
    found
  }

  private def passIri(): Boolean = {
    val after = endOfIri(bytes, at, end)
    if (after >= 0) at = after
    after >= 0
  }

  private def literal(place: Int): Boolean = {
    val after = endOfLiteral(bytes, at, end)
    if (after < 0) return false
    from(place) = at
    until(place) = after
    at = after
    // A language tag follows.
    at >= end || { val c = bytes(at); c == ' ' || c == '\t' || c == '.' || c == '<' }
  }
}

private[cqels] object SimpleLine {
  /** Where an absolute IRI in ASCII ends that begins at `from`; -1 if none does. */
  def endOfIri(bytes: Array[Byte], from: Int, end: Int): Int = {
    if (from >= end || bytes(from) != '<') return -1
    val i = endOfBareIri(bytes, from + 1, end)
    if (i < 0 || i >= end || bytes(i) != '>') -1 else i + 1
  }

  /** As `endOfIri`, without angle brackets. */
  def endOfBareIri(bytes: Array[Byte], from: Int, end: Int): Int = {
    var i = from
    if (i >= end || !isLetter(bytes(i))) return -1
    while (i < end && inScheme(bytes(i) & 0xff)) i += 1
    if (i >= end || bytes(i) != ':') return -1
    while (i < end && { val c = bytes(i); c >= 0 && NTriplesChars.inIri(c) }) i += 1
    i
  }

  /** Where a literal without escapes ends that begins at `from`, a language tag left out; -1 if none does. */
  def endOfLiteral(bytes: Array[Byte], from: Int, end: Int): Int = {
    if (from >= end || bytes(from) != '"') return -1
    var i = from + 1
    while (i < end && { val c = bytes(i); c != '"' && c != '\\' && c != '\n' && c != '\r' }) i += 1
    if (i >= end || bytes(i) != '"') return -1
    i += 1
    if (i + 1 < end && bytes(i) == '^' && bytes(i + 1) == '^') {
      i = endOfIri(bytes, i + 2, end)
      // Datatypes that are not written, or must not be: xsd:string, rdf:langString, rdf:dirLangString.
      if (i >= 0 && bytes(i - 2) == 'g') -1 else i
    } else i
  }

  private def isLetter(c: Byte): Boolean = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
  private val scheme = Array.tabulate(256)(c => c < 128 && NTriplesChars.inScheme(c.toChar, first = false))
  private def inScheme(c: Int): Boolean = scheme(c)
}
