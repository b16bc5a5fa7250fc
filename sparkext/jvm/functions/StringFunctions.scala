package org.apache.spark.sql.cqels
package functions

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale
import java.util.concurrent.ThreadLocalRandom

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.cqels.terms.{TermCodec, TermText}

/** The value of a plain or language-tagged string; `tag` is "", "@en" or "@en--ltr". */
private[cqels] final class StringValue(val value: String, val tag: String)

/** SPARQL's functions on strings (SPARQL 1.1, section 17.4.3); null is an error. */
object StringFunctions {
  private final val Hexadecimal = "0123456789ABCDEF"

  /** A string literal's value, null for every other term. */
  private[cqels] def of(room: Long, id: Long): StringValue =
    if (!TermCodec.isString(id) && !TermCodec.isLanguageString(id)) null
    else {
      val text = TermValues.text(room, id)
      val close = text.lastIndexOf('"')
      new StringValue(TermText.unescape(text.substring(1, close)), text.substring(close + 1))
    }

  /** The characters of a string without a language, null for every other term. */
  private[cqels] def plain(room: Long, id: Long): String =
    if (TermCodec.isString(id)) TermValues.lexical(room, id) else null

  private def make(room: Long, value: String, tag: String): Long =
    TermValues.encode(room, TermText.quote(value) + tag)

  def length(room: Long, id: Long): java.lang.Long = {
    val s = of(room, id)
    if (s == null) null else TermCodec.integerId(s.value.codePointCount(0, s.value.length))
  }

  def upper(room: Long, id: Long): java.lang.Long = change(room, id)(_.toUpperCase(Locale.ROOT))
  def lower(room: Long, id: Long): java.lang.Long = change(room, id)(_.toLowerCase(Locale.ROOT))

  private def change(room: Long, id: Long)(f: String => String): java.lang.Long = {
    val s = of(room, id)
    if (s == null) null else make(room, f(s.value), s.tag)
  }

  def substring(room: Long, id: Long, start: Long): java.lang.Long =
    if (Numbers.rank(room, start) == 0) null
    else cut(room, id, rounded(room, start), Double.PositiveInfinity)

  def substringOf(room: Long, id: Long, start: Long, length: Long): java.lang.Long =
    if (Numbers.rank(room, start) == 0 || Numbers.rank(room, length) == 0) null
    else { val first = rounded(room, start); cut(room, id, first, first + rounded(room, length)) }

  private def rounded(room: Long, id: Long): Double = NumericFunctions.round(Numbers.double(room, id))

  /** The characters at places `first` <= p < `end`, counted from 1 in code points (XPath's fn:substring). */
  private def cut(room: Long, id: Long, first: Double, end: Double): java.lang.Long = {
    val s = of(room, id)
    if (s == null) null
    else {
      val count = s.value.codePointCount(0, s.value.length)
      val from = math.max(1.0, first)
      val until = math.min(count + 1.0, end)
      if (!(from < until)) make(room, "", s.tag) // NaN, too
      else {
        val begin = s.value.offsetByCodePoints(0, from.toInt - 1)
        make(room, s.value.substring(begin, s.value.offsetByCodePoints(begin, (until - from).toInt)), s.tag)
      }
    }
  }

  // -- two strings: the second has no language, or that of the first (section 17.4.3.1.2) ------------------------

  def contains(room: Long, a: Long, b: Long): java.lang.Boolean = test(room, a, b)((s, t) => TextSearch.indexOf(s, t) >= 0)
  def startsWith(room: Long, a: Long, b: Long): java.lang.Boolean = test(room, a, b)(_.startsWith(_))
  def endsWith(room: Long, a: Long, b: Long): java.lang.Boolean = test(room, a, b)(_.endsWith(_))

  private def test(room: Long, a: Long, b: Long)(f: (String, String) => Boolean): java.lang.Boolean = {
    val (s, t) = (of(room, a), of(room, b))
    if (compatible(s, t)) f(s.value, t.value) else null
  }

  private def compatible(s: StringValue, t: StringValue): Boolean =
    s != null && t != null && (t.tag.isEmpty || t.tag == s.tag)

  def before(room: Long, a: Long, b: Long): java.lang.Long =
    around(room, a, b)((s, t, at) => s.substring(0, at))

  def after(room: Long, a: Long, b: Long): java.lang.Long =
    around(room, a, b)((s, t, at) => s.substring(at + t.length))

