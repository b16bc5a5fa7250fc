package org.apache.spark.sql.cqels
package events

import scala.collection.mutable

/** A pattern of events; variables are numbers of the match. */
private[events] sealed abstract class EventPattern {
  /** The variables that its mappings may bind, and those that they always bind; ascending. */
  def variables: Array[Int]
  def certain: Array[Int]
  def parts: Seq[EventPattern]
  /** The numbers of the events in it, ascending. */
  lazy val events: Array[Int] = parts.flatMap(_.events).distinct.sorted.toArray
  /** Whether each mapping begins and ends at once. */
  def isPoint: Boolean = false
  /** Whether its mappings under given values are its mappings that are compatible with them. */
  lazy val isPlain: Boolean = parts.forall(_.isPlain)
  def hasSequence: Boolean = parts.exists(_.hasSequence)
  /** Whether it is a repetition, maybe with WITHIN or its times as variables. */
  def isRun: Boolean = false
}

private[events] final case class SingleEvent(number: Int, variables: Array[Int], certain: Array[Int]) extends EventPattern {
  override def parts: Seq[EventPattern] = Nil
  override lazy val events: Array[Int] = Array(number)
  override def isPoint: Boolean = true
}

/** FIRST, LAST and WITHIN: some of the mappings of another pattern. */
private[events] sealed abstract class Chosen extends EventPattern {
  def input: EventPattern
  override def variables: Array[Int] = input.variables
  override def certain: Array[Int] = input.certain
  override def parts: Seq[EventPattern] = Seq(input)
  override def isPoint: Boolean = input.isPoint
}
private[events] final case class First(input: EventPattern) extends Chosen { override lazy val isPlain: Boolean = false }
private[events] final case class Last(input: EventPattern) extends Chosen { override lazy val isPlain: Boolean = false }
private[events] final case class Within(input: EventPattern, millis: Long) extends Chosen { override def isRun: Boolean = input.isRun }

/** Two patterns whose mappings are put together. */
private[events] sealed abstract class Pair extends EventPattern {
  def left: EventPattern
  def right: EventPattern
  override def parts: Seq[EventPattern] = Seq(left, right)
  override lazy val variables: Array[Int] = Variables.union(left.variables, right.variables)
  override lazy val certain: Array[Int] = Variables.union(left.certain, right.certain)
  lazy val shared: Array[Int] = Variables.common(left.variables, right.variables)
}
/** SEQ, and with `absent` SEQ NOT absent SEQ. */
private[events] final case class Sequence(left: EventPattern, right: EventPattern, absent: Option[EventPattern]) extends Pair {
  override def parts: Seq[EventPattern] = Seq(left, right) ++ absent
  /** If it is unrestricted. */
  override lazy val isPlain: Boolean = absent.isEmpty && left.isPlain && right.isPlain
  override def hasSequence: Boolean = true
  lazy val (firstLeft, lastLeft) = (First(left), Last(left))
  lazy val (firstRight, lastRight) = (First(right), Last(right))
  /** Whether the left side is an event, and what is absent as well. */
  lazy val isOfEvents: Boolean = left.isInstanceOf[SingleEvent] && absent.exists(_.isInstanceOf[SingleEvent])
  /** Whether it is a sequence of two events, with nothing absent, of which both always bind what they share. */
  lazy val areEvents: Boolean = left.isInstanceOf[SingleEvent] && right.isInstanceOf[SingleEvent] && absent.isEmpty &&
    shared.forall(v => left.certain.contains(v) && right.certain.contains(v))
}
private[events] final case class Conjunction(left: EventPattern, right: EventPattern) extends Pair
private[events] final case class Related(relation: Int, left: EventPattern, right: EventPattern) extends Pair
private[events] final case class Disjunction(left: EventPattern, right: EventPattern) extends Pair {
  override lazy val certain: Array[Int] = Variables.common(left.certain, right.certain)
}

/** The same mappings with their ends as values of variables (-1: not asked for). */
private[events] final case class Timed(input: EventPattern, start: Int, end: Int) extends EventPattern {
  private def added: Array[Int] = Array(start, end).filter(_ >= 0)
  override def parts: Seq[EventPattern] = Seq(input)
  override lazy val variables: Array[Int] = Variables.union(input.variables, added)
  override lazy val certain: Array[Int] = Variables.union(input.certain, added)
  override def isPoint: Boolean = input.isPoint
  override def isRun: Boolean = input.isRun
}

/** All mappings with equal keys as one. */
private[events] final case class Repetition(input: EventPattern, keys: Array[Int]) extends EventPattern {
  val aggregates: mutable.ArrayBuffer[RunAggregate] = mutable.ArrayBuffer.empty
  override def parts: Seq[EventPattern] = Seq(input)
  override def variables: Array[Int] = Variables.union(keys, aggregates.map(_.variable).toArray)
  override def certain: Array[Int] = Variables.common(keys, input.certain)
  override lazy val isPlain: Boolean = false
  override def isRun: Boolean = true
}

private[events] object Variables {
  def union(a: Array[Int], b: Array[Int]): Array[Int] = (a ++ b).distinct.sorted
  def common(a: Array[Int], b: Array[Int]): Array[Int] = a.filter(b.contains(_)).distinct.sorted
  def without(a: Array[Int], b: Array[Int]): Array[Int] = a.filterNot(b.contains(_))
}

/** Allen's relations of two intervals that are not one before the other. */
private[events] object Relations {
  private val Names = Array("meets", "overlaps", "during", "starts", "finishes", "equals")
  private val Swapped = Map("met by" -> "meets", "overlapped by" -> "overlaps", "contains" -> "during",
    "started by" -> "starts", "finished by" -> "finishes")

  /** The relation by its name; those of swapped sides come after the others. */
  def number(name: String): Int = {
    val at = Names.indexOf(Swapped.getOrElse(name, name))
    if (at < 0) throw new IllegalArgumentException(s"no relation of intervals is called '$name'")
    if (Swapped.contains(name)) at + Names.length else at
  }

  def hold(relation: Int, t1: Long, t2: Long, t3: Long, t4: Long): Boolean =
    if (relation >= Names.length) hold(relation - Names.length, t3, t4, t1, t2)
    else relation match {
      case 0 => t2 == t3
      case 1 => t1 < t3 && t3 < t2 && t2 < t4
      case 2 => t3 < t1 && t2 < t4
      case 3 => t1 == t3 && t2 < t4
      case 4 => t2 == t4 && t3 < t1
      case _ => t1 == t3 && t2 == t4
    }
}
