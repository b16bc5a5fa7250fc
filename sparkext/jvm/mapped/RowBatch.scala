package org.apache.spark.sql.cqels
package mapped

import java.util.Arrays

import org.apache.spark.sql.cqels.columns.{LongColumn, RowColumn, RowColumns, TextColumn}
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.ElementBlock
import org.apache.spark.sql.cqels.loading.QuadBlock
import org.apache.spark.sql.cqels.memory.{KeyHash, LongTable}

/** Rows of a stream, the columns of which are as [[MappedStream]] has them, and what a mapping makes of them.
 *
 *  The terms of its elements are held in the dictionary until `release`.
 */
private[mapped] final class RowBatch(
    mapping: MappedProgram, records: RecordTerms, distinct: Boolean, dictionary: Dictionary, rows: RowColumns) {
  private val terms = new BatchTerms(dictionary, rows.rows)
  private val numbers = rows.columns(rows.columns.length - 2).asInstanceOf[LongColumn].values
  private val slots = mapping.slots(mapping.columnsOf(new RowColumns(rows.rows, rows.columns.dropRight(2))), terms)
  private val quads = new RowQuads(mapping.quads, slots, distinct)
  private val rest = if (records == null) null else new RowQuads(records.others, slots, distinct)
  private val made = if (records == null) null else new LongTable(records.layout.width)

  /** The time of the element of a row; throws [[RowFlaw]]. */
  val times = new RowTimes(rows.columns.last, RowFlaws(rows))

  /** The number of the element of a row. */
  def element(row: Int): Int = numbers(row).toInt

  /** Gives the first row of each element, and the one after its last. */
  def eachElement(action: (Int, Int) => Unit): Unit = {
    var row = 0
    while (row < rows.rows) {
      val first = row
      while (row < rows.rows && numbers(row) == numbers(first)) row += 1
      action(first, row)
    }
  }

  /** Adds an element to a block, in which it holds nothing yet; throws [[RowFlaw]], with nothing added. */
  def add(first: Int, until: Int, time: Long, block: ElementBlock): Unit = {
    terms.beginElement()
    if (records != null && makesRecords(first, until, made)) {
      rest.makeAll(first, until)
      block.beginElement(time)
      rest.addTo(block)
      block.records.appendAll(made.data, 0, made.rowCount)
    } else {
      quads.makeAll(first, until)
      block.beginElement(time)
      quads.addTo(block)
    }
  }

  /** Has the elements of a block from this one on hold their terms. */
  def hold(block: ElementBlock, element: Int): Unit = if (element < block.size) {
    hold(block.quads, block.begin(element))
    if (records != null) hold(block.records, block.recordBegin(element))
  }

  private def hold(table: LongTable, from: Int): Unit = {
    val width = table.arity
    val count = (table.rowCount - from) * width
    if (count > 0) dictionary.retain(if (from == 0) table.data else Arrays.copyOfRange(table.data, from * width, from * width + count), count)
  }

  def release(): Unit = terms.release()

  /** Makes the records of an element; false where what counts once would be there twice. */
  private def makesRecords(from: Int, until: Int, to: LongTable): Boolean = {
    to.clear()
    if (distinct && until > from + 1) return false
    var row = from
    while (row < until) { record(row, to); row += 1 }
    !(distinct && to.rowCount > 0 && records.layout.repeats(to.data, 0))
  }

  private def record(row: Int, to: LongTable): Unit = {
    val at = to.appendRow()
    var c = 0
    while (c < records.columns.length) { to.set(at + c, slots(records.columns(c)).id(row)); c += 1 }
    if (!records.layout.makesAny(to.data, at)) to.truncate(to.rowCount - 1)
  }
}

