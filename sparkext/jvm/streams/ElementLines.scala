package org.apache.spark.sql.cqels
package streams

private final class ElementHeader(val time: Long, val graph: String, val graphTriples: Int, val size: Int) {
  /** Where the default graph's triples begin among the statements read; -1: none. */
  var timeFrom: Int = -1
}

private object ElementHeader {
  /** Reads `@time graph triples times`; by hand, as there is one for each element. */
  def parse(line: String): ElementHeader = {
    val graph = line.indexOf(' ') + 1
    val triples = line.indexOf(' ', graph) + 1
    val times = line.indexOf(' ', triples) + 1
    if (graph < 3 || triples <= graph + 1 || times <= triples + 1 || line.charAt(0) != '@') refuse(line)
    try {
      val ofGraph = Integer.parseInt(line, triples, times - 1, 10)
      val ofTime = Integer.parseInt(line, times, line.length, 10)
      if (ofGraph < 0 || ofTime < 0) refuse(line)
      new ElementHeader(java.lang.Long.parseLong(line, 1, graph - 1, 10), line.substring(graph, triples - 1), ofGraph, Math.addExact(ofGraph, ofTime))
    } catch {
      case _: NumberFormatException | _: ArithmeticException => refuse(line)
    }
  }

  private def refuse(line: String): Nothing = throw new IllegalArgumentException(s"not an element header: $line")
}

/** Lines of a block without splitting it first. */
private final class LineCursor(text: String) {
  private var at = 0
  private var read = 0
  var current: String = ""

  def advance(): Boolean = {
    if (at >= text.length) return false
    var end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    current = text.substring(at, end)
    at = end + 1
    true
  }

  def beginElement(): Unit = read = 0
  def advanceInElement(): Boolean = { val more = advance(); if (more) read += 1; more }

  /** Passes over what is left of an element of `size` lines. */
  def skipTo(size: Int): Unit = { while (read < size && advanceInElement()) (); read = 0 }
}
