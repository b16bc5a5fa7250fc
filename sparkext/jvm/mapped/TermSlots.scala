package org.apache.spark.sql.cqels
package mapped

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.terms.{TermCodec, TermId}

/** What a term map makes of the rows of a batch, as ids; throws [[RowFlaw]] where a row is wrong. */
private[mapped] abstract class TermSlot {
  /** The term of a row, 0 where there is none; for slots that make one term at most. */
  def id(row: Int): Long
  /** Whether it may make several terms of a row. */
  def makesSeveral: Boolean = false
  /** Adds all terms of a row. */
  def addAll(row: Int, out: Ids): Unit = { val one = id(row); if (one != 0) out.add(one) }
}

/** A few ids. */
private[mapped] final class Ids {
  var values = new Array[Long](8)
  var size = 0
  def add(id: Long): Unit = {
    if (size == values.length) values = Arrays.copyOf(values, size * 2)
    values(size) = id
    size += 1
  }
}

/** Gives the terms of so many rows their ids. */
private[mapped] abstract class RowTerms(val rows: Int) {
  val sink = new ByteSink(512)
  val scratch = new ByteSink(256)

  /** The id of the term whose canonical text is in `sink`. */
  def encoded(): Long

  def encoded(text: String): Long

  def quoted(subject: Long, predicate: Long, obj: Long): Long

  /** The prefix of the labels of an element's blank nodes. */
  def elementScope: String
}

/** The terms that a batch encodes: each is held in the dictionary until the batch ends. */
private[mapped] final class BatchTerms(dictionary: Dictionary, rows: Int) extends RowTerms(rows) {
  private var held = new Array[Long](1024)
  private var used = 0
  private var scope: String = _ // null: the element has none yet

  def encoded(): Long = keep(dictionary.encodeRetained(sink.array, 0, sink.length))

  def encoded(text: String): Long = keep(dictionary.encodeRetained(text))

  def quoted(subject: Long, predicate: Long, obj: Long): Long = keep(dictionary.encodeQuotedRetained(subject, predicate, obj))

  private def keep(id: Long): Long = {
    if (!TermId.isInline(id)) {
      if (used == held.length) held = Arrays.copyOf(held, used * 2)
      held(used) = id
      used += 1
    }
    id
  }

  /** Says that the rows from now on are of another element. */
  def beginElement(): Unit = scope = null

  def elementScope: String = {
    if (scope == null) scope = dictionary.takeElementScope()
    scope
  }

  def release(): Unit = { dictionary.release(held, used); used = 0 }
}

private[mapped] final class ConstantSlot(constant: Long) extends TermSlot {
  def id(row: Int): Long = constant
}

/** The natural literals of a column (R2RML, section 10.2). */
private[mapped] final class NaturalSlot(column: MappedColumn, terms: RowTerms) extends TermSlot {
  private val known = new Array[Long](column.codes)

  def id(row: Int): Long =
    if (column.isNull(row)) 0L
    else if (column.codes > 0) {
      val code = column.code(row)
      if (known(code) == 0) known(code) = make(row)
      known(code)
    } else make(row)

  private def make(row: Int): Long = {
    val inline = column.naturalId(row)
    if (inline != 0) return inline
    val scratch = terms.scratch
    scratch.reset()
    column.appendLexical(row, scratch)
    val sink = terms.sink
    sink.reset()
    sink.appendByte('"')
    RowTexts.appendEscaped(scratch.array, 0, scratch.length, sink)
    sink.appendByte('"')
    column.appendSuffix(row, sink)
    terms.encoded()
  }
}

/** A part of a text: a constant, or a column. */
private[mapped] sealed trait TextPart
private[mapped] final class FixedPart(val bytes: Array[Byte]) extends TextPart
private[mapped] final class ColumnPart(val column: MappedColumn) extends TextPart

