package org.apache.spark.sql.cqels
package events

private[events] object Selection {
  final val Unrestricted = 0
  final val Naive = 1
  final val Chronological = 2
  final val Recent = 3

  def of(name: String): Int = {
    val at = Array("unrestricted", "naive", "chronological", "recent").indexOf(name)
    if (at < 0) throw new IllegalArgumentException(s"sequences are not selected by '$name'")
    at
  }
}

private[events] final class EvaluatedMatch(shape: MappingShape, clock: MatchClock, found: MatchTable, times: Long => Long,
    room: () => Long, pattern: EventPattern, selection: Int, override val consumes: Boolean) extends MatchEngine {
  override def insert(event: Int, mapping: Array[Long], occurrences: Array[Long]): Unit = ???
  override def evaluate(least: Array[Long]): Unit = ???
  override def clear(): Unit = ???
  override def kept: Long = 0
  override def matches: Long = 0
  override def memoryBytes: Long = 0
}