/** The quads of one element at a time, of a row of it after the other. */
private[mapped] final class RowQuads(quads: Array[Array[Int]], slots: Array[TermSlot], distinct: Boolean) {
  private val made = new LongTable(4, 16)
  private val several = quads.map(_.exists(slot => slot >= 0 && slots(slot).makesSeveral))
  private val cells = Array.fill(4)(new Ids)
  private val quad = new Array[Long](4)
  private var places: Array[Int] = _ // where a hash leads to a quad that has been made, plus 1; null: there are few

  /** Makes the quads of another element, of its rows from `from` on; throws [[RowFlaw]]. */
  def makeAll(from: Int, until: Int): Unit = {
    made.clear()
    places = null
    var row = from
    while (row < until) { make(row); row += 1 }
  }

  private def make(row: Int): Unit = {
    var q = 0
    while (q < quads.length) {
      if (several(q)) makeSeveral(quads(q), row) else makeOne(quads(q), row)
      q += 1
    }
  }

  private def makeOne(terms: Array[Int], row: Int): Unit = {
    var complete = true
    var c = 0
    while (c < 4) {
      quad(c) = if (terms(c) < 0) 0L else slots(terms(c)).id(row)
      complete &&= quad(c) != 0 || terms(c) < 0
      c += 1
    }
    if (complete) add()
  }

  private def makeSeveral(terms: Array[Int], row: Int): Unit = {
    var c = 0
    while (c < 4) {
      cells(c).size = 0
      if (terms(c) < 0) cells(c).add(0L) else slots(terms(c)).addAll(row, cells(c))
      c += 1
    }
    for (s <- 0 until cells(0).size; p <- 0 until cells(1).size; o <- 0 until cells(2).size; g <- 0 until cells(3).size) {
      quad(0) = cells(0).values(s)
      quad(1) = cells(1).values(p)
      quad(2) = cells(2).values(o)
      quad(3) = cells(3).values(g)
      add()
    }
  }

  private def add(): Unit = if (!distinct || !isKnown) {
    made.appendAll(quad, 0, 1)
    if (distinct) {
      val room = if (places == null) RowQuads.Few else places.length / 2
      if (made.rowCount > room) note(4 * room) else if (places != null) put(made.rowCount - 1)
    }
  }

  /** Whether the row has made the quad already. */
  private def isKnown: Boolean =
    if (places == null) {
      var row = 0
      while (row < made.rowCount) { if (isQuad(row)) return true; row += 1 }
      false
    } else {
      var at = placeOf(quad, 0)
      while (places(at) != 0) {
        if (isQuad(places(at) - 1)) return true
        at = (at + 1) & (places.length - 1)
      }
      false
    }

  private def isQuad(row: Int): Boolean = {
    val at = row * 4
    val data = made.data
    data(at) == quad(0) && data(at + 1) == quad(1) && data(at + 2) == quad(2) && data(at + 3) == quad(3)
  }

  /** Notes all that have been made, in a table of so many places, a power of two. */
  private def note(size: Int): Unit = {
    places = new Array[Int](size)
    var row = 0
    while (row < made.rowCount) { put(row); row += 1 }
  }

  private def put(row: Int): Unit = {
    var at = placeOf(made.data, row * 4)
    while (places(at) != 0) at = (at + 1) & (places.length - 1)
    places(at) = row + 1
  }

  private def placeOf(cells: Array[Long], from: Int): Int = KeyHash.slot(KeyHash.of(cells, from, 4), places.length - 1)

  /** Adds them to the element begun last; who has made them holds their terms, so far. */
  def addTo(block: ElementBlock): Unit = block.quads.appendAll(made.data, 0, made.rowCount)

  /** Adds them to others; `graph` is that of quads that name none. */
  def addTo(block: QuadBlock, graph: Long): Unit = {
    val data = made.data
    var at = 0
    while (at < made.rowCount * 4) {
      block.add(data(at), data(at + 1), data(at + 2), if (data(at + 3) == 0L) graph else data(at + 3))
      at += 4
    }
  }
}

private[mapped] object RowQuads {
  /** So many quads are looked through one by one. */
  final val Few = 16
}

/** The times of rows: milliseconds since 1970, or texts that are an xsd:dateTime (without a zone: UTC) or milliseconds. */
private[mapped] final class RowTimes(column: RowColumn, flaws: RowFlaws) {
  import RowTimes._

  def apply(row: Int): Long = {
    flaws.check(row)
    if (column.isNull(row)) throw new RowFlaw("no time")
    val time = column match {
      case whole: LongColumn => whole.values(row)
      case texts: TextColumn => ofText(java.util.Arrays.copyOfRange(texts.bytes, texts.from(row), texts.until(row)))
      case other => throw new IllegalArgumentException(s"no times of ${other.name}")
    }
    if (time > Greatest || time < -Greatest) throw new RowFlaw("time out of range")
    time
  }
}

private[mapped] object RowTimes {
  /** As `sparkext.s2r.event_time` has it. */
  final val Greatest = (1L << 53) - 1

  private[mapped] def ofText(text: Array[Byte]): Long = {
    import org.apache.spark.sql.cqels.functions.DateTimes
    import org.apache.spark.sql.cqels.terms.{InlineDateTime, InlineNumbers}
    val payload = InlineDateTime.parse(text, 0, text.length)
    if (payload != InlineDateTime.Absent) return InlineDateTime.millis(payload)
    val number = InlineNumbers.parseInteger(text, 0, text.length)
    if (number != InlineNumbers.Absent) return number
    val said = RowTexts.text(text, 0, text.length)
    val moment = DateTimes.parse(DateTimes.DateTime, said)
    if (moment == null) throw new RowFlaw(s"'$said' is neither an xsd:dateTime nor a number of milliseconds")
    moment.instant.movePointRight(3).setScale(0, java.math.RoundingMode.FLOOR).longValue
  }
}
