package org.apache.spark.sql.cqels
package mapped

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.columns.{CodedColumn, RowColumn, RowColumns, TextColumn}
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.rdf.NTriplesChars

/** Why a row cannot be mapped; it costs no stack trace, as there may be as many as there are rows. */
private[mapped] final class RowFlaw(reason: String) extends RuntimeException(reason, null, false, false)

/** What is wrong with rows that could not be read: a column of reasons, null for sound rows (null: no such column); and texts that are not
 *  UTF-8, which Spark and Arrow hand on as they are.
 */
private[mapped] final class RowFlaws(reasons: TextColumn, texts: Array[RowColumn]) {
  import RowFlaws._

  /** Throws [[RowFlaw]] where there is something. */
  def check(row: Int): Unit = {
    if (reasons != null && !reasons.isNull(row)) throw new RowFlaw(reasons.text(row))
    var c = 0
    while (c < texts.length) {
      if (!texts(c).isNull(row) && !isSound(texts(c), row)) throw new RowFlaw("not UTF-8")
      c += 1
    }
  }
}

private[mapped] object RowFlaws {
  /** Those in the column "flaw" of rows, and in their texts. */
  def apply(rows: RowColumns): RowFlaws = {
    val reasons = rows.find("flaw") match {
      case texts: TextColumn => texts
      case _ => null
    }
    new RowFlaws(reasons, rows.columns.filter(column => textsOf(column) != null && !isAscii(textsOf(column))))
  }

  /** The texts of a column, null where it has others than texts. */
  private def textsOf(column: RowColumn): TextColumn = column match {
    case texts: TextColumn => texts
    case coded: CodedColumn => textsOf(coded.values)
    case _ => null
  }

  private def isAscii(texts: TextColumn): Boolean = texts.rows == 0 || {
    val until = texts.until(texts.rows - 1)
    val words = ByteBuffer.wrap(texts.bytes)
    var at = texts.from(0)
    while (at + 8 <= until && (words.getLong(at) & 0x8080808080808080L) == 0L) at += 8
    while (at < until && texts.bytes(at) >= 0) at += 1
    at == until
  }

  private def isSound(column: RowColumn, row: Int): Boolean = column match {
    case texts: TextColumn => RowTexts.isUtf8(texts.bytes, texts.from(row), texts.until(row))
    case coded: CodedColumn => isSound(coded.values, coded.code(row))
    case _ => true
  }
}

