package org.apache.spark.sql.cqels
package ingest

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.rdf.{MalformedLine, MalformedTerm, NQuadsReader, SimpleLine}

/** Reads elements from a block of UTF-8 text: a line `@<millis> <graph or -> <n> <m>` each, then n triples of its graph and m of the
 *  default graph (its time triples), one N-Triples line each.
 *
 *  All or nothing per element. With `rdf12`, quoted triples are written as RDF 1.2 has them; with `accepts`, IRIs are taken as
 *  they stand; with `distinct`, a triple that an element has twice counts once (an element is a graph; it matters only where
 *  occurrences count).
 */
private[cqels] final class ElementLines(dictionary: Dictionary, rdf12: Boolean, accepts: Boolean, distinct: Boolean) {
  private val line = new SimpleLine
  private val terms = new HeldTerms(dictionary)
  private var bytes: Array[Byte] = _
  private var length = 0
  private var at = 0 // where the line after the one of now begins
  private var lineFrom = 0
  private var lineUntil = 0
  // The header of the element of now.
  private var time = 0L
  private var triples = 0
  private var lines = 0
  private var graphFrom = 0
  private var graphUntil = 0
  private var scope: String = _ // of its blank nodes; null: none yet
  private var graph = 0L

  /** The elements of the first `length` bytes. */
  def read(bytes: Array[Byte], length: Int): ElementBlock = {
    this.bytes = bytes
    this.length = length
    at = 0
    val block = new ElementBlock(dictionary)
    while (nextLine()) {
      header()
      element(block)
    }
    block
  }

  private def element(block: ElementBlock): Unit = {
    block.beginElement(time)
    scope = null
    graph = 0L
    var left = lines
    try {
      var i = 0
      while (i < lines) {
        if (!nextLine()) throw new MalformedLine("the element ends before its last triple", 1)
        left -= 1
        triple(block, inGraph = i < triples)
        i += 1
      }
      if (distinct) ElementLines.dropRepeated(block)
    } catch {
      case e: MalformedLine =>
        block.dropElement()
        block.flaws.add(time, e.column, e.message)
        pass(left)
      case e: MalformedTerm => // the name of the graph, which is looked at before anything of a triple is held
        block.dropElement()
        block.flaws.add(time, 0, e.message)
        pass(left)
    }
  }

  private def triple(block: ElementBlock, inGraph: Boolean): Unit =
    if (line.read(bytes, lineFrom, lineUntil, allowGraph = true)) {
      val g = if (inGraph) heldGraph(block) else 0L
      val s = terms.id(bytes, line.from(0), line.until(0), 0)
      val p = terms.id(bytes, line.from(1), line.until(1), 1)
      val o = terms.id(bytes, line.from(2), line.until(2), 2)
      block.add(s, p, o, g)
    } else {
      if (scope == null) scope = dictionary.takeElementScope()
      val reader = new NQuadsReader(scope, true, rdf12, accepts)
      if (reader.parse(new String(bytes, lineFrom, lineUntil - lineFrom, UTF_8))) {
        val g = if (inGraph) heldGraph(block) else 0L
        block.add(terms.id(reader.subject), terms.id(reader.predicate), terms.id(reader.obj), g)
      }
    }

  /** The element's graph, held for one more quad. */
  private def heldGraph(block: ElementBlock): Long =
    if (graph != 0) block.hold(graph)
    else if (graphUntil - graphFrom == 1 && bytes(graphFrom) == '-') 0L
    else {
      graph =
        if (bytes(graphFrom) == '_') {
          if (scope == null) scope = dictionary.takeElementScope()
          val label = new String(bytes, graphFrom + 2, graphUntil - graphFrom - 2, UTF_8)
          terms.id("_:" + scope + label) // as in its triples
        } else terms.id(bytes, graphFrom, graphUntil, 3)
      graph
    }

  private def nextLine(): Boolean = {
    if (at >= length) return false
    lineFrom = at
    var i = at
    while (i < length && bytes(i) != '\n') i += 1
    lineUntil = i
    at = i + 1
    true
  }

  private def pass(count: Int): Unit = { var i = 0; while (i < count && nextLine()) i += 1 }

  private def header(): Unit = {
    val end = lineUntil
    if (end - lineFrom < 8 || bytes(lineFrom) != '@') refuse()
    val space = indexOfSpace(lineFrom, end)
    time = number(lineFrom + 1, space)
    graphFrom = space + 1
    graphUntil = indexOfSpace(graphFrom, end)
    val second = indexOfSpace(graphUntil + 1, end)
    triples = Math.toIntExact(number(graphUntil + 1, second))
    lines = Math.addExact(triples, Math.toIntExact(number(second + 1, end)))
    if (triples < 0 || lines < triples || graphUntil == graphFrom) refuse()
  }

  private def indexOfSpace(from: Int, until: Int): Int = {
    var i = from
    while (i < until && bytes(i) != ' ') i += 1
    if (i >= until) refuse()
    i
  }

  private def number(from: Int, until: Int): Long = {
    val negative = from < until && bytes(from) == '-'
    var i = if (negative) from + 1 else from
    if (i >= until || until - i > 18) refuse()
    var value = 0L
    while (i < until) {
      val digit = bytes(i) - '0'
      if (digit < 0 || digit > 9) refuse()
      value = value * 10 + digit
      i += 1
    }
    if (negative) -value else value
  }

  private def refuse(): Nothing =
    throw new IllegalArgumentException(s"not an element header: ${new String(bytes, lineFrom, lineUntil - lineFrom, UTF_8)}")
}

private[cqels] object ElementLines {
  /** Takes out the quads that the element begun last has already, and what they hold. */
  def dropRepeated(block: ElementBlock): Unit = {
    val gone = new LongTable(4, 1)
    takeRepeated(block, gone)
    block.dictionary.release(gone.data, gone.rowCount * 4)
  }

  /** Moves the quads that the element begun last has already to `gone`; what they hold is to be released, once it is held. */
  def takeRepeated(block: ElementBlock, gone: LongTable): Unit = {
    val last = block.size - 1
    val (from, until) = (block.begin(last), block.end(last))
    if (until - from > 1) {
      val quads = block.quads.data
      val seen = mutable.HashSet[(Long, Long, Long, Long)]()
      var kept = from
      var i = from
      while (i < until) {
        val at = i * 4
        if (seen.add((quads(at), quads(at + 1), quads(at + 2), quads(at + 3)))) {
          System.arraycopy(quads, at, quads, kept * 4, 4)
          kept += 1
        } else gone.appendAll(quads, i, 1)
        i += 1
      }
      block.quads.truncate(kept)
    }
  }
}
