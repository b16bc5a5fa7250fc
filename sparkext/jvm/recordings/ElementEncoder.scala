package org.apache.spark.sql.cqels
package recordings

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{ElementBlock, ElementLines, HeldTerms}
import org.apache.spark.sql.cqels.rdf.NQuadsReader

/** Writes elements into blocks; with `distinct`, a triple that an element has twice counts once. */
private[recordings] final class ElementEncoder(dictionary: Dictionary, distinct: Boolean) {
  private val terms = new HeldTerms(dictionary)

  def add(element: RecordedElement, block: ElementBlock): Unit = {
    block.beginElement(element.time)
    val scope = if (element.mayHaveBlanks) dictionary.takeElementScope() else null
    val reader = if (scope == null) null else new NQuadsReader(scope, false, false, true)
    val text = element.array
    var graph = 0L
    var at = 0
    while (at < element.statementCount) {
      val inGraph = element.inGraph(at)
      val place = if (!inGraph) 0L else if (graph != 0) block.hold(graph) else {
        graph = nameOf(element, scope)
        graph
      }
      if (reader == null) {
        val s = terms.id(text, element.from(at, 0), element.until(at, 0), 0)
        val p = terms.id(text, element.from(at, 1), element.until(at, 1), 1)
        block.add(s, p, terms.id(text, element.from(at, 2), element.until(at, 2), 2), place)
      } else {
        reader.parse(s"${element.term(at, 0)} ${element.term(at, 1)} ${element.term(at, 2)} .")
        block.add(terms.id(reader.subject), terms.id(reader.predicate), terms.id(reader.obj), place)
      }
      at += 1
    }
    if (distinct) ElementLines.dropRepeated(block)
  }

  /** The graph's name, held once. */
  private def nameOf(element: RecordedElement, scope: String): Long = {
    val name = element.name
    if (scope != null && name.isBlank) terms.id("_:" + scope + new String(name.bytes, 2, name.bytes.length - 2, UTF_8))
    else terms.id(name.bytes, 0, name.bytes.length, 3)
  }
}
