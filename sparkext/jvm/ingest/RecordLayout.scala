package org.apache.spark.sql.cqels
package ingest

/** What the records of a stream stand for: rows of `width` ids, of which a record makes these quads.
 *
 *  A cell of a quad (subject, predicate, object, graph) is the id in a column of the record or the same in every record.
 *  Where a column is 0, the quads that read it are not made. Ids that are in every record are held by whoever made the layout, for
 *  as long as there are records.
 */
private[cqels] final class RecordLayout(val width: Int, quads: Array[Array[RecordCell]]) {
  private val columns = quads.map(_.map(_.column))
  private val constants = quads.map(_.map(_.constant))

  def size: Int = quads.length

  /** The column of a cell, -1 where it is the same in every record. */
  def column(quad: Int, place: Int): Int = columns(quad)(place)
  /** The cell of every record, 0 where it varies, and for the default graph. */
  def constant(quad: Int, place: Int): Long = constants(quad)(place)

  /** Whether the record that begins at `at` makes a quad at all. */
  def makesAny(records: Array[Long], at: Int): Boolean =
    columns.exists { of =>
      var place = 0
      while (place < 4 && (of(place) < 0 || records(at + of(place)) != 0L)) place += 1
      place == 4
    }

  // Quads that may be the same.
  private val alike = for (a <- quads.indices.toArray; b <- a + 1 until quads.length if (0 until 4).forall(mayEqual(a, b, _))) yield (a, b)

  private def mayEqual(a: Int, b: Int, place: Int) =
    columns(a)(place) >= 0 || columns(b)(place) >= 0 || constants(a)(place) == constants(b)(place)

  /** Whether the record that begins at `at` makes a quad twice. */
  def repeats(records: Array[Long], at: Int): Boolean = alike.nonEmpty && {
    val (one, other) = (new Array[Long](4), new Array[Long](4))
    alike.exists { case (a, b) =>
      write(a, records, at, one) && write(b, records, at, other) && java.util.Arrays.equals(one, other)
    }
  }

  /** Writes a quad of the record that begins at `at`; false where it has none. */
  def write(quad: Int, records: Array[Long], at: Int, to: Array[Long]): Boolean = {
    val from = columns(quad)
    val fixed = constants(quad)
    var place = 0
    while (place < 4) {
      val column = from(place)
      if (column < 0) to(place) = fixed(place)
      else {
        val id = records(at + column)
        if (id == 0L) return false
        to(place) = id
      }
      place += 1
    }
    true
  }
}

/** A cell of the quads of records: a column, or with column -1 a constant. */
private[cqels] final case class RecordCell(column: Int, constant: Long)
