package org.apache.spark.sql.cqels
package recordings

import java.util.{ArrayDeque, HashMap => JHashMap}

import scala.collection.mutable

/** Where elements go that are put together, and what could not be used. */
private[cqels] trait Assembled {
  /** An element whose `time` and `number` are set. */
  def take(element: RecordedElement): Unit
  /** `line` 0 and `graph` null where they are not known. */
  def setAside(line: Int, graph: String, reason: String): Unit
}

/** Puts the elements of one file together from its statements: named graphs, and the triples of the default graph that date them.
 *
 *  The order of the statements matters only to tell a name that is used twice from a graph that is written in several
 *  pieces: more quads of a name, with a time of their own, after another graph has begun, are a second element whose name
 *  is already used. An element is closed when `lookAhead` others have begun after it, or what has begun takes more than
 *  `mostBytes`; its name is forgotten then. In a file of fewer elements, nothing is closed before its end.
 */
private[cqels] final class ElementAssembler(
    timeProperties: Array[Array[Byte]], lookAhead: Int, mostBytes: Long, earlier: Seq[ElementAssembler], target: Assembled) {
  import ElementAssembler._

  private val names = new JHashMap[GraphName, GraphName]()
  private val probe = GraphName.of("_")
  private val begun = new ArrayDeque[RecordedElement]()
  private val loose = mutable.LinkedHashMap[GraphName, Loose]()
  private val flaws = new FlawedLines(lookAhead)
  private var open: RecordedElement = _
  private var piece = 0
  private var count = 0L // uses that have begun
  private var closed = 0L
  private var bytes = 0L
  private var looseBytes = 0L
  /** Triples of the default graph that are about no element. */
  var ignored = 0L

  def take(statement: StatementText): Unit =
    if (statement.hasGraph) quad(statement) else default(statement)

  /** Whether a graph of that name is remembered. */
  def knows(name: GraphName): Boolean = names.containsKey(name)

  private def quad(statement: StatementText): Unit = {
    if (open == null || !statement.is(3, open.name.bytes)) {
      piece += 1
      val known = named(statement, 3)
      var use = lastUse(known)
      if (use == null || (use.hasTriples && use.hasTime)) use = begin(known, statement, 3)
      use.piece = piece
      open = use
    }
    if (!flaws.isEmpty) flaws.follow(open.name)
    bytes += open.add(statement, inGraph = true)
    shrink()
  }

  private def default(statement: StatementText): Unit = {
    val known = named(statement, 0)
    var use = lastUse(known)
    if (isTime(statement)) {
      val over = use != null && use.piece != 0 && use.piece != piece
      if (use == null || (use.hasTime && over)) use = begin(known, statement, 0)
      bytes += use.addTime(statement)
      shrink()
    } else if (use != null) {
      bytes += use.add(statement, inGraph = false)
      shrink()
    } else {
      val about = loose.getOrElseUpdate(GraphName.of(statement.copy(0)), new Loose(count))
      looseBytes += about.text.add(statement, inGraph = false)
      ignoreOld()
    }
  }

  /** Notes a line that is malformed, with the names that it may belong to; which, is told when all is known. */
  def flaw(line: FlawedLine): Unit = {
    line.open = if (open == null) null else open.name
    flaws.add(line, count)
    flaws.oldest(count).foreach(settle)
  }

  /** Says why the element of that name cannot be used; null: of none that can be told. */
  def spoil(graph: String, reason: String, line: Int): Unit =
    if (graph == null) target.setAside(line, null, reason)
    else {
      val known = names.get(GraphName.of(graph))
      val last = lastUse(known)
      (if (last != null) last else begin(known, GraphName.of(graph), line)).spoil(reason, line)
      shrink()
    }

  /** The file has ended. */
  def finish(): Unit = {
    flaws.all().foreach(settle)
    while (!begun.isEmpty) closeOldest(forget = false)
    ignored += loose.valuesIterator.map(_.text.statementCount.toLong).sum
    loose.clear()
    open = null
  }

  /** Lets go of the names, too. */
  def forget(): Unit = names.clear()

  // ---- uses of names

  private def named(statement: StatementText, place: Int): GraphName =
    names.get(probe.become(statement.bytes, statement.from(place), statement.until(place)))

  private def lastUse(name: GraphName): RecordedElement = if (name == null || name.uses.isEmpty) null else name.uses.head

  private def begin(known: GraphName, statement: StatementText, place: Int): RecordedElement =
    begin(known, if (known != null) known else GraphName.of(statement.copy(place)), statement.line)

  private def begin(known: GraphName, name: GraphName, line: Int): RecordedElement = {
    if (known == null) {
      names.put(name, name)
      name.firstLine = line
    }
    val use = new RecordedElement(if (known != null) known else name, line)
    use.name.uses ::= use
    begun.add(use)
    bytes += Overhead
    count += 1
    use
  }

  private def isTime(statement: StatementText): Boolean = {
    var i = 0
    while (i < timeProperties.length && !statement.is(1, timeProperties(i))) i += 1
    i < timeProperties.length
  }

  // ---- closing

  private def shrink(): Unit =
    while (begun.size > lookAhead || (bytes > mostBytes && begun.size > 1)) closeOldest(forget = true)

  private def closeOldest(forget: Boolean): Unit = {
    val use = begun.poll()
    bytes -= Overhead
    if (!use.folded) {
      val name = use.name
      if (!flaws.isEmpty) flaws.of(name).filter(line => !line.settled && ownerOf(line) == name).foreach(settle)
      val isFirst = !name.firstJudged
      if (isFirst) gather(name)
      bytes -= use.bytes
      judge(use, isFirst)
      name.firstJudged = true
      if (use eq open) open = null
      name.uses = name.uses.filter(_ ne use)
      if (forget && name.uses.isEmpty) names.remove(name)
      if (!flaws.isEmpty) flaws.oldest(count).foreach(settle)
      ignoreOld()
    }
  }

  /** Joins to the first use of a name what only looked like another, quads or a time without the other, and what stood apart. */
  private def gather(name: GraphName): Unit = {
    var kept :: others = name.uses.reverse: @unchecked
    var all = List(kept)
    for (use <- others) {
      if ((use.hasTriples && use.hasTime) || (use.spoilt != null && (use.hasTriples || use.hasTime))) {
        kept = use
        all ::= use
      } else {
        bytes -= kept.bytes + use.bytes
        kept.fold(use)
        bytes += kept.bytes
        if (use eq open) open = kept
      }
    }
    name.uses = all
    loose.remove(name).foreach { about =>
      looseBytes -= about.text.bytes
      bytes += about.text.bytes
      all.last.fold(about.text)
    }
  }

  private def judge(use: RecordedElement, isFirst: Boolean): Unit = {
    val name = use.name
    val where = if (name.firstLine == 0) "" else s", in line ${name.firstLine}"
    if (!name.isBlank && earlier.exists(_.knows(name))) setAside(use, use.line, "its graph name is already used in another file of the stream")
    else if (!isFirst && use.hasTriples != use.hasTime && use.spoilt == null)
      setAside(use, use.line, s"a part of an element$where that is closed already, as too many have begun after it")
    else if (!isFirst) setAside(use, use.line, s"its graph name is already used$where")
    else if (use.spoilt != null) setAside(use, use.spoiltLine, use.spoilt)
    else if (!use.hasTriples) setAside(use, use.line, "a time, but no triple in a graph of that name")
    else if (!use.hasTime) setAside(use, use.line, "no time")
    else if (use.timeCount > 1) setAside(use, use.line, s"${if (use.timeCount == 2) "two" else use.timeCount.toString} times")
    else
      try {
        use.time = ElementTimes.of(use.timeText)
        use.number = closed
        closed += 1
        target.take(use)
      } catch { case e: IllegalArgumentException => setAside(use, use.line, e.getMessage) }
  }

  private def setAside(use: RecordedElement, line: Int, reason: String): Unit = {
    target.setAside(line, use.name.toString, reason)
    use.letGo()
  }

  // ---- what may belong to an element

  private def ownerOf(line: FlawedLine): GraphName =
    if (line.tail != null && names.containsKey(line.tail)) line.tail
    else if (line.head != null && names.containsKey(line.head)) line.head
    else line.between

  private def settle(line: FlawedLine): Unit = if (!line.settled) {
    line.settled = true
    val owner = ownerOf(line)
    val use = if (owner == null) null else lastUse(names.get(owner))
    if (use == null) target.setAside(line.number, if (owner == null) null else owner.toString, line.reason)
    else use.spoil(line.reason, line.number)
  }

  /** Lets go of triples of the default graph when the element that they might be about would be closed by now. */
  private def ignoreOld(): Unit =
    while (loose.nonEmpty && { val oldest = loose.head._2; count - oldest.begun > lookAhead || looseBytes > mostBytes }) {
      val (name, about) = loose.head
      loose.remove(name)
      looseBytes -= about.text.bytes
      val use = lastUse(names.get(name))
      if (use != null) {
        bytes += about.text.bytes
        use.fold(about.text)
      } else ignored += about.text.statementCount
    }
}

private[recordings] object ElementAssembler {
  /** What an element takes besides its text, about. */
  private final val Overhead = 200L

  /** Triples of the default graph about what is no element so far; `begun`: how many elements had begun. */
  private final class Loose(val begun: Long) {
    val text = new RecordedElement(null, 0)
  }
}