/** The texts of rows by codes of their columns, or each by itself where a column has none. */
private[mapped] abstract class TextSlot(columns: Array[MappedColumn], terms: RowTerms) extends TermSlot {
  private val byCode = columns.length > 0 && columns.forall(_.codes > 0) && TextSlot.product(columns) > 0
  private val known = if (byCode) new CodeCache(TextSlot.product(columns), terms.rows) else null
  private var lastRow = -1
  private var lastId = 0L

  /** The term of a row none of whose values is null. */
  protected def make(row: Int): Long

  def id(row: Int): Long = {
    if (row == lastRow) return lastId
    var code = 0L
    var i = 0
    while (i < columns.length) {
      val column = columns(i)
      if (column.isNull(row)) { lastRow = row; lastId = 0L; return 0L }
      if (byCode) code = code * column.codes + column.code(row)
      i += 1
    }
    val id =
      if (byCode) {
        val there = known.get(code)
        if (there != 0) there else { val made = make(row); known.put(code, made); made }
      } else make(row)
    lastRow = row
    lastId = id
    id
  }
}

private[mapped] object TextSlot {
  /** How many combinations of codes there are, 0 where they are too many to count. */
  def product(columns: Array[MappedColumn]): Long =
    columns.foldLeft(1L)((all, c) => if (all == 0 || all > (1L << 62) / math.max(1, c.codes)) 0L else all * math.max(1, c.codes))
}

/** An IRI: `parts` one after the other, values percent-encoded in a template; `base` is what relative ones are put behind. */
private[mapped] final class IriSlot(
    parts: Array[TextPart], columns: Array[MappedColumn], template: Boolean, ascii: Boolean, base: Array[Byte], absolute: Boolean,
    terms: RowTerms)
    extends TextSlot(columns, terms) {
  private val text = new ByteSink(128)

  protected def make(row: Int): Long = {
    val sink = terms.sink
    sink.reset()
    sink.appendByte('<')
    append(row, sink)
    sink.appendByte('>')
    terms.encoded()
  }

  /** Appends the IRI of a row without brackets. */
  def append(row: Int, out: ByteSink): Unit = {
    text.reset()
    val scratch = terms.scratch
    parts.foreach {
      case fixed: FixedPart => text.append(fixed.bytes)
      case part: ColumnPart =>
        if (template) {
          scratch.reset()
          part.column.appendLexical(row, scratch)
          RowTexts.appendSafe(scratch.array, 0, scratch.length, ascii, text)
        } else part.column.appendLexical(row, text)
    }
    val whole = if (absolute || RowTexts.isAbsolute(text.array, 0, text.length)) text else based()
    if (ascii) RowTexts.appendAscii(whole.array, 0, whole.length, out) else out.append(whole.array, 0, whole.length)
  }

  private def based(): ByteSink = {
    val bare = !(0 until text.length).exists(text.array(_) == ':')
    if (base == null && bare) throw new RowFlaw(s"'${text.text}' is a relative IRI, and there is no base (base_iri=)")
    val whole = new ByteSink(text.length + 64)
    if (base != null) whole.append(base)
    whole.append(text.array, 0, text.length)
    if (!RowTexts.isAbsolute(whole.array, 0, whole.length)) throw new RowFlaw(s"'${whole.text}' is not an IRI")
    whole
  }
}

