package org.apache.spark.sql.cqels
package columns

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{ElementBlock, ElementLines, Flaws}
import org.apache.spark.sql.cqels.memory.LongTable

/** Makes elements of rows of terms: rows with the same graph and time are one, a row without a graph is one by itself.
 *
 *  A row that is no triple with a time costs the element that it belongs to. `distinct`: as [[ElementLines]] has it. With
 *  `numbered` it is told which rows were set aside.
 */
private[cqels] final class TermElements(dictionary: Dictionary, distinct: Boolean, numbered: Boolean) {
  import TermReader._

  private var parts: Array[TermRows] = _
  private var terms: EnteredTerms = _
  private var block: ElementBlock = _
  private var repeated: LongTable = _
  private var firstRows: Array[Int] = _

  /** The elements of the rows of all parts, as if they were one. */
  def read(parts: Array[TermRows]): ElementBlock = {
    this.parts = parts
    block = new ElementBlock(dictionary)
    terms = new EnteredTerms(dictionary, parts.map(_.terms))
    repeated = new LongTable(4)
    firstRows = parts.scanLeft(0)(_ + _.rows)
    val malformed = new Flaws // told after the rows that belong to no element
    if (parts.exists(_.hasGraphs)) grouped(malformed) else eachByItself(malformed)
    block.flaws.addAll(malformed)
    terms.settle(repeated)
    this.parts = null
    terms = null
    repeated = null
    block
  }

  private def eachByItself(malformed: Flaws): Unit = {
    var p = 0
    while (p < parts.length) {
      val rows = parts(p)
      var row = 0
      while (row < rows.rows) {
        if (isPlaced(p, row)) {
          val flaw = flawOf(rows, row)
          if (flaw != null) setAside(malformed, p, row, flaw)
          else {
            begin(rows.times(row))
            add(p, row, 0L)
          }
        }
        row += 1
      }
      p += 1
    }
  }

  private def grouped(malformed: Flaws): Unit = {
    val groups = new RowGroups(firstRows.last)
    val graphs = new GraphKeys
    for (p <- parts.indices; row <- 0 until parts(p).rows) {
      val rows = parts(p)
      if (isPlaced(p, row)) groups.add(firstRows(p) + row, if (graphCode(rows, row) < 0) 0L else graphs.key(p, row), rows.times(row))
    }
    groups.each { (members, from, until) =>
      val partOfFirst = partOf(members(from))
      val first = members(from) - firstRows(partOfFirst)
      val rows = parts(partOfFirst)
      val graph = if (graphCode(rows, first) < 0) null else rows.terms(Graph).text(graphCode(rows, first))
      var flaw: String = null
      var i = from
      while (i < until && flaw == null) {
        val p = partOf(members(i))
        flaw = flawOf(parts(p), members(i) - firstRows(p))
        if (flaw != null) setAside(malformed, p, members(i) - firstRows(p), if (graph == null) flaw else s"$graph: $flaw")
        i += 1
      }
      if (flaw == null) {
        begin(rows.times(first))
        i = from
        while (i < until) {
          val p = partOf(members(i))
          val row = members(i) - firstRows(p)
          add(p, row, if (graph == null) 0L else terms.hold(p, Graph, row))
          i += 1
        }
        if (distinct && until - from > 1) ElementLines.takeRepeated(block, repeated)
      }
    }
  }

  private def partOf(row: Int): Int = {
    var p = 0
    while (row >= firstRows(p + 1)) p += 1
    p
  }

  private def graphCode(rows: TermRows, row: Int): Int = if (rows.hasGraphs) rows.terms(Graph).codes(row) else -1

  /** Whether a row belongs to an element; else it is set aside. */
  private def isPlaced(p: Int, row: Int): Boolean = {
    val rows = parts(p)
    val named = if (graphCode(rows, row) < 0) null else rows.terms(Graph).flaw(row, Graph)
    val flaw = if (named != null) named else TermRows.flaw(rows.times(row))
    if (flaw != null) setAside(block.flaws, p, row, flaw)
    flaw == null
  }

  private def flawOf(rows: TermRows, row: Int): String = {
    var flaw = rows.terms(Subject).flaw(row, Subject)
    if (flaw == null) flaw = rows.terms(Predicate).flaw(row, Predicate)
    if (flaw == null) flaw = rows.terms(Object).flaw(row, Object)
    flaw
  }

  private def setAside(flaws: Flaws, p: Int, row: Int, reason: String): Unit = flaws.addRow(if (numbered) firstRows(p) + row else -1, reason)

  private def begin(time: Long): Unit = {
    block.beginElement(time)
    terms.beginElement()
  }

  private def add(p: Int, row: Int, graph: Long): Unit =
    block.add(terms.hold(p, Subject, row), terms.hold(p, Predicate, row), terms.hold(p, Object, row), graph)

  /** Numbers by which graphs are told apart: ids, and below zero the labels of blank nodes. */
  private final class GraphKeys {
    private val labels = new java.util.HashMap[String, java.lang.Long]()

    def key(p: Int, row: Int): Long = {
      val graphs = parts(p).terms(Graph)
      val code = graphs.codes(row)
      if (graphs.states(code) != Scoped) terms.id(p, Graph, code)
      else labels.computeIfAbsent(graphs.text(code), _ => -1L - labels.size)
    }
  }
}
