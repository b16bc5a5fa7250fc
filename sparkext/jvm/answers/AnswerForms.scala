package org.apache.spark.sql.cqels
package answers

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{RelationContent, WindowTable}
import org.apache.spark.sql.cqels.terms.TermCodec

/** What becomes of the rows of solutions before they are answered (SPARQL 1.1, section 16). */
trait AnswerForm {
  /** How many columns the answered rows have. */
  def columns: Int
  def apply(solutions: LongTable): LongTable
}

/** Rows (subject, predicate, object), each once: an RDF graph. */
private[cqels] final class TripleSet {
  private val known = new WindowTable(3)
  private val triple = new Array[Long](3)
  val rows = new LongTable(3)

  def add(subject: Long, predicate: Long, obj: Long): Unit = {
    triple(0) = subject
    triple(1) = predicate
    triple(2) = obj
    val before = known.rowCount
    known.insert(triple)
    if (known.rowCount > before) rows.appendAll(triple, 0, 1)
  }
}

/** CONSTRUCT: the template with each solution's terms put in (section 16.2); triples that are none are left out.
 *
 *  A blank node of the template is another one in each solution. `pattern` lists the template's terms in prefix form,
 *  three a triple: `v0` the column of a variable, `c12` the id of a term, `b0` a blank node, `q` a quoted triple, which
 *  the terms of its three parts follow.
 */
final class Template(dictionary: Dictionary, pattern: String) extends AnswerForm {
  import Template._

  private var blankNodes = 0
  private val triples: Array[Array[Node]] = {
    val tokens = pattern.split(' ').iterator.filter(_.nonEmpty)
    val nodes = Iterator.continually(tokens).takeWhile(_.hasNext).map(read).toArray
    nodes.grouped(3).toArray
  }

  override def columns: Int = 3

  private def read(tokens: Iterator[String]): Node = {
    val token = tokens.next()
    token.charAt(0) match {
      case 'v' => VariableNode(token.substring(1).toInt)
      case 'c' => ConstantNode(token.substring(1).toLong)
      case 'b' =>
        val number = token.substring(1).toInt
        blankNodes = math.max(blankNodes, number + 1)
        BlankNode(number)
      case 'q' => QuotedNode(read(tokens), read(tokens), read(tokens))
    }
  }

  override def apply(solutions: LongTable): LongTable = {
    val out = new TripleSet
    val fresh = new Array[Long](blankNodes)
    var row = 0
    while (row < solutions.rowCount) {
      java.util.Arrays.fill(fresh, 0L)
      var i = 0
      while (i < triples.length) {
        val s = term(triples(i)(0), solutions, row, fresh)
        val p = term(triples(i)(1), solutions, row, fresh)
        val o = term(triples(i)(2), solutions, row, fresh)
        if (isTriple(s, p, o)) out.add(s, p, o)
        i += 1
      }
      row += 1
    }
    out.rows
  }

  /** A term's id, 0 for an unbound variable and for a quoted triple that is none. */
  private def term(node: Node, solutions: LongTable, row: Int, fresh: Array[Long]): Long = node match {
    case VariableNode(column) => solutions(row, column)
    case ConstantNode(id) => id
    case BlankNode(number) =>
      if (fresh(number) == 0) fresh(number) = dictionary.encode(s"_:c${row}_$number")
      fresh(number)
    case QuotedNode(subject, predicate, obj) =>
      val s = term(subject, solutions, row, fresh)
      val p = term(predicate, solutions, row, fresh)
      val o = term(obj, solutions, row, fresh)
      if (isTriple(s, p, o)) dictionary.encodeQuoted(s, p, o) else 0L
  }

  private def isTriple(s: Long, p: Long, o: Long): Boolean =
    s != 0 && o != 0 && p != 0 && TermCodec.isIri(p) && (TermCodec.isIri(s) || TermCodec.isBlank(s) || TermCodec.isQuoted(s))
}

private[cqels] object Template {
  sealed trait Node
  final case class VariableNode(column: Int) extends Node
  final case class ConstantNode(id: Long) extends Node
  final case class BlankNode(number: Int) extends Node
  final case class QuotedNode(subject: Node, predicate: Node, obj: Node) extends Node
}

/** DESCRIBE: the concise bounded description of resources, read from the triples (s, p, o) of `triples`.
 *
 *  It holds the triples whose subject is the resource, and those whose subject is a blank node reached that way.
 *  `resources` are ids that are described whatever the solutions are; each of the solutions' columns names more.
 */
final class Description(triples: RelationContent, resources: String) extends AnswerForm {
  private val always = Numbers.list(resources)

  override def columns: Int = 3

  override def apply(solutions: LongTable): LongTable = {
    val index = triples.index(Array(0, 1, 2), Array(0))
    val seen = new mutable.LongMap[Unit]
    val waiting = new mutable.ArrayDeque[Long]
    def describe(id: Long): Unit =
      if (id != 0 && !TermCodec.isLiteral(id) && !seen.contains(id)) { seen(id) = (); waiting += id }
    always.foreach(describe)
    var row = 0
    while (row < solutions.rowCount) {
      var c = 0
      while (c < solutions.arity) { describe(solutions(row, c)); c += 1 }
      row += 1
    }
    val out = new TripleSet
    while (waiting.nonEmpty) {
      val found = index.asReadOnlyCopy().get(waiting.removeHead())
      if (found != null) found.foreach { triple =>
        out.add(triple.getLong(0), triple.getLong(1), triple.getLong(2))
        if (TermCodec.isBlank(triple.getLong(2))) describe(triple.getLong(2))
      }
    }
    out.rows
  }
}