/** Values as they stand in terms: percent-encoded in IRIs, escaped in literals, as labels of blank nodes. */
private[mapped] object RowTexts {
  private val hex = "0123456789ABCDEF"
  private val unreserved = Array.tabulate(128)(c => isAlphanumeric(c) || "-._~".indexOf(c) >= 0)

  private def isAlphanumeric(c: Int): Boolean =
    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')

  /** Appends a value from `from` until `until` with all but iunreserved (RFC 3987) percent-encoded; with `ascii`, all but unreserved. */
  def appendSafe(a: Array[Byte], from: Int, until: Int, ascii: Boolean, out: ByteSink): Unit = {
    var at = from
    while (at < until) {
      val c = a(at)
      if (c >= 0) {
        if (unreserved(c)) out.appendByte(c) else percent(c, out)
        at += 1
      } else {
        val length = sequence(c)
        if (ascii || !isUcs(codePoint(a, at, length))) { var i = 0; while (i < length) { percent(a(at + i), out); i += 1 } }
        else out.append(a, at, length)
        at += length
      }
    }
  }

  /** Appends an IRI with what is not ASCII percent-encoded. */
  def appendAscii(a: Array[Byte], from: Int, until: Int, out: ByteSink): Unit = {
    var at = from
    while (at < until) { if (a(at) >= 0) out.appendByte(a(at)) else percent(a(at), out); at += 1 }
  }

  private def percent(c: Int, out: ByteSink): Unit = {
    out.appendByte('%')
    out.appendByte(hex.charAt(c >> 4 & 15))
    out.appendByte(hex.charAt(c & 15))
  }

  private def sequence(first: Byte): Int = if ((first & 0xe0) == 0xc0) 2 else if ((first & 0xf0) == 0xe0) 3 else 4

  /** Whether the bytes are UTF-8. */
  def isUtf8(a: Array[Byte], from: Int, until: Int): Boolean = {
    var at = from
    while (at < until) {
      if (a(at) >= 0) at += 1
      else {
        val length = sequence(a(at))
        val first = a(at) & 0xff
        if (first < 0xc2 || first > 0xf4 || at + length > until) return false
        var i = 1
        while (i < length) { if ((a(at + i) & 0xc0) != 0x80) return false; i += 1 }
        val code = codePoint(a, at, length)
        // As few bytes as it needs, and neither a surrogate nor beyond the last.
        if (code < (if (length == 2) 0x80 else if (length == 3) 0x800 else 0x10000)) return false
        if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return false
        at += length
      }
    }
    true
  }

  private def codePoint(a: Array[Byte], at: Int, length: Int): Int = {
    var code = a(at) & (0xff >> (length + 1))
    var i = 1
    while (i < length) { code = code << 6 | a(at + i) & 0x3f; i += 1 }
    code
  }

  /** ucschar of RFC 3987. */
  private def isUcs(c: Int): Boolean =
    if (c < 0x10000) (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xf900 && c <= 0xfdcf) || (c >= 0xfdf0 && c <= 0xffef)
    else c < 0xe0000 && (c & 0xffff) <= 0xfffd || c >= 0xe1000 && c <= 0xefffd

  /** Appends a lexical form as the canonical text of a literal has it. */
  def appendEscaped(a: Array[Byte], from: Int, until: Int, out: ByteSink): Unit = {
    var plain = from
    var at = from
    while (at < until) {
      val c = a(at)
      val escape = if (c == '"') '"' else if (c == '\\') '\\' else if (c == '\n') 'n' else if (c == '\r') 'r' else 0
      if (escape != 0) {
        out.append(a, plain, at - plain)
        out.appendByte('\\')
        out.appendByte(escape)
        plain = at + 1
      }
      at += 1
    }
    out.append(a, plain, until - plain)
  }

  /** Whether the bytes are an absolute IRI. */
  def isAbsolute(a: Array[Byte], from: Int, until: Int): Boolean = {
    if (from >= until || a(from) < 0 || !NTriplesChars.inScheme(a(from).toChar, first = true)) return false
    var at = from
    while (at < until && a(at) >= 0 && NTriplesChars.inScheme(a(at).toChar, first = false)) at += 1
    if (at >= until || a(at) != ':') return false
    while (at < until && (a(at) < 0 || NTriplesChars.inIri(a(at)))) at += 1
    at == until
  }

  /** Whether the bytes are a language tag, which is written in lower case afterwards. */
  def lowerTag(a: Array[Byte], from: Int, until: Int): Boolean = {
    var at = from
    var length = 0
    var first = true
    var fine = true
    while (at < until && fine) {
      val c = a(at)
      if (c == '-') { fine = length > 0; length = 0; first = false }
      else {
        fine = c >= 0 && isAlphanumeric(c) && !(first && c >= '0' && c <= '9') && length < 8
        if (c >= 'A' && c <= 'Z') a(at) = (c + 32).toByte
        length += 1
      }
      at += 1
    }
    fine && length > 0
  }

  /** The label of the blank node of a value: different labels for different values. */
  def label(value: String): String = {
    val out = new java.lang.StringBuilder("b")
    var at = 0
    while (at < value.length) {
      val code = value.codePointAt(at)
      if (code < 128 && isAlphanumeric(code)) out.append(code.toChar) else out.append('_').append(Integer.toHexString(code)).append('-')
      at += Character.charCount(code)
    }
    out.toString
  }

  def text(a: Array[Byte], from: Int, until: Int): String = new String(a, from, until - from, UTF_8)
}
