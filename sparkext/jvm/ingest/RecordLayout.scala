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
