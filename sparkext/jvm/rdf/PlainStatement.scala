package org.apache.spark.sql.cqels
package rdf

/** The statement of an N-Triples or N-Quads line whose terms stand in it as their canonical texts: most lines are so.
 *
 *  Such a line is ASCII, without escapes, blank nodes, quoted triples and comments; nothing of it needs to be copied.
 *  Of all other lines, malformed ones among them, `find` says false: they are for [[NQuadsReader]]. Terms are told by
 *  their places in the line: the first byte of each, and the one after its last. Not for several threads at once.
 */
private[cqels] final class PlainStatement(allowGraph: Boolean) {
  import PlainStatement._

  private var at = 0
  private var end = 0
  private val starts = new Array[Int](4)
  private val ends = new Array[Int](4)
  private var found = 0

  /** How many terms the statement found last has: 3, or 4 with a graph name. */
  def terms: Int = found
  def start(term: Int): Int = starts(term)
  def until(term: Int): Int = ends(term)

  /** Looks at the line in the first `length` bytes. */
  def find(line: Array[Byte], length: Int): Boolean = {
    at = 0
    end = length
    found = 0
    takeIri(line) && takeIri(line) && takeObject(line) && (atDot(line) || allowGraph && takeIri(line) && atDot(line)) && {
      at += 1
      skipBlanks(line)
      at == end
    }
  }

  private def atDot(line: Array[Byte]): Boolean = at < end && line(at) == '.'

  private def skipBlanks(line: Array[Byte]): Unit =
    while (at < end && (line(at) == ' ' || line(at) == '\t')) at += 1

  private def taken(from: Int, line: Array[Byte]): Boolean = {
    starts(found) = from
    ends(found) = at
    found += 1
    skipBlanks(line)
    true
  }

  private def takeIri(line: Array[Byte]): Boolean = {
    val from = at
    passIri(line) && taken(from, line)
  }

  private def takeObject(line: Array[Byte]): Boolean = {
    val from = at
    if (at < end && line(at) == '"') passLiteral(line) && taken(from, line)
    else takeIri(line)
  }

  /** Goes past an absolute IRI. */
  private def passIri(line: Array[Byte]): Boolean = {
    if (at >= end || line(at) != '<') return false
    var i = at + 1
    while (i < end && NTriplesChars.inScheme((line(i) & 0xff).toChar, i == at + 1)) i += 1
    if (i == at + 1 || i >= end || line(i) != ':') return false
    while (i < end && inIri(line(i) & 0xff)) i += 1
    if (i >= end || line(i) != '>') return false
    at = i + 1
    true
  }

  private def passLiteral(line: Array[Byte]): Boolean = {
    var i = at + 1
    while (i < end && inString(line(i) & 0xff)) i += 1
    if (i >= end || line(i) != '"') return false
    at = i + 1
    if (at >= end) false
    else line(at) match {
      case '@' =>
        at += 1
        val tag = at
        while (at < end && line(at) >= 'a' && line(at) <= 'z') at += 1
        // Upper case, subtags and directions are for the other reader.
        at > tag && at < end && (line(at) == ' ' || line(at) == '\t' || line(at) == '.')
      case '^' if at + 1 < end && line(at + 1) == '^' =>
        at += 2
        // Of strings and of language-tagged ones the canonical text is another, or there is none.
        passIri(line) && !(line(at - 2) == 'g' && line(at - 3) == 'n')
      // What follows after a blank may be a tag or datatype all the same.
      case ' ' | '\t' => val close = at; skipBlanks(line); at < end && line(at) != '@' && line(at) != '^' && { at = close; true }
      case c => c == '.'
    }
  }
}

private object PlainStatement {
  private val inIri = Array.tabulate(256)(c => c < 128 && NTriplesChars.inIri(c))
  private val inString = Array.tabulate(256)(c => c >= ' ' && c < 128 && c != '"' && c != '\\')
}
