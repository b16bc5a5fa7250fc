package org.apache.spark.sql.cqels
package streams

private final class ElementHeader(val time: Long, val graph: String, val graphTriples: Int, val size: Int) {
  /** Where the default graph's triples begin among the statements read; -1: none. */
  var timeFrom: Int = -1
}

private object ElementHeader {
  private val Form = "@(-?[0-9]{1,18}) (\\S+) ([0-9]{1,9}) ([0-9]{1,9})".r

  def parse(line: String): ElementHeader = line match {
    case Form(time, graph, triples, times) => new ElementHeader(time.toLong, graph, triples.toInt, triples.toInt + times.toInt)
    case _ => throw new IllegalArgumentException(s"not an element header: $line")
  }
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
