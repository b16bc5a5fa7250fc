package org.apache.spark.sql.cqels
package indexes

import scala.collection.mutable

import org.apache.spark.sql.cqels.dictionary.ChangeTerms
import org.apache.spark.sql.cqels.memory.LongTable

/** Rows of two columns that a table in files has lost, and those that it has gained: none is in both, and each makes a difference. */
private[indexes] final class PairEdits(val added: Set[(Long, Long)], val removed: Set[(Long, Long)]) extends Serializable {
  def isEmpty: Boolean = added.isEmpty && removed.isEmpty
  def size: Int = added.size + removed.size

  /** With what comes later; `there` tells whether the files have a row. */
  def andThen(plus: Iterable[(Long, Long)], minus: Iterable[(Long, Long)], there: ((Long, Long)) => Boolean): PairEdits = {
    var (gained, lost) = (added, removed)
    minus.foreach { row => gained -= row; if (there(row)) lost += row }
    plus.foreach { row => lost -= row; if (!there(row)) gained += row }
    new PairEdits(gained, lost)
  }

  /** The rows of one part, those whose `column` has a hash in its range. */
  def within(range: HashRange): PairEdits =
    if (range == null || isEmpty) this else new PairEdits(added.filter(range.holds), removed.filter(range.holds))

  /** The rows by the values of a column: what to leave out and what to add, by key. */
  def byKey(column: Int): mutable.LongMap[(Set[Long], Set[Long])] = {
    val found = mutable.LongMap[(Set[Long], Set[Long])]()
    def key(row: (Long, Long)) = if (column == 0) row._1 else row._2
    def other(row: (Long, Long)) = if (column == 0) row._2 else row._1
    for (row <- removed) { val (out, in) = found.getOrElse(key(row), (Set.empty[Long], Set.empty[Long])); found(key(row)) = (out + other(row), in) }
    for (row <- added) { val (out, in) = found.getOrElse(key(row), (Set.empty[Long], Set.empty[Long])); found(key(row)) = (out, in + other(row)) }
    found
  }
}

private[indexes] object PairEdits {
  val Empty = new PairEdits(Set.empty, Set.empty)

  /** Rows whose cells lie side by side, as edits come. */
  def rows(bytes: Array[Byte]): IndexedSeq[(Long, Long)] = {
    val table = LongTable.of(2, ChangeTerms.numbers(bytes))
    (0 until table.rowCount).map(r => (table(r, 0), table(r, 1)))
  }
}