  private def around(room: Long, a: Long, b: Long)(part: (String, String, Int) => String): java.lang.Long = {
    val (s, t) = (of(room, a), of(room, b))
    if (!compatible(s, t)) null
    else {
      val at = TextSearch.indexOf(s.value, t.value)
      // What is not found gives the empty string without a language.
      if (at < 0) make(room, "", "") else make(room, part(s.value, t.value, at), s.tag)
    }
  }

  def concat(room: Long, parts: ArrayData): java.lang.Long = {
    val out = new StringBuilder
    var tag: String = null
    var i = 0
    while (i < parts.numElements()) {
      val s = if (parts.isNullAt(i)) null else of(room, parts.getLong(i))
      if (s == null) return null
      out.append(s.value)
      if (out.length > Bounds.MostText) return null
      tag = if (i == 0 || tag == s.tag) s.tag else ""
      i += 1
    }
    make(room, out.toString, if (tag == null) "" else tag)
  }

  def encodeForUri(room: Long, id: Long): java.lang.Long = {
    val s = of(room, id)
    if (s == null) null
    else {
      val out = new StringBuilder
      s.value.getBytes(UTF_8).foreach { b =>
        val c = (b & 0xff).toChar
        if (c < 128 && (Character.isLetterOrDigit(c) || "-_.~".indexOf(c) >= 0)) out.append(c)
        else out.append('%').append(Hexadecimal.charAt((b & 0xff) >> 4)).append(Hexadecimal.charAt(b & 0xf))
      }
      if (out.length > Bounds.MostText) null else make(room, out.toString, "")
    }
  }

  /** Basic filtering of RFC 4647, section 3.3.1; the range "*" takes every language. */
  def langMatches(room: Long, tag: Long, range: Long): java.lang.Boolean = {
    val (t, r) = (plain(room, tag), plain(room, range))
    if (t == null || r == null) null
    else if (r == "*") t.nonEmpty
    else t.regionMatches(true, 0, r, 0, r.length) && (t.length == r.length || (r.nonEmpty && t.charAt(r.length) == '-'))
  }

  // -- languages and directions ---------------------------------------------------------------------------------

  def hasLanguage(id: Long): Boolean = TermCodec.isLanguageString(id)
  def hasDirection(room: Long, id: Long): Boolean =
    TermCodec.isLanguageString(id) && TermText.direction(TermValues.text(room, id)).nonEmpty

  def direction(room: Long, id: Long): java.lang.Long =
    if (!TermValues.isLiteral(id)) null
    else make(room, if (TermCodec.isLanguageString(id)) TermText.direction(TermValues.text(room, id)) else "", "")
}

/** Where a text begins in another one, in no more time than both are long. */
private object TextSearch {
  /** So many characters are compared the plain way, which is the fastest for most texts. */
  private final val MostCompared = 1L << 28
  private final val Prime = (1L << 61) - 1
  /** Nobody can know beforehand which texts have one hash. */
  private val base = ThreadLocalRandom.current().nextLong(1L << 32, Prime)

  def indexOf(s: String, t: String): Int =
    if (t.length > s.length) -1
    else if (s.length.toLong * t.length <= MostCompared) s.indexOf(t)
    else byHashes(s, t)

  /** Looks where the hash of what stands there is that of the text (Karp and Rabin 1987). */
  private def byHashes(s: String, t: String): Int = {
    val length = t.length
    var wanted = 0L
    var here = 0L
    var ofFirst = 1L // what the first character of a stretch is multiplied by
    var i = 0
    while (i < length) {
      wanted = add(multiply(wanted), t.charAt(i).toLong)
      here = add(multiply(here), s.charAt(i).toLong)
      if (i > 0) ofFirst = multiply(ofFirst)
      i += 1
    }
    var at = 0
    while (!(here == wanted && s.startsWith(t, at))) {
      if (at + length == s.length) return -1
      here = add(here, Prime - multiply(ofFirst, s.charAt(at).toLong))
      here = add(multiply(here), s.charAt(at + length).toLong)
      at += 1
    }
    at
  }

  private def add(a: Long, b: Long): Long = { val sum = a + b; if (sum >= Prime) sum - Prime else sum }
  private def multiply(a: Long): Long = multiply(a, base)

  // 2^61 is 1 there: what is above the lowest 61 bits is added to them.
  private def multiply(a: Long, b: Long): Long = {
    val low = a * b
    add(low & Prime, (Math.multiplyHigh(a, b) << 3) | (low >>> 61))
  }
}
