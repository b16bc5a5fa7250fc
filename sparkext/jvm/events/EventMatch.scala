package org.apache.spark.sql.cqels
package events

import java.nio.{ByteBuffer, ByteOrder}
import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.{Dictionary, WindowTerms}
import org.apache.spark.sql.cqels.functions.TermConstructors
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.WindowContent
import org.apache.spark.sql.cqels.streams.{Stay, TimedContent}
import org.apache.spark.sql.cqels.terms.TermCodec

/** The state of one MATCH of one query: event mappings in, the solutions that it finds out, in `content`.
 *
 *  Its pattern is built bottom up: `declare` each event, make its parts, each of which gets a number, and name the `root`.
 *  Variables are numbers from 0 below `variables`; ids of 0 are unbound. Times are whole milliseconds.
 *
 *  @param visible the variables whose values are the columns of `content`
 *  @param events how many events there are, numbered from 0
 *  @param bag whether `content` has a solution once for each event mapping
 *  @param times the xsd:dateTime of a time
 */
final class EventMatch(val name: String, variables: Int, visible: Array[Int], events: Int, bag: Boolean, times: Long => Long) {
  private val shape = new MappingShape(variables, events)
  private val clock = new MatchClock(events)
  private val found = new MatchTable(shape, visible, bag)
  private val arrived = new ArrivedMappings
  private val bound = new Array[Array[Int]](events)
  private val certain = new Array[Array[Int]](events)
  private val parts = mutable.ArrayBuffer.empty[EventPattern]
  private val least = Array.fill(events)(Long.MaxValue) // positions ever seen
  private var engine: MatchEngine = _
  private var lateness = Long.MaxValue
  private var newest = Long.MinValue
  private var room = 0L

  /** The matches of the last evaluation. */
  val content: WindowContent = new WindowContent(name, found.table)

  // -- the pattern ----------------------------------------------------------------------------------------------

  /** Says which variables the mappings of an event bind, in the order of `insert`, and which of them always. */
  def declare(event: Int, variables: Array[Int], certain: Array[Int]): Unit = {
    bound(event) = variables
    this.certain(event) = certain
  }

  def event(number: Int): Int = {
    require(bound(number) != null, s"event $number of $name is not declared")
    part(SingleEvent(number, bound(number).distinct.sorted, certain(number).distinct.sorted))
  }
  def first(input: Int): Int = part(First(parts(input)))
  def last(input: Int): Int = part(Last(parts(input)))
  /** left SEQ right; with `absent`, if not -1, left SEQ NOT absent SEQ right. */
  def sequence(left: Int, right: Int, absent: Int): Int = part(Sequence(parts(left), parts(right), if (absent < 0) None else Some(parts(absent))))
  def conjunction(left: Int, right: Int): Int = part(Conjunction(parts(left), parts(right)))
  def disjunction(left: Int, right: Int): Int = part(Disjunction(parts(left), parts(right)))
  /** One of Allen's relations by its name, such as "met by". */
  def related(relation: String, left: Int, right: Int): Int = part(Related(Relations.number(relation), parts(left), parts(right)))
  def within(input: Int, millis: Long): Int = part(Within(parts(input), millis))
  /** The ends of mappings as values of variables, -1 for none. */
  def timed(input: Int, start: Int, end: Int): Int = part(Timed(parts(input), start, end))
  /** All mappings with equal keys as one; its aggregates are said by `aggregate`. */
  def repetition(input: Int, keys: Array[Int]): Int = part(Repetition(parts(input), keys.distinct.sorted))

  /** An aggregate of a repetition, said before the repetition becomes a part of anything.
   *
   *  @param function COUNT, SUM, AVG, MIN, MAX, SAMPLE or GROUP_CONCAT
   *  @param argument the variable that it is of, -1 for COUNT(*)
   *  @param separator of GROUP_CONCAT
   */
  def aggregate(repetition: Int, variable: Int, function: String, argument: Int, distinct: Boolean, separator: String): Unit =
    parts(repetition) match {
      case r: Repetition => r.aggregates += new RunAggregate(variable, function, argument, distinct, separator)
      case _ => throw new IllegalArgumentException(s"part $repetition of $name is no repetition")
    }

