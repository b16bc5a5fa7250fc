package org.apache.spark.sql.cqels

/** Line-based RDF text read whole: its statements in canonical form, or the first problem. */
final class CanonicalLines(allowGraph: Boolean, rdf12: Boolean) {
  private var found: LoadProblem = _

  /** What ended the last reading, null when nothing did; files are counted by 0, lines and columns from 1. */
  def problem: LoadProblem = found

  def read(text: String): String = {
    found = null
    val reader = new NQuadsReader("", allowGraph, rdf12)
    val out = new java.lang.StringBuilder(text.length)
    val lines = CanonicalLines.EndOfLine.split(text, -1)
    var i = 0
    try while (i < lines.length) {
      if (reader.parse(lines(i))) {
        out.append(reader.subject).append(' ').append(reader.predicate).append(' ').append(reader.obj)
        if (reader.graph != null) out.append(' ').append(reader.graph)
        out.append(" .\n")
      }
      i += 1
    } catch {
      case e: MalformedLine => found = LoadProblem(0, 0L, i + 1, e.column, e.message, lines(i))
    }
    out.toString
  }
}

private object CanonicalLines {
  val EndOfLine: java.util.regex.Pattern = java.util.regex.Pattern.compile("\r\n|\r|\n")
}
