package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.dictionary.WindowTerms
import org.apache.spark.sql.cqels.terms.TermCodec

/** What takes event mappings of a pattern as they are found. The array is used again for the next one. */
private[events] trait MappingTarget {
  def accept(mapping: Array[Long]): Unit
}

/** Patterns that only ever gain matches by what arrives: each new mapping is joined with those kept of the other side.
 *
 *  `held`: by event, the terms of times that mappings with it have; null: patterns make no terms.
 */
private[events] final class JoinTree(
    shape: MappingShape, clock: MatchClock, times: Long => Long, held: Array[WindowTerms], pattern: EventPattern, root: MappingTarget) {
  private var joins: List[MappingJoin] = Nil
  private val leaves = Array.fill(shape.events)(Array.empty[MappingTarget])
  build(pattern, root, Long.MaxValue)
  private val sides: Array[MappingSide] = joins.flatMap(j => Seq(j.leftSide, j.rightSide)).toArray

  def kept: Long = sides.foldLeft(0L)(_ + _.size)
  def memoryBytes: Long = sides.foldLeft(0L)(_ + _.memoryBytes)

  /** Takes in a mapping of an event. */
  def insert(event: Int, mapping: Array[Long]): Unit = {
    val targets = leaves(event)
    var i = 0
    while (i < targets.length) { targets(i).accept(mapping); i += 1 }
  }

  /** Takes some of what is dead away. */
  def tidy(): Unit = {
    var i = 0
    while (i < sides.length) {
      // Where much is dead, more is looked at: the cost is that of what has left.
      while (sides(i).tidy(JoinTree.TidiedRows) >= JoinTree.TidiedRows / 4) {}
      i += 1
    }
    if (held != null) for (event <- held.indices) held(event).release(clock.opens(event))
  }

  def clear(): Unit = {
    sides.foreach(_.clear())
    if (held != null) held.foreach(_.release(Long.MaxValue))
  }

  // `within`: how far t1 and t2 may lie apart in whatever a mapping becomes a part of; no operator makes intervals shorter.
  private def build(pattern: EventPattern, target: MappingTarget, within: Long): Unit = pattern match {
    case SingleEvent(number, _, _) => leaves(number) :+= target
    case Disjunction(left, right) =>
      build(left, target, within)
      build(right, target, within)
    case Within(input, millis) =>
      build(input, mapping => if (mapping(shape.end) - mapping(shape.start) <= millis) target.accept(mapping), math.min(within, millis))
    case Timed(input, start, end) => build(input, new TimedMappings(shape, clock, times, held, input.events, start, end, target), within)
    case pair: Pair =>
      val join = new MappingJoin(shape, clock, pair, target, within)
      joins ::= join
      build(pair.left, join.fromLeft(_), within)
      build(pair.right, join.fromRight(_), within)
    case other => throw new IllegalArgumentException(s"${other.getClass.getSimpleName} is not joined as mappings arrive")
  }
}

private[events] object JoinTree {
  /** Rows of each table that are looked at together in an evaluation, besides two at each arrival. */
  private final val TidiedRows = 64

  /** Whether matches are only gained by what arrives and lost by what leaves windows. */
  def isFor(pattern: EventPattern): Boolean = pattern match {
    case _: First | _: Last | _: Repetition => false
    case Sequence(_, _, Some(_)) => false
    case other => other.parts.forall(isFor)
  }
}

/** Hands mappings of some events on with their ends as values of variables. */
private final class TimedMappings(
    shape: MappingShape, clock: MatchClock, times: Long => Long, held: Array[WindowTerms], events: Array[Int], start: Int, end: Int,
    target: MappingTarget) extends MappingTarget {
  private val timed = shape.empty()

  override def accept(mapping: Array[Long]): Unit = {
    System.arraycopy(mapping, 0, timed, 0, shape.width)
    if (put(start, mapping(shape.start)) && put(end, mapping(shape.end))) target.accept(timed)
  }

  private def put(variable: Int, time: Long): Boolean = variable < 0 || {
    val value = times(time)
    if (held != null && !TermCodec.isInline(value)) hold(value)
    val fits = timed(variable) == 0 || timed(variable) == value
    timed(variable) = value
    fits
  }

  // A mapping takes part in none any more when the first of its events has left: it is enough to ask one of them, and not one of a
  // window that none leaves.
  private def hold(value: Long): Unit = {
    val event = events.filter(e => timed(shape.positions + e) != Long.MaxValue).maxBy(clock.opens(_))
    held(event).hold(Array(value), timed(shape.positions + event))
  }
}

