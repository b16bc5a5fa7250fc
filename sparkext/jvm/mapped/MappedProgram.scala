package org.apache.spark.sql.cqels
package mapped

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.cqels.columns.RowColumns
import org.apache.spark.sql.cqels.ingest.{RecordCell, RecordLayout}

/** A mapping as `RowMapping.program` of Python writes it: the columns that it reads, its term maps, and the quads of them.
 *
 *  `fixed` gives its constants, and the terms of the rows it joins with, their ids.
 */
private[mapped] final class MappedProgram(json: String, fixed: String => Long) {
  private val root = new ObjectMapper().readTree(json)
  private val termNodes = items(root.get("terms"))

  val columns: Array[String] = items(root.get("columns")).map(_.asText)
  /** Subject, predicate, object and graph of each quad, as numbers of terms; -1: the default graph. */
  val quads: Array[Array[Int]] = items(root.get("quads")).map(items(_).map(_.asInt))

  private val constants: Array[Long] = termNodes.map(node => if (op(node) == "constant") fixed(node.get("text").asText) else 0L)
  private val tables: Array[JoinTable] = termNodes.map(node => if (op(node) == "join") table(node) else null)

  /** What records of its rows stand for, the term in each of their columns, and the quads that are made one by one, as a row may have
   *  several of them; null where all are. With `distinct`, none of the latter may be one that a record stands for.
   */
  def records(distinct: Boolean): RecordTerms = {
    val (others, made) = quads.partition(_.exists(term => term >= 0 && makesSeveral(term)))
    val columns = made.flatten.filter(term => term >= 0 && op(termNodes(term)) != "constant").distinct
    val cells = made.map(_.map { term =>
      if (term < 0) RecordCell(-1, 0L)
      else if (columns.contains(term)) RecordCell(columns.indexOf(term), 0L)
      else RecordCell(-1, constants(term))
    })
    val mayRepeat = made.exists(one => others.exists(mayEqual(one, _)))
    if (made.isEmpty || columns.isEmpty || (distinct && mayRepeat)) null
    else new RecordTerms(new RecordLayout(columns.length, cells), columns, others)
  }

  private def mayEqual(one: Array[Int], other: Array[Int]): Boolean = one.indices.forall { place =>
    val (a, b) = (one(place), other(place))
    a == b || (a >= 0 && b >= 0 && (constants(a) == 0 || constants(b) == 0 || constants(a) == constants(b)))
  }

  private def makesSeveral(term: Int): Boolean = {
    val node = termNodes(term)
    op(node) match {
      case "join" => true
      case "own" => makesSeveral(node.get("term").asInt)
      case "triple" => items(node.get("terms")).exists(part => makesSeveral(part.asInt))
      case _ => false
    }
  }

  private def op(node: JsonNode): String = node.get("op").asText

  private def table(node: JsonNode): JoinTable = {
    val scoped = node.get("scoped").asBoolean // whether blank nodes are called what they are called in all elements
    val rows = items(node.get("rows")).map { row =>
      val key = items(row.get(0)).map(_.asText).toSeq
      key -> items(row.get(1)).map(_.asText).map { text =>
        if (text.startsWith("_:") && !scoped) new JoinedTerm(0L, text.substring(2)) else new JoinedTerm(fixed(text), null)
      }
    }
    new JoinTable(rows.toMap)
  }

  private val nulls = items(root.get("nulls")).map(_.asText).toSet

  /** The columns that it reads as mappings read them: those called "m..." are of several datatypes. */
  def columnsOf(rows: RowColumns): Array[MappedColumn] = rows.columns.map { column =>
    val read = MappedColumn.of(column, mixed = column.name.startsWith("m"))
    if (nulls.isEmpty) read else new WithNulls(read, nulls)
  }

  /** What the term maps make of the rows of these columns. */
  def slots(of: Array[MappedColumn], terms: RowTerms): Array[TermSlot] = {
    val made = new Array[TermSlot](termNodes.length)
    def slot(number: Int): TermSlot = {
      if (made(number) == null) made(number) = make(number)
      made(number)
    }
    def make(number: Int): TermSlot = {
      val node = termNodes(number)
      op(node) match {
        case "constant" => new ConstantSlot(constants(number))
        case "natural" => new NaturalSlot(of(node.get("column").asInt), terms)
        case "iri" => iri(node, of, terms)
        case "blank" => new BlankSlot(parts(node, of), columnsOf(node, of), terms)
        case "literal" => literal(node, of, terms)
        case "triple" => new QuotedSlot(items(node.get("terms")).map(n => slot(n.asInt)), terms)
        case "join" => new JoinedSlot(tables(number), items(node.get("columns")).map(n => of(n.asInt)), terms)
        case "own" =>
          val pairs = items(node.get("equal")).map(pair => (of(pair.get(0).asInt), of(pair.get(1).asInt)))
          new OwnRowSlot(slot(node.get("term").asInt), pairs)
        case other => throw new IllegalArgumentException(s"no term map is a $other")
      }
    }
    termNodes.indices.map(slot).toArray
  }

  private def iri(node: JsonNode, of: Array[MappedColumn], terms: RowTerms): IriSlot = {
    val base = node.get("base")
    new IriSlot(
      parts(node, of), columnsOf(node, of), node.get("template").asBoolean, node.get("ascii").asBoolean,
      if (base == null || base.isNull) null else base.asText.getBytes(UTF_8), node.get("absolute").asBoolean, terms)
  }

  private def literal(node: JsonNode, of: Array[MappedColumn], terms: RowTerms): TermSlot = {
    val ends = Array("datatype", "language").map(node.get)
    val columns = (columnsOf(node, of) ++ ends.filter(_ != null).flatMap(columnsOf(_, of))).distinct
    val datatype = if (ends(0) == null) null else end(ends(0), of, terms)
    val language = if (ends(1) == null) null else end(ends(1), of, terms)
    new LiteralSlot(parts(node, of), columns, node.get("template").asBoolean, datatype, language, terms)
  }

  private def end(node: JsonNode, of: Array[MappedColumn], terms: RowTerms): LiteralEnd =
    if (node.has("fixed")) new FixedEnd(node.get("fixed").asText.getBytes(UTF_8))
    else if (op(node) == "iri") new IriEnd(iri(node, of, terms))
    else new TextEnd(parts(node, of))

  /** The parts of a text: texts, and columns by number. */
  private def parts(node: JsonNode, of: Array[MappedColumn]): Array[TextPart] = items(node.get("parts")).map { part =>
    if (part.isTextual) new FixedPart(part.asText.getBytes(UTF_8)) else new ColumnPart(of(part.asInt))
  }

  private def columnsOf(node: JsonNode, of: Array[MappedColumn]): Array[MappedColumn] =
    items(node.get("parts")).filter(_.isInt).map(part => of(part.asInt)).distinct

  private def items(node: JsonNode): Array[JsonNode] = if (node == null) Array() else node.elements.asScala.toArray
}

private[mapped] object MappedProgram {
  /** How the program that is written so finds its columns in JSON. */
  def jsonOf(program: String): JsonLineRows = {
    val root = new ObjectMapper().readTree(program)
    new JsonLineRows(root.get("iterator"), root.get("paths").elements.asScala.toArray)
  }
}

/** How rows become records: their layout, the term in each column, and the quads that are made beside them. */
private[mapped] final class RecordTerms(val layout: RecordLayout, val columns: Array[Int], val others: Array[Array[Int]])