  /** Says which part is the pattern, and how sequences are selected: unrestricted, naive, chronological or recent. */
  def root(part: Int, selection: String, consumes: Boolean): Unit = {
    require(engine == null, s"$name has its pattern already")
    val pattern = parts(part)
    engine =
      if (selection == "unrestricted" && !consumes && JoinTree.isFor(pattern)) new JoinedMatch(shape, clock, found, times, pattern)
      else new EvaluatedMatch(shape, clock, found, times, () => room, pattern, Selection.of(selection), consumes)
  }

  /** Says that the pattern makes terms, of times or by aggregates. */
  def setMakesTerms(dictionary: Dictionary): Unit = found.terms = dictionary

  /** Lets go of all matches, and of the terms that they made. */
  def close(): Unit = reset()

  /** Has each match be known with the instant until which it holds: `stays` says of each event how long its window shows an element,
   *  as [[Stay]] reads it, one a line. From the next `reset` on, for patterns that are joined as mappings arrive.
   */
  def keepTimes(stays: String): Unit = {
    engine.asInstanceOf[JoinedMatch].keepTimes(stays.split('\n').map(Stay.parse))
    if (found.news == null) found.news = new LongTable(visible.length + 1)
    found.table.keepTimes()
  }
  /** The matches, each with the instant until which it holds, after `keepTimes`. */
  def timed(): TimedContent = new TimedContent(content)
  /** The matches that the last evaluation found, as those of `timed`. */
  private[cqels] def news: LongTable = found.news

  /** Whether a match uses up what it is made of. */
  def consumes: Boolean = engine.consumes

  private def part(pattern: EventPattern): Int = { parts += pattern; parts.size - 1 }

  /** The number of the engine whose dictionary has the terms that aggregates read. */
  def setRoom(number: Long): Unit = room = number

  /** Promises that no element comes that is more than so many milliseconds older than the newest one of any event at the evaluation
   *  before; without it, all that may be followed is kept.
   */
  def setLateness(millis: Long): Unit = lateness = millis

  // -- evaluation -----------------------------------------------------------------------------------------------

  /** Takes in a mapping of an event on one element; what it changes is seen in the next evaluation. The arrays may be
   *  used again, but for `occurrences`.
   *
   *  @param values in the order of `declare`
   *  @param position of the element in the event's window
   *  @param occurrences what it uses up if it is part of a match that consumes
   */
  def insert(event: Int, values: Array[Long], time: Long, position: Long, occurrences: Array[Long]): Unit =
    arrived.add(event, values, bound(event).length, time, position, if (engine.consumes) occurrences else null)

  /** As many `insert`s: numbers of 8 bytes, the low one first; event, time, position, the values, how many occurrences, these. */
  def insertAll(bytes: Array[Byte]): Unit = {
    val numbers = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer()
    while (numbers.hasRemaining) {
      val event = numbers.get().toInt
      val (time, position) = (numbers.get(), numbers.get())
      val values = new Array[Long](bound(event).length)
      numbers.get(values)
      val occurrences = new Array[Long](numbers.get().toInt)
      numbers.get(occurrences)
      insert(event, values, time, position, occurrences)
    }
  }

  /** Makes `content` the matches of now.
   *
   *  @param opens by event: elements of positions up to it are in its window no more; it never falls
   */
  def evaluate(opens: Array[Long]): Unit = {
    var e = 0
    found.forgetNews()
    while (e < events) { clock.opens(e) = math.max(clock.opens(e), opens(e)); e += 1 }
    val order = arrived.inOrder()
    newest = math.max(newest, arrived.latest)
    val settled = if (lateness == Long.MaxValue || newest == Long.MinValue) Long.MinValue else newest - lateness
    val mapping = shape.empty()
    var i = 0
    while (i < order.length) {
      val n = order(i)
      val event = arrived.event(n)
      val position = arrived.position(n)
      least(event) = math.min(least(event), position)
      if (position > clock.opens(event)) {
        val columns = bound(event)
        var c = 0
        while (c < columns.length) { mapping(columns(c)) = arrived.value(n, c); c += 1 }
        val time = arrived.time(n)
        mapping(shape.start) = time
        mapping(shape.end) = time
        mapping(shape.positions + event) = position
        clock.watermark = math.max(clock.watermark, math.min(settled, time))
        engine.insert(event, mapping, arrived.from(n))
        mapping(shape.positions + event) = Long.MaxValue
        c = 0
        while (c < columns.length) { mapping(columns(c)) = 0L; c += 1 }
      }
      i += 1
    }
    arrived.clear()
    clock.watermark = math.max(clock.watermark, settled)
    engine.evaluate(least)
  }