/** A literal with a datatype, a language, both perhaps made of the row, or neither. */
private[mapped] final class LiteralSlot(
    parts: Array[TextPart], columns: Array[MappedColumn], template: Boolean, datatype: LiteralEnd, language: LiteralEnd,
    terms: RowTerms)
    extends TextSlot(columns, terms) {
  /** The column whose value the literal is. */
  private val only = if (template) null else parts(0) match { case p: ColumnPart => p.column; case _ => null }

  private val end = new ByteSink(64)

  protected def make(row: Int): Long = {
    end.reset()
    var plain = false
    if (datatype != null) {
      datatype.append(row, end)
      val iri = end.text
      plain = LiteralSlot.withoutExponent(iri)
      end.reset()
      if (iri != TermCodec.Xsd + "string") end.append(s"^^<$iri>".getBytes(UTF_8))
    } else if (language != null) {
      end.appendByte('@')
      language.append(row, end)
      if (!RowTexts.lowerTag(end.array, 1, end.length))
        throw new RowFlaw(s"'${RowTexts.text(end.array, 1, end.length)}' is not a language tag")
    }
    val scratch = terms.scratch
    scratch.reset()
    if (only != null && plain) only.appendPlain(row, scratch)
    else parts.foreach {
      case fixed: FixedPart => scratch.append(fixed.bytes)
      case part: ColumnPart => part.column.appendLexical(row, scratch)
    }
    val sink = terms.sink
    sink.reset()
    sink.appendByte('"')
    RowTexts.appendEscaped(scratch.array, 0, scratch.length, sink)
    sink.appendByte('"')
    sink.append(end.array, 0, end.length)
    terms.encoded()
  }
}

private[mapped] object LiteralSlot {
  private val whole = Seq(
    "decimal", "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
    "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte").map(TermCodec.Xsd + _).toSet

  /** Whether numbers of a datatype are written without an exponent. */
  def withoutExponent(iri: String): Boolean = whole(iri)
}

/** The datatype or language of a literal. */
private[mapped] trait LiteralEnd {
  def append(row: Int, out: ByteSink): Unit
}

private[mapped] final class FixedEnd(bytes: Array[Byte]) extends LiteralEnd {
  def append(row: Int, out: ByteSink): Unit = out.append(bytes)
}

private[mapped] final class IriEnd(iri: IriSlot) extends LiteralEnd {
  def append(row: Int, out: ByteSink): Unit = iri.append(row, out)
}

private[mapped] final class TextEnd(parts: Array[TextPart]) extends LiteralEnd {
  def append(row: Int, out: ByteSink): Unit = parts.foreach {
    case fixed: FixedPart => out.append(fixed.bytes)
    case part: ColumnPart => part.column.appendLexical(row, out)
  }
}

/** A blank node of the row's element: the same for the same value. */
private[mapped] final class BlankSlot(parts: Array[TextPart], columns: Array[MappedColumn], terms: RowTerms) extends TermSlot {
  def id(row: Int): Long = {
    if (columns.exists(_.isNull(row))) return 0L
    val text = new ByteSink(64)
    parts.foreach {
      case fixed: FixedPart => text.append(fixed.bytes)
      case part: ColumnPart => part.column.appendLexical(row, text)
    }
    terms.encoded("_:" + terms.elementScope + RowTexts.label(text.text))
  }
}

/** Ids by combinations of codes of so many rows: an array where these are few, else a table that is emptied when it is full. */
private[mapped] final class CodeCache(combinations: Long, rows: Int) {
  import CodeCache._

  private val direct = if (combinations <= math.max(64L, 2L * rows)) new Array[Long](combinations.toInt) else null
  private val size = math.min(Most, Integer.highestOneBit(math.max(16, rows)) * 4)
  private val keys = if (direct == null) Array.fill(size)(-1L) else null
  private val ids = if (direct == null) new Array[Long](size) else null
  private var used = 0

  def get(code: Long): Long = if (direct != null) direct(code.toInt) else { val at = slot(code); if (keys(at) == code) ids(at) else 0L }

  def put(code: Long, id: Long): Unit =
    if (direct != null) direct(code.toInt) = id
    else {
      if (used > size / 2) { Arrays.fill(keys, -1L); used = 0 }
      val at = slot(code)
      if (keys(at) != code) used += 1
      keys(at) = code
      ids(at) = id
    }

  private def slot(code: Long): Int = {
    var at = ((code * 0x9e3779b97f4a7c15L) >>> 32).toInt & (size - 1)
    while (keys(at) != -1L && keys(at) != code) at = (at + 1) & (size - 1)
    at
  }
}

private[mapped] object CodeCache {
  final val Most = 1 << 16
}