/** SEQ, AND or one of Allen's relations: a symmetric hash join of two patterns. */
private final class MappingJoin(shape: MappingShape, clock: MatchClock, pair: Pair, target: MappingTarget, within: Long) {
  private val kind = pair match {
    case _: Sequence => MappingJoin.Before
    case Related(relation, _, _) => relation
    case _ => MappingJoin.Any
  }
  private val key = Variables.common(pair.left.certain, pair.right.certain)
  private val sequence = kind == MappingJoin.Before
  val leftSide = new MappingSide(shape, clock, pair.left, key, byStart = false, within, comes = false)
  val rightSide = new MappingSide(shape, clock, pair.right, key, byStart = sequence, within, comes = sequence)
  private val leftCells = new OtherCells(shape, leftSide, pair.left, pair.right)
  private val rightCells = new OtherCells(shape, rightSide, pair.right, pair.left)
  private val joined = shape.empty()

  def fromLeft(mapping: Array[Long]): Unit = {
    leftSide.insert(mapping)
    val (start, end) = (mapping(shape.start), mapping(shape.end))
    if (sequence) probe(mapping, rightSide, rightCells, ofLeft = false, end + 1, latest(start))
    else probe(mapping, rightSide, rightCells, ofLeft = false, earliest(start, end), latest(start))
  }

  def fromRight(mapping: Array[Long]): Unit = {
    rightSide.insert(mapping)
    val (start, end) = (mapping(shape.start), mapping(shape.end))
    if (sequence) probe(mapping, leftSide, leftCells, ofLeft = true, if (within == Long.MaxValue) Long.MinValue else end - within, start - 1)
    else probe(mapping, leftSide, leftCells, ofLeft = true, earliest(start, end), latest(start))
  }

  // The end that the other mapping must have at least: intervals of Allen's other relations have an instant in common.
  private def earliest(start: Long, end: Long): Long = {
    val near = if (within == Long.MaxValue) Long.MinValue else end - within
    if (kind == MappingJoin.Any) near else math.max(near, start)
  }

  private def latest(start: Long): Long = if (within == Long.MaxValue) Long.MaxValue else start + within

  private def probe(mapping: Array[Long], side: MappingSide, other: OtherCells, ofLeft: Boolean, low: Long, high: Long): Unit = {
    var row = side.last(mapping)
    while (row >= 0) {
      val cells = side.page(row)
      val at = side.offset(row)
      val before = side.before(cells, at)
      val order = cells(at + side.orderAt)
      if (order < low) row = -1
      else {
        if (order <= high && side.sameKey(cells, at, mapping)) {
          if (side.isDead(cells, at)) side.remove(row)
          else {
            val (start, end) = (cells(at + side.startAt), cells(at + side.endAt))
            if (together(mapping, start, end, ofLeft) && other.join(cells, at, mapping, joined)) {
              joined(shape.start) = math.min(start, mapping(shape.start))
              joined(shape.end) = math.max(end, mapping(shape.end))
              if (joined(shape.end) - joined(shape.start) <= within) target.accept(joined)
            }
          }
        }
        row = before
      }
    }
  }

  private def together(mapping: Array[Long], start: Long, end: Long, ofLeft: Boolean): Boolean =
    kind < 0 || // the bounds of the walk have it
      (if (ofLeft) Relations.hold(kind, start, end, mapping(shape.start), mapping(shape.end))
       else Relations.hold(kind, mapping(shape.start), mapping(shape.end), start, end))
}

private object MappingJoin {
  private final val Before = -1
  private final val Any = -2
}

/** How the rows of one side are put together with a mapping of the other. */
private final class OtherCells(shape: MappingShape, side: MappingSide, own: EventPattern, other: EventPattern) {
  private val shared = Variables.common(own.variables, other.variables)
  private val sharedAt = shared.map(side.cellOf)
  private val added = Variables.without(own.variables, other.variables)
  private val addedAt = added.map(side.cellOf)
  private val slots = own.events.map(shape.positions + _)
  private val slotsAt = own.events.map(side.positionOf)

  /** Puts both into `joined`, all but its times; whether they are compatible. */
  def join(cells: Array[Long], at: Int, mapping: Array[Long], joined: Array[Long]): Boolean = {
    var i = 0
    System.arraycopy(mapping, 0, joined, 0, shape.width)
    while (i < shared.length) {
      val value = cells(at + sharedAt(i))
      val there = mapping(shared(i))
      if (there == 0) joined(shared(i)) = value
      else if (value != 0 && value != there) return false
      i += 1
    }
    i = 0
    while (i < added.length) { joined(added(i)) = cells(at + addedAt(i)); i += 1 }
    i = 0
    while (i < slots.length) { joined(slots(i)) = math.min(mapping(slots(i)), cells(at + slotsAt(i))); i += 1 }
    true
  }
}