  /** Forgets all mappings and matches, not what was consumed. Windows may show anything afterwards. */
  def reset(): Unit = {
    arrived.clear()
    engine.clear()
    java.util.Arrays.fill(clock.opens, Long.MinValue)
    java.util.Arrays.fill(least, Long.MaxValue)
    clock.watermark = Long.MinValue
    newest = Long.MinValue
  }

  /** Event mappings that are kept, as they can take part in matches still. */
  def openCount: Long = engine.kept + arrived.size
  /** Matches of the last evaluation, each event mapping once. */
  def matchCount: Long = engine.matches
  /** Occurrences that were consumed and are remembered. */
  def consumedCount: Long = engine.consumed
  /** The same with the times of their elements, for another process, which `restoreConsumed` before its first evaluation. */
  def consumedUses: String = engine.consumedUses
  def restoreConsumed(written: String): Unit = engine.restoreUses(written)

  /** Says that evaluations may be done once more from an earlier instant on, after `reset` and `takeBackConsumed`: what was consumed is
   *  kept until `forgetConsumed`.
   */
  def setGoesBack(): Unit = clock.goesBack = true
  /** Has nothing be consumed but what was when so much was. */
  def takeBackConsumed(count: Int): Unit = engine.takeBackUses(count)
  /** Forgets what was consumed of elements up to a time, as no evaluation to come shows them, where that is worth it; how many. */
  def forgetConsumed(upTo: Long): Int = engine.forgetUses(upTo)
  /** Says that no window shows elements up to a time any more: what was consumed of them is forgotten, unless evaluations go back. */
  def leftBehind(upTo: Long): Unit = if (!clock.goesBack) engine.forgetUses(upTo)
  def memoryBytes: Long = engine.memoryBytes + arrived.memoryBytes
}

object EventMatch {
  private val Written = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC)

  /** Times as terms of an engine's dictionary, written as those of elements. */
  def times(room: Long): Long => Long = millis => {
    val inline = TermCodec.elementTimeIdOrZero(millis)
    if (inline != 0) inline else TermConstructors.dateTime(room, Written.format(Instant.ofEpochMilli(millis)))
  }
}

/** How matches are found. */
private[events] trait MatchEngine {
  def consumes: Boolean
  /** Takes in a mapping of an event whose window shows it. */
  def insert(event: Int, mapping: Array[Long], occurrences: Array[Long]): Unit
  /** Makes the matches those of now; `least` are the least positions that events ever had. */
  def evaluate(least: Array[Long]): Unit
  def clear(): Unit
  def kept: Long
  def matches: Long
  def consumed: Long = 0
  def consumedUses: String = ""
  def restoreUses(written: String): Unit = ()
  def takeBackUses(from: Int): Unit = ()
  def forgetUses(upTo: Long): Int = 0
  def memoryBytes: Long
}

/** Matches that are joined as mappings arrive. */
private final class JoinedMatch(shape: MappingShape, clock: MatchClock, found: MatchTable, times: Long => Long, pattern: EventPattern) extends MatchEngine {
  private val results = new MatchResults(shape, clock, found, pattern.events)
  private val held = if (found.terms == null) null else Array.fill(shape.events)(new WindowTerms(found.terms))
  private val tree = new JoinTree(shape, clock, times, held, pattern, results)

  def keepTimes(stays: Array[Stay]): Unit = results.stays = stays
  override def consumes: Boolean = false
  override def insert(event: Int, mapping: Array[Long], occurrences: Array[Long]): Unit = tree.insert(event, mapping)
  override def evaluate(least: Array[Long]): Unit = {
    results.expire(least)
    tree.tidy()
  }
  override def clear(): Unit = {
    tree.clear()
    results.clear()
  }
  override def kept: Long = tree.kept
  override def matches: Long = results.size
  override def memoryBytes: Long = tree.memoryBytes + results.memoryBytes
}
