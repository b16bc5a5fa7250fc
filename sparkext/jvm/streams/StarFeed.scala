package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.ingest.RecordLayout
import org.apache.spark.sql.cqels.relations.WindowTable

/** Keeps up what the patterns of a star find together: a row where a record has all of their quads, and the subject no others.
 *
 *  A subject of which there is more, another record or quads, has the objects of each pattern counted, and its rows are all their
 *  combinations. Where these become many, this gives up: a join of the patterns is then less than its result.
 */
final class StarFeed private[streams] (val spec: StarPattern, layout: RecordLayout, val table: WindowTable) {
  import StarFeed._

  private val width = spec.predicates.length
  private val ways = spec.ways(layout)
  require(ways != null, s"no record has the quads of $spec")
  private val wanted = spec.objects.toArray
  private val shown = { var column = 0; wanted.map(id => if (id != 0) -1 else { column += 1; column }) }
  private val from = ways.quads.map(layout.column(_, 2))
  private val graphs = ways.quads.map(layout.column(_, 3))
  private val fixed = ways.quads.map(layout.constant(_, 2))
  private val objects = new Array[Long](width)
  private val row = new Array[Long](table.arity)

  // Of a subject with one record its row in the table, or where its objects are kept if some are missing (`partial`), else Several.
  private val places = new SubjectPlaces
  private val partial = new PartialRecords(width)
  private val several = mutable.LongMap[StarSubject]()
  private var counted = 0L // objects of patterns that are counted for subjects
  private var compactions = table.compactions
  private var most = Few
  @volatile private var gaveUp = false

  /** Has it never give up; to be filled again if it has. */
  private[streams] def keepAll(): Unit = {
    most = Long.MaxValue / 2
    gaveUp = false
  }

  /** Whether the table is no longer kept up. */
  def crowded: Boolean = gaveUp

  /** Is to be given all quads with its predicates that are not of records. */
  private[streams] val others: QuadFeed = new Part(Array.range(0, width))

  /** What is to be given a quad of records beside these; null: nothing. */
  private[streams] def part(quad: Int): QuadFeed = {
    val asked = spec.predicates.indices.filter(i => ways.quads(i) != quad && spec.mayFind(i, layout, quad))
    if (asked.isEmpty) null else new Part(asked.toArray)
  }

  private[streams] def pass(pane: Pane, first: Int, until: Int, time: Long, in: Boolean): Unit =
    if (in) pane.eachRecord(first, until)((records, at) => insert(records, at, time))
    else pane.eachRecord(first, until)((records, at) => delete(records, at))

  private[streams] def clear(): Unit = {
    table.clear()
    compactions = table.compactions
    places.clear()
    partial.clear()
    several.clear()
    counted = 0
  }

  private def insert(records: Array[Long], at: Int, time: Long): Unit = if (!gaveUp) {
    val subject = records(at + ways.subject)
    val found = if (subject == 0) 0 else read(records, at)
    if (found > 0) {
      val place = places.get(subject)
      if (place == SubjectPlaces.Absent) {
        write(subject)
        places.put(subject, if (found == width) table.insertAt(row, time) else Partial - partial.add(objects))
      } else addAll(subject, severalOf(subject, place))
    }
  }

  private def delete(records: Array[Long], at: Int): Unit = if (!gaveUp) {
    val subject = records(at + ways.subject)
    val found = if (subject == 0) 0 else read(records, at)
    if (found > 0) {
      val place = places.get(subject)
      if (place >= 0) {
        write(subject)
        places.remove(subject)
        table.delete(row)
        renumber()
      } else if (place <= Partial) {
        places.remove(subject)
        partial.remove(Partial - place)
      } else {
        val counts = several(subject)
        var i = 0
        while (i < width) { if (objects(i) != 0) remove(subject, counts, i, objects(i)); i += 1 }
        finish(subject, counts)
      }
    }
  }

  /** Reads the objects that the patterns find in a record, 0 where one finds none; how many there are. */
  private def read(records: Array[Long], at: Int): Int = {
    var found = 0
    var i = 0
    while (i < width) {
      val id = if (graphs(i) >= 0 && records(at + graphs(i)) == 0) 0L else if (from(i) < 0) fixed(i) else records(at + from(i))
      objects(i) = if (wanted(i) != 0 && wanted(i) != id) 0L else id
      if (objects(i) != 0) found += 1
      i += 1
    }
    found
  }

  private def write(subject: Long): Unit = {
    row(0) = subject
    var i = 0
    while (i < width) { if (shown(i) >= 0) row(shown(i)) = objects(i); i += 1 }
  }

