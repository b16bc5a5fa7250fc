package org.apache.spark.sql.cqels
package rdf

/** Line-based RDF text read whole: its statements in canonical form, or the first problem. */
final class CanonicalLines(allowGraph: Boolean, rdf12: Boolean, onError: String) {
  private var found: LoadProblem = _
  private val leftOut = new java.util.ArrayList[LoadProblem]

  def this(allowGraph: Boolean, rdf12: Boolean) = this(allowGraph, rdf12, OnError.Fail)

  /** What ended the last reading, null when nothing did; files are counted by 0, lines and columns from 1. */
  def problem: LoadProblem = found

  /** What was wrong with the lines that the last reading left out, those that are to be skipped. */
  def skipped: java.util.List[LoadProblem] = leftOut

  def read(text: String): String = {
    found = null
    leftOut.clear()
    val reader = new NQuadsReader("", allowGraph, rdf12, onError == OnError.Accept)
    val out = new java.lang.StringBuilder(text.length)
    val lines = CanonicalLines.EndOfLine.split(text, -1)
    var i = 0
    while (found == null && i < lines.length) {
      try if (reader.parse(lines(i))) {
        out.append(reader.subject).append(' ').append(reader.predicate).append(' ').append(reader.obj)
        if (reader.graph != null) out.append(' ').append(reader.graph)
        out.append(" .\n")
      } catch {
        case e: MalformedLine =>
          val problem = LoadProblem(0, 0L, i + 1, e.column, e.message, lines(i))
          if (onError == OnError.Skip) leftOut.add(problem) else found = problem
      }
      i += 1
    }
    out.toString
  }
}

/** What becomes of what is malformed, as Python names it. */
private[cqels] object OnError {
  final val Fail = "fail"
  final val Skip = "skip"
  final val Accept = "accept"
}

private[cqels] object CanonicalLines {
  val EndOfLine: java.util.regex.Pattern = java.util.regex.Pattern.compile("\r\n|\r|\n")
}
