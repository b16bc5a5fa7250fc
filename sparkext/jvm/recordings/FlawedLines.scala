package org.apache.spark.sql.cqels
package recordings

import java.util.{ArrayDeque, HashMap => JHashMap}
import java.util.regex.Pattern

import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** A line that is malformed: at its end the name of its graph may still be legible, at its beginning its subject. */
private[cqels] final class FlawedLine(val number: Int, text: String, val reason: String) {
  val tail: GraphName = FlawedLine.name(FlawedLine.Tail, text)
  val head: GraphName = FlawedLine.name(FlawedLine.Head, text)
  /** The graph of the quad before it, and the same where the quad after it is of that graph, too. */
  var open: GraphName = _
  var between: GraphName = _
  var settled = false
  /** What it may belong to, each once. */
  def names: Seq[GraphName] = Seq(tail, head, open).filter(_ != null).distinct
  var begun = 0L
}

private[recordings] object FlawedLine {
  private final val Flags = Pattern.UNICODE_CHARACTER_CLASS | Pattern.UNIX_LINES
  private val Tail = Pattern.compile("""(<[^<>\s]*>|_:[^\s<>"]*[^\s<>".])\s*\.\s*(?:#.*)?$""", Flags)
  private val Head = Pattern.compile("""^\s*(<[^<>\s]*>|_:[^\s<>"]+)""", Flags)

  private def name(pattern: Pattern, text: String): GraphName = {
    val found = pattern.matcher(text)
    if (found.find()) GraphName.of(found.group(1)) else null
  }
}

/** Malformed lines whose element is not told yet, each for `lookAhead` elements. */
private[recordings] final class FlawedLines(lookAhead: Int) {
  private val waiting = new ArrayDeque[FlawedLine]()
  private val byName = new JHashMap[GraphName, ArrayDeque[FlawedLine]]()
  private val afterQuad = new ArrayDeque[FlawedLine]() // those after the last quad

  def isEmpty: Boolean = waiting.isEmpty

  def add(line: FlawedLine, begun: Long): Unit = {
    line.begun = begun
    waiting.add(line)
    afterQuad.add(line)
    line.names.foreach(name => byName.computeIfAbsent(name, _ => new ArrayDeque[FlawedLine]()).add(line))
  }

  /** A quad of that graph came. */
  def follow(graph: GraphName): Unit = {
    afterQuad.forEach(line => if (line.open == graph) line.between = graph)
    afterQuad.clear()
  }

  /** The lines that may belong to an element, in order. */
  def of(name: GraphName): Seq[FlawedLine] = {
    val found = byName.get(name)
    if (found == null) Nil else found.iterator.asScala.toSeq
  }

  /** Those that have waited long enough; they are forgotten. */
  def oldest(begun: Long): Seq[FlawedLine] =
    drop(() => waiting.size > lookAhead || begun - waiting.peek.begun > lookAhead)

  def all(): Seq[FlawedLine] = drop(() => true)

  private def drop(old: () => Boolean): Seq[FlawedLine] = {
    if (waiting.isEmpty || !old()) return Nil
    val found = mutable.ArrayBuffer[FlawedLine]()
    while (!waiting.isEmpty && old()) {
      val line = waiting.poll()
      found += line
      if (afterQuad.peek eq line) afterQuad.poll()
      line.names.foreach { name =>
        val lines = byName.get(name)
        lines.poll() // it is the oldest of all
        if (lines.isEmpty) byName.remove(name)
      }
    }
    found.toSeq
  }
}
