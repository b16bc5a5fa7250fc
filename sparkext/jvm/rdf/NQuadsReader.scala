package org.apache.spark.sql.cqels
package rdf

/** Reads N-Triples and N-Quads (RDF 1.1), one line at a time, with quoted triples.
  *
  * Quoted triples are read in both spellings, `<< s p o >>` of RDF-star and `<<( s p o )>>` of RDF
  * 1.2, as subject or object, nested. Terms come out as canonical texts; a blank node `_:x`
  * becomes `_:` + `blankScope` + `x`. With `rdf12`, only `<<( s p o )>>` is read, and only as
  * object. With `accepts`, an IRI is taken as it stands, whatever is between `<` and `>`, relative
  * ones too unless empty, and two escapes that are a surrogate pair are one character. Not for use
  * by several threads at once.
  */
final class NQuadsReader(
    blankScope: String,
    allowGraph: Boolean,
    rdf12: Boolean,
    accepts: Boolean
) {

  def this(blankScope: String, allowGraph: Boolean, rdf12: Boolean) =
    this(blankScope, allowGraph, rdf12, false)
  def this(blankScope: String, allowGraph: Boolean) = this(blankScope, allowGraph, false)
  def this(blankScope: String) = this(blankScope, true)

  require(
    blankScope.isEmpty || NTriplesChars.isLabel(blankScope),
    s"not usable in a blank node label: $blankScope"
  )

  private val blankPrefix = "_:" + blankScope
  private var line: String = ""
  private var at = 0
  private var end = 0
  private var depth = 0

  private var s: String = _
  private var p: String = _
  private var o: String = _
  private var g: String = _

  /** The terms of the statement read last. */
  def subject: String = s
  def predicate: String = p
  def obj: String = o

  /** The graph name of the statement read last, null for the default graph. */
  def graph: String = g

  /** Reads a line; false when it is empty, a comment or a version announcement.
    *
    * Throws [[MalformedLine]]; the fields are undefined then.
    */
  def parse(text: String): Boolean = {
    start(text)
    while (end > 0 && (text.charAt(end - 1) == '\n' || text.charAt(end - 1) == '\r')) end -= 1
    skipBlanks()
    if (at == end || line.charAt(at) == '#') false
    else if (line.startsWith("VERSION", at)) {
      readVersion()
      finishLine("the end of the line or a comment after the version")
      false
    } else {
      s = readSubject("subject")
      skipBlanks()
      p = readPredicate()
      skipBlanks()
      o = readObject()
      skipBlanks()
      g = null
      if (allowGraph && at < end && (line.charAt(at) == '<' || line.charAt(at) == '_')) {
        g = if (line.charAt(at) == '<') readIri("graph name: an IRI or blank node") else readBlank()
        skipBlanks()
      }
      if (at >= end || line.charAt(at) != '.') {
        val graphToo = if (allowGraph && g == null) "a graph name or " else ""
        fail(at, s"${graphToo}the closing '.'")
      }
      at += 1
      finishLine("the end of the line or a comment after '.'")
      true
    }
  }

  /** Reads one term alone, of any kind, and gives its canonical text. */
  def parseTerm(text: String): String = {
    start(text)
    skipBlanks()
    val term = readObject()
    skipBlanks()
    if (at < end) fail(at, "nothing after the term")
    term
  }

  private def start(text: String): Unit = {
    line = text
    at = 0
    end = text.length
    depth = 0
  }

  private def skipBlanks(): Unit =
    while (at < end && { val c = line.charAt(at); c == ' ' || c == '\t' }) at += 1

  private def finishLine(expected: String): Unit = {
    skipBlanks()
    if (at < end && line.charAt(at) != '#') fail(at, expected)
  }

  /** `VERSION "1.2"`, which RDF 1.2 allows in place of a statement. */
  private def readVersion(): Unit = {
    at += "VERSION".length
    skipBlanks()
    if (peek != '"' && peek != '\'') fail(at, "a version in quotation marks")
    val close = line.indexOf(line.charAt(at), at + 1)
    if (close < 0 || close >= end) fail(end, "the closing quotation mark of the version")
    at = close + 1
  }

  // ---- terms by place --------------------------------------------------------------------------

  private def readSubject(place: String): String =
    peek match {
      case '<' if isQuoted && rdf12 => fail(at, s"a $place: an IRI or blank node")
      case '<' if isQuoted => readQuoted()
      case '<' => readIri(place)
      case '_' => readBlank()
      case _ => fail(at, s"a $place: an IRI, blank node or quoted triple")
    }

  private def readPredicate(): String =
    if (peek == '<' && !isQuoted) readIri("predicate") else fail(at, "a predicate: an IRI")

  private def readObject(): String =
    peek match {
      case '<' if isQuoted => readQuoted()
      case '<' => readIri("object")
      case '"' => readLiteral()
      case '_' => readBlank()
      case _ => fail(at, "an object: an IRI, blank node, literal or quoted triple")
    }

  private def peek: Char = if (at < end) line.charAt(at) else 0

  private def isQuoted: Boolean = at + 1 < end && line.charAt(at + 1) == '<'

  private def readQuoted(): String = {
    depth += 1
    if (depth > NQuadsReader.MaxDepth)
      fail(at, s"at most ${NQuadsReader.MaxDepth} quoted triples in one another")
    at += 2
    val bracketed = at < end && line.charAt(at) == '('
    if (bracketed) at += 1
    else if (rdf12) fail(at, "'(' after '<<'")
    skipBlanks()
    val subject = readSubject("subject of the quoted triple")
    skipBlanks()
    val predicate = readPredicate()
    skipBlanks()
    val obj = readObject()
    skipBlanks()
    val close = if (bracketed) ")>>" else ">>"
    if (at + close.length > end || !line.startsWith(close, at))
      fail(at, s"the closing '$close' of the quoted triple")
    at += close.length
    depth -= 1
    s"<< $subject $predicate $obj >>"
  }

  // ---- IRIs ------------------------------------------------------------------------------------

  private def readIri(place: String): String = {
    val from = at
    var i = from + 1
    var c: Char = 0
    val plain = NTriplesChars.inIri
    while (i < end && { c = line.charAt(i); c < 128 && plain(c) }) i += 1
    val iri =
      if (i < end && c == '>') {
        at = i + 1
        line.substring(from, at)
      } else readIriSlowly(from, i)
    checkAbsolute(iri, from)
    iri
  }

  /** The rest of an IRI that holds escapes or characters beyond ASCII, from the first of them on.
    */
  private def readIriSlowly(from: Int, first: Int): String = {
    val out = new java.lang.StringBuilder(end - from).append(line, from, first)
    var i = first
    while (i < end && line.charAt(i) != '>') {
      val c = line.codePointAt(i)
      if (c == '\\') {
        val next = if (i + 1 < end) line.charAt(i + 1) else 0
        val isEscape = next == 'u' || next == 'U'
        if (!isEscape && !accepts) fail(i + 1, "'u' or 'U' after the backslash in an IRI")
        val decoded = if (isEscape) readHex(i) else c
        if (!isInIri(decoded)) fail(i, "an escape for a character that is allowed in an IRI")
        out.appendCodePoint(decoded)
        i += (if (isEscape) escapeLength else 1)
      } else {
        if (!isInIri(c)) fail(i, "a character that is allowed in an IRI, or '>'")
        out.appendCodePoint(c)
        i += Character.charCount(c)
      }
    }
    if (i >= end) fail(end, "the closing '>' of the IRI")
    at = i + 1
    out.append('>').toString
  }

  private def isInIri(c: Int): Boolean =
    NTriplesChars.isIriChar(c) || accepts && NTriplesChars.isAcceptedInIri(c)

  private def checkAbsolute(iri: String, from: Int): Unit = if (accepts) {
    if (iri.length == 2) fail(from + 1, "an IRI")
  } else {
    var i = 1
    while (i < iri.length && NTriplesChars.inScheme(iri.charAt(i), i == 1)) i += 1
    if (i == 1 || iri.charAt(i) != ':')
      fail(from + 1, "an absolute IRI, which starts with a scheme and ':'")
  }

  // ---- blank nodes -----------------------------------------------------------------------------

  private def readBlank(): String = {
    if (at + 1 >= end || line.charAt(at + 1) != ':') fail(at + 1, "':' after '_' of a blank node")
    val from = at + 2
    val until = NTriplesChars.endOfLabel(line, from, end)
    if (until == from) fail(from, "a blank node label")
    at = until
    blankPrefix + line.substring(from, until)
  }

  // ---- literals --------------------------------------------------------------------------------

  private def readLiteral(): String = {
    val from = at
    var i = from + 1
    var c: Char = 0
    var canonical = true
    while (i < end && { c = line.charAt(i); c != '"' }) {
      if (c == '\\') {
        val next = if (i + 1 < end) line.charAt(i + 1) else 0
        canonical &&= next == '"' || next == '\\' || next == 'n' || next == 'r'
        i += 2
      } else {
        if (c < ' ' && (c == '\n' || c == '\r')) fail(i, "no line break in a literal")
        if (Character.isSurrogate(c)) i += pairLength(i) else i += 1
      }
    }
    if (i >= end) fail(end, "the closing '\"' of the literal")
    val close = i + 1
    val lexical = if (canonical) null else rewritten(from, i)
    at = close
    skipBlanks()
    if (peek == '@') withLanguage(from, close, lexical)
    else if (peek == '^' && at + 1 < end && line.charAt(at + 1) == '^')
      withDatatype(from, close, lexical)
    else {
      at = close
      quoted(from, close, lexical)
    }
  }

  private def quoted(from: Int, close: Int, lexical: String): String =
    if (lexical == null) line.substring(from, close) else lexical

  private def pairLength(i: Int): Int = {
    val paired = i + 1 < end && Character.isSurrogatePair(line.charAt(i), line.charAt(i + 1))
    if (!paired) fail(i, "no lone surrogate")
    2
  }

  /** The quoted lexical form between `from` and its closing quotation mark, with canonical
    * escapes.
    */
  private def rewritten(from: Int, close: Int): String = {
    val out = new java.lang.StringBuilder(close - from + 1).append('"')
    var i = from + 1
    while (i < close) {
      val c = line.charAt(i)
      if (c != '\\') {
        out.append(c)
        i += 1
      } else {
        val next = line.charAt(i + 1)
        val decoded = next match {
          case 't' => '\t'.toInt
          case 'b' => '\b'.toInt
          case 'n' => '\n'.toInt
          case 'r' => '\r'.toInt
          case 'f' => '\f'.toInt
          case '"' | '\'' | '\\' => next.toInt
          case 'u' | 'U' => readHex(i)
          case _ => fail(i + 1, "one of t b n r f u U \" ' \\ after the backslash")
        }
        NTriplesChars.appendEscaped(decoded, out)
        i += (if (next == 'u' || next == 'U') escapeLength else 2)
      }
    }
    out.append('"').toString
  }

  private def withLanguage(from: Int, close: Int, lexical: String): String = {
    val mark = at
    var i = NTriplesChars.endOfAlphanumerics(line, mark + 1, end, lettersOnly = true)
    if (i == mark + 1) fail(i, "a language tag")
    while (i + 1 < end && line.charAt(i) == '-' && line.charAt(i + 1) != '-') {
      val next = NTriplesChars.endOfAlphanumerics(line, i + 1, end, lettersOnly = false)
      if (next == i + 1) fail(next, "a letter or digit after '-' in the language tag")
      i = next
    }
    var direction = ""
    val tagEnd = i
    if (i + 1 < end && line.charAt(i) == '-') {
      val next = NTriplesChars.endOfAlphanumerics(line, i + 2, end, lettersOnly = true)
      direction = line.substring(i, next)
      if (direction != "--ltr" && direction != "--rtl") fail(i + 2, "the direction 'ltr' or 'rtl'")
      i = next
    } else if (i < end && line.charAt(i) == '-')
      fail(i + 1, "a letter or digit after '-' in the language tag")
    at = i
    val tag = line.substring(mark, tagEnd).toLowerCase(java.util.Locale.ROOT)
    quoted(from, close, lexical) + tag + direction
  }

  private def withDatatype(from: Int, close: Int, lexical: String): String = {
    at += 2
    skipBlanks()
    if (peek != '<' || isQuoted) fail(at, "a datatype: an IRI")
    val start = at
    val datatype = readIri("datatype")
    if (datatype == NQuadsReader.XsdString) quoted(from, close, lexical)
    else if (datatype == NQuadsReader.LangString || datatype == NQuadsReader.DirLangString)
      fail(start, "a language tag in place of the datatype of language-tagged strings")
    else if (lexical == null && close + 2 == start && datatype.length == at - start)
      line.substring(from, at)
    else s"${quoted(from, close, lexical)}^^$datatype"
  }

  // ---- escapes and errors ----------------------------------------------------------------------

  /** Characters of the numeric escape read last, or of two that are one character. */
  private var escapeLength = 0

  /** The code point of the numeric escape whose backslash is at `i`. */
  private def readHex(i: Int): Int = {
    val value = hexValue(i)
    escapeLength = if (line.charAt(i + 1) == 'u') 6 else 10
    val next = i + escapeLength
    val low =
      if (accepts && isHigh(value) && line.startsWith("\\u", next)) hexValue(next) else -1L
    if (low >= 0xdc00 && low <= 0xdfff) {
      escapeLength += 6
      Character.toCodePoint(value.toChar, low.toChar)
    } else {
      if (value > Character.MAX_CODE_POINT || (value >= 0xd800 && value <= 0xdfff))
        fail(i, "the escape of a Unicode character")
      value.toInt
    }
  }

  private def isHigh(c: Long): Boolean = c >= 0xd800 && c <= 0xdbff

  private def hexValue(i: Int): Long = {
    val digits = if (line.charAt(i + 1) == 'u') 4 else 8
    var value = 0L
    var k = i + 2
    while (k < i + 2 + digits) {
      val digit = if (k < end && line.charAt(k) < 128) Character.digit(line.charAt(k), 16) else -1
      if (digit < 0) fail(k, s"$digits hexadecimal digits")
      value = value * 16 + digit
      k += 1
    }
    value
  }

  private def fail(index: Int, expected: String): Nothing = {
    val found =
      if (index >= end) "the end of the line"
      else "'" + new String(Character.toChars(line.codePointAt(index))) + "'"
    val column = line.codePointCount(0, math.min(index, end)) + 1
    throw new MalformedLine(s"expected $expected, found $found", column)
  }
}

private[cqels] object NQuadsReader {
  final val MaxDepth = 500
  final val XsdString = "<http://www.w3.org/2001/XMLSchema#string>"
  final val LangString = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"
  final val DirLangString = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>"
}