  /** The counts of a subject, of which so far there is a record, counts, or nothing. */
  private def severalOf(subject: Long, place: Int): StarSubject =
    if (place == Several) several(subject)
    else {
      val made = new StarSubject(width)
      if (place != SubjectPlaces.Absent) {
        var i = 0
        while (i < width) {
          val id = if (place <= Partial) partial(Partial - place, i) else if (shown(i) >= 0) table.cell(place, shown(i)) else wanted(i)
          if (id != 0) { made.add(i, id); counted += 1 }
          i += 1
        }
        if (place <= Partial) partial.remove(Partial - place)
      }
      several.update(subject, made)
      places.put(subject, Several)
      made
    }

  private def addAll(subject: Long, counts: StarSubject): Unit = {
    var i = 0
    while (i < width && !gaveUp) { if (objects(i) != 0) add(subject, counts, i, objects(i)); i += 1 }
  }

  private def add(subject: Long, counts: StarSubject, i: Int, id: Long): Unit = {
    val isNew = counts.count(i, id) == 0
    if (isNew) counted += 1
    if (isNew || spec.bag) {
      val more = counts.combinations(i, spec.bag)
      if (table.occurrenceCount - (places.size - several.size - partial.size) + more > most + 2 * counted) { giveUp(); return }
      if (more > 0) combine(subject, counts, i, id, in = true)
    }
    counts.add(i, id)
  }

  private def remove(subject: Long, counts: StarSubject, i: Int, id: Long): Unit = {
    val isLast = counts.remove(i, id)
    if (isLast) counted -= 1
    if ((isLast || spec.bag) && counts.combinations(i, spec.bag) > 0) combine(subject, counts, i, id, in = false)
  }

  /** Takes an object of a pattern in or out, with all combinations of the other patterns' objects. */
  private def combine(subject: Long, counts: StarSubject, i: Int, id: Long, in: Boolean): Unit = {
    row(0) = subject
    if (shown(i) >= 0) row(shown(i)) = id
    combine(counts, i, 0, 1, in)
  }

  private def combine(counts: StarSubject, but: Int, pattern: Int, times: Int, in: Boolean): Unit =
    if (pattern == width) {
      var n = 0
      while (n < times) { if (in) table.insert(row) else table.delete(row); n += 1 }
    } else if (pattern == but) combine(counts, but, pattern + 1, times, in)
    else {
      val of = counts.objects(pattern)
      var n = 0
      while (n < of.size) {
        if (shown(pattern) >= 0) row(shown(pattern)) = of.id(n)
        combine(counts, but, pattern + 1, if (spec.bag) times * of.count(n) else times, in)
        n += 1
      }
    }

  /** Forgets a subject of which there is nothing any more, after something of it was taken out. */
  private def finish(subject: Long, counts: StarSubject): Unit = {
    if (counts.isEmpty) {
      several.remove(subject)
      places.remove(subject)
    }
    renumber()
  }

  /** Finds the rows of subjects again where the table has moved them. */
  private def renumber(): Unit = if (table.compactions != compactions) {
    compactions = table.compactions
    var r = 0
    while (r < table.capacityUsed) {
      if (table.isPresent(r) && places.get(table.cell(r, 0)) >= 0) places.put(table.cell(r, 0), r)
      r += 1
    }
  }

  private def giveUp(): Unit = {
    clear()
    gaveUp = true
  }

  /** Takes in quads for some of the patterns, one by one. */
  private final class Part(asked: Array[Int]) extends QuadFeed {
    override def insert(data: Array[Long], at: Int, time: Long): Unit = if (!gaveUp) each(data, at, in = true)
    override def delete(data: Array[Long], at: Int): Unit = if (!gaveUp) each(data, at, in = false)

    private def each(data: Array[Long], at: Int, in: Boolean): Unit = if (!(spec.defaultGraph && data(at + 3) != 0)) {
      val subject = data(at)
      var n = 0
      while (n < asked.length && !gaveUp) {
        val i = asked(n)
        if (data(at + 1) == spec.predicates(i) && (wanted(i) == 0 || wanted(i) == data(at + 2))) {
          if (in) add(subject, severalOf(subject, places.get(subject)), i, data(at + 2))
          else {
            val counts = several(subject)
            remove(subject, counts, i, data(at + 2))
            finish(subject, counts)
          }
        }
        n += 1
      }
    }
  }
}

private[streams] object StarFeed {
  /** In place of the row of a subject: its objects are counted. */
  final val Several = -2
  /** In place of the row of a subject: this, less the number of what is there of it in `PartialRecords`. */
  final val Partial = -3
  /** So many rows of combinations are kept, whatever they are made of. */
  final val Few = 4096L
}
