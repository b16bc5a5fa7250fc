package org.apache.spark.sql.cqels
package recordings

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** Where the terms of one statement stand: subject, predicate, object and, where there is one, graph, all canonical texts. */
private[cqels] final class StatementText {
  var bytes: Array[Byte] = _
  val from = new Array[Int](4)
  val until = new Array[Int](4)
  var hasGraph = false
  /** Whether a term may be, or hold, a blank node. */
  var mayHaveBlanks = false
  /** 0: not known. */
  var line = 0

  def is(place: Int, text: Array[Byte]): Boolean = Arrays.equals(bytes, from(place), until(place), text, 0, text.length)
  def copy(place: Int): Array[Byte] = Arrays.copyOfRange(bytes, from(place), until(place))
}

/** A graph's name, a canonical text, and what uses it. */
private[cqels] final class GraphName(private var text: Array[Byte], private var from: Int, private var until: Int) {
  private var hash = 0
  rehash()
  var uses: List[RecordedElement] = Nil // the last one first
  /** The line of the first use; it is remembered longer than what is in it. */
  var firstLine = 0
  /** Whether the first use has been judged. */
  var firstJudged = false

  def bytes: Array[Byte] = text
  def isBlank: Boolean = text(from) == '_'
  override def toString: String = new String(text, from, until - from, UTF_8)

  /** Lets a name that is only used for looking others up be another. */
  def become(bytes: Array[Byte], begin: Int, end: Int): GraphName = {
    text = bytes
    from = begin
    until = end
    rehash()
    this
  }

  private def rehash(): Unit = {
    var h = 1
    var i = from
    while (i < until) { h = 31 * h + text(i); i += 1 }
    hash = h ^ (h >>> 15)
  }

  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case that: GraphName => (this eq that) || hash == that.hash && Arrays.equals(text, from, until, that.text, that.from, that.until)
    case _ => false
  }
}

private[recordings] object GraphName {
  def of(text: Array[Byte]): GraphName = new GraphName(text, 0, text.length)
  def of(text: String): GraphName = of(text.getBytes(UTF_8))
}

/** What is said about one use of a graph's name: its triples, its times, and other triples of the default graph about it. */
private[cqels] final class RecordedElement(val name: GraphName, val line: Int) extends ReplayElement {
  private var text = new Array[Byte](192)
  private var used = 0
  private var ends = new Array[Int](6) // of each statement, where subject (twice it, plus 1 in the graph), predicate and object end
  private var statements = 0
  private var triples = 0
  private var timeAt = -1 // the statement with the time that came first
  private var otherTimes: List[Int] = Nil
  /** The piece of the file in which its last quad lies; 0: no quad yet. */
  var piece = 0
  /** Why it cannot be used, with the line; null: nothing is known. */
  var spoilt: String = _
  var spoiltLine = 0
  /** Whether it is part of another use by now. */
  var folded = false
  var mayHaveBlanks = false

  def hasTriples: Boolean = triples > 0
  def hasTime: Boolean = timeAt >= 0
  def timeCount: Int = if (timeAt < 0) 0 else 1 + otherTimes.length
  def bytes: Int = used
  def statementCount: Int = statements

  /** Adds a statement; gives the bytes that it takes. */
  def add(statement: StatementText, inGraph: Boolean): Int = {
    val before = used
    if (statements * 3 == ends.length) ends = Arrays.copyOf(ends, ends.length * 2)
    var place = 0
    while (place < 3) {
      append(statement.bytes, statement.from(place), statement.until(place))
      ends(statements * 3 + place) = used
      place += 1
    }
    mark(statements, inGraph)
    if (inGraph) triples += 1
    mayHaveBlanks |= statement.mayHaveBlanks
    statements += 1
    used - before
  }

  /** Adds a time triple unless it is there; gives the bytes that it takes. */
  def addTime(statement: StatementText): Int = {
    val known = timeAt >= 0 && (timeAt :: otherTimes).exists { at =>
      (1 to 2).forall(p => Arrays.equals(text, from(at, p), until(at, p), statement.bytes, statement.from(p), statement.until(p)))
    }
    if (known) 0
    else {
      if (timeAt < 0) timeAt = statements else otherTimes ::= statements
      add(statement, inGraph = false)
    }
  }

  /** Adds what another use of the name says. */
  def fold(other: RecordedElement): Unit = {
    val statement = new StatementText
    statement.bytes = other.text
    statement.mayHaveBlanks = other.mayHaveBlanks
    for (at <- 0 until other.statements) {
      for (p <- 0 to 2) { statement.from(p) = other.from(at, p); statement.until(p) = other.until(at, p) }
      if (at == other.timeAt || other.otherTimes.contains(at)) addTime(statement) else add(statement, other.inGraph(at))
    }
    if (spoilt == null) { spoilt = other.spoilt; spoiltLine = other.spoiltLine }
    other.folded = true
    other.letGo()
  }

  def spoil(reason: String, line: Int): Unit = if (spoilt == null) { spoilt = reason; spoiltLine = line }

  /** The object of the time triple. */
  def timeText: String = new String(text, from(timeAt, 2), until(timeAt, 2) - from(timeAt, 2), UTF_8)

  /** Gives back the memory of its statements. */
  def letGo(): Unit = { text = Array.emptyByteArray; ends = Array.emptyIntArray }

  def term(at: Int, place: Int): String = new String(text, from(at, place), until(at, place) - from(at, place), UTF_8)
  def array: Array[Byte] = text
  def inGraph(at: Int): Boolean = (ends(at * 3) & 1) == 1
  def from(at: Int, place: Int): Int =
    if (place > 0) until(at, place - 1) else if (at == 0) 0 else ends(at * 3 - 1)
  def until(at: Int, place: Int): Int = if (place == 0) ends(at * 3) >>> 1 else ends(at * 3 + place)

  private def mark(at: Int, inGraph: Boolean): Unit = ends(at * 3) = ends(at * 3) * 2 + (if (inGraph) 1 else 0)

  private def append(source: Array[Byte], begin: Int, end: Int): Unit = {
    val needed = used.toLong + end - begin
    // Half of what an Int counts: `ends` hold twice a place.
    if (needed > RecordedElement.MostBytes) throw new OutOfMemoryError(s"the element $name is too large")
    if (needed > text.length) text = Arrays.copyOf(text, Math.max(needed, text.length * 2L).toInt)
    System.arraycopy(source, begin, text, used, end - begin)
    used = needed.toInt
  }
}

private object RecordedElement {
  final val MostBytes = Int.MaxValue / 2 - 16
}
