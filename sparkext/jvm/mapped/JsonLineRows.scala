package org.apache.spark.sql.cqels
package mapped

import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import org.apache.spark.sql.cqels.columns._
import org.apache.spark.sql.cqels.memory.ByteSink
import org.apache.spark.sql.cqels.terms.TermCodec

/** JSON Lines as rows: `iterator` leads from a document to its rows, `paths` from a row to the values of each column.
 *
 *  A path is an array of names, numbers and null for every member. A row of which a path has several values becomes several of one
 *  number, one for each combination, unless these are too many.
 */
private[mapped] final class JsonLineRows(iterator: JsonNode, paths: Array[JsonNode]) {
  import JsonLineRows._

  /** The columns of lines, then the numbers of their rows, from `first`; null where Python is to look at them, as something is no JSON,
   *  no value that a literal can hold, or too many values.
   */
  def read(bytes: Array[Byte], length: Int, first: Long): RowColumns =
    try {
      val columns = paths.map(_ => new mutable.ArrayBuffer[JsonNode])
      val numbers = new mutable.ArrayBuffer[Long]
      var number = first
      var from = 0
      while (from < length) {
        var until = from
        while (until < length && bytes(until) != '\n') until += 1
        if (!isBlank(bytes, from, until))
          each(mapper.readTree(bytes, from, until - from), iterator, 0) { row =>
            addRow(row, columns, numbers, number)
            number += 1
          }
        from = until + 1
      }
      val found = columns.zipWithIndex.map { case (values, i) => column(i, values) }
      new RowColumns(numbers.length, found :+ new LongColumn("element", numbers.length, Nulls.none, numbers.toArray))
    } catch {
      case _: JsonProcessingException | _: UnsaidValue => null
    }

  private def addRow(row: JsonNode, columns: Array[mutable.ArrayBuffer[JsonNode]], numbers: mutable.ArrayBuffer[Long], number: Long): Unit = {
    val values = paths.map { path =>
      val found = new mutable.ArrayBuffer[JsonNode](1)
      each(row, path, 0)(value => if (!value.isNull) found += value)
      if (found.isEmpty) found += null
      found
    }
    // No product of lengths is beyond a Long, as each is cut off where it is too large.
    val combinations = values.foldLeft(1L)((n, found) => math.min(n * found.length, Int.MaxValue.toLong))
    if (combinations > MostCombinations && combinations > values.iterator.map(_.length).max) throw new UnsaidValue
    val chosen = new Array[Int](paths.length)
    var more = true
    while (more) {
      var c = 0
      while (c < paths.length) { columns(c) += values(c)(chosen(c)); c += 1 }
      numbers += number
      c = paths.length - 1
      while (c >= 0 && chosen(c) + 1 == values(c).length) { chosen(c) = 0; c -= 1 }
      more = c >= 0
      if (more) chosen(c) += 1
    }
  }

  private def column(place: Int, values: mutable.ArrayBuffer[JsonNode]): RowColumn = {
    val rows = values.length
    if (values.exists(v => v != null && v.isContainerNode)) throw new UnsaidValue
    if (values.forall(v => v == null || v.isTextual)) texts(s"c$place", values, v => sound(v.textValue))
    else if (values.forall(v => v == null || v.isIntegralNumber && v.canConvertToLong))
      new LongColumn(s"c$place", rows, nulls(values), values.iterator.map(v => if (v == null) 0L else v.longValue).toArray)
    else if (values.forall(v => v == null || v.isDouble))
      new DoubleColumn(s"c$place", rows, nulls(values), values.iterator.map(v => if (v == null) 0.0 else v.doubleValue).toArray, single = false)
    else if (values.forall(v => v == null || v.isBoolean))
      new BooleanColumn(s"c$place", rows, nulls(values), bits(values)(v => v != null && v.booleanValue))
    else texts(s"m$place", values, mixed)
  }

  private def texts(name: String, values: mutable.ArrayBuffer[JsonNode], text: JsonNode => Array[Byte]): TextColumn = {
    val made = new TextBuilder
    values.foreach(value => made.add(if (value == null) null else text(value)))
    made.column(name)
  }

  /** A lexical form, a character 0 and its datatype, as MixedTexts reads them. */
  private def mixed(value: JsonNode): Array[Byte] = {
    val sink = new ByteSink(64)
    if (value.isTextual) sink.append(sound(value.textValue))
    else if (value.isDouble) Doubles.append(value.doubleValue, sink)
    else sink.appendAscii(value.asText)
    sink.appendByte(0)
    if (!value.isTextual) {
      val name = if (value.isDouble) "double" else if (value.isBoolean) "boolean" else "integer"
      sink.append((TermCodec.Xsd + name).getBytes(US_ASCII))
    }
    java.util.Arrays.copyOf(sink.array, sink.length)
  }
}

private[mapped] object JsonLineRows {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  /** As `sparkext.runtime.streams.mapped_columns` has it. */
  private final val MostCombinations = 1L << 16

  /** A value that has no lexical form, or too many values: Python says which. */
  final class UnsaidValue extends RuntimeException(null, null, false, false)

  /** Gives what a path leads to, from its step `at` on. */
  def each(value: JsonNode, path: JsonNode, at: Int)(action: JsonNode => Unit): Unit =
    if (at == path.size) action(value)
    else {
      val step = path.get(at)
      if (step.isTextual) { val found = value.get(step.textValue); if (found != null) each(found, path, at + 1)(action) }
      else if (step.isInt) { if (value.isArray && step.intValue < value.size) each(value.get(step.intValue), path, at + 1)(action) }
      else value.elements.asScala.foreach(each(_, path, at + 1)(action))
    }

  private def sound(text: String): Array[Byte] = {
    var i = 0
    while (i < text.length) {
      val c = text.charAt(i)
      if (Character.isSurrogate(c)) {
        if (!Character.isHighSurrogate(c) || i + 1 == text.length || !Character.isLowSurrogate(text.charAt(i + 1))) throw new UnsaidValue
        i += 1
      }
      i += 1
    }
    text.getBytes(UTF_8)
  }

  private def isBlank(bytes: Array[Byte], from: Int, until: Int): Boolean = {
    var i = from
    while (i < until && (bytes(i) == ' ' || bytes(i) == '\t' || bytes(i) == '\r')) i += 1
    i == until
  }

  private def bits(values: mutable.ArrayBuffer[JsonNode])(is: JsonNode => Boolean): Nulls = {
    val found = new Array[Byte](values.length / 8 + 1)
    for (i <- values.indices if is(values(i))) found(i >> 3) = (found(i >> 3) | (1 << (i & 7))).toByte
    new Nulls(found, false)
  }

  private def nulls(values: mutable.ArrayBuffer[JsonNode]): Nulls = bits(values)(_ == null)
}
