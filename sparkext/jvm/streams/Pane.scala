package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.ingest.{ElementBlock, RecordLayout}
import org.apache.spark.sql.cqels.memory.LongTable

/** The elements of one time, in the order of their arrival: their quads, and records that stand for more of them.
 *
 *  Quads of records are made while a pane is read, for those who ask for them. `layout` is null where there are no records.
 */
private[cqels] final class Pane(val layout: RecordLayout) {
  val quads = new LongTable(4, if (layout == null) 16 else 1)
  /** Null where there is no layout. */
  val records: LongTable = if (layout == null) null else new LongTable(layout.width, 4)
  private var quadRows = new Array[Int](1)
  private var recordRows = if (layout == null) null else new Array[Int](1)
  private var numbers = new Array[Long](1)
  private var used = 0

  /** How many elements there are. */
  def size: Int = used
  /** Which of the stream's elements it is, counted from 0 as they came. */
  def number(element: Int): Long = numbers(element)
  /** The first quad of an element; for the number after the last, where they end. */
  def quad(element: Int): Int = if (element < used) quadRows(element) else quads.rowCount
  /** As `quad`, of records. */
  def record(element: Int): Int = if (element < used) recordRows(element) else records.rowCount

  /** Takes over an element of a block. */
  def add(block: ElementBlock, element: Int, number: Long): Unit = {
    if (used == numbers.length) {
      quadRows = java.util.Arrays.copyOf(quadRows, used * 2)
      numbers = java.util.Arrays.copyOf(numbers, used * 2)
      if (layout != null) recordRows = java.util.Arrays.copyOf(recordRows, used * 2)
    }
    quadRows(used) = quads.rowCount
    numbers(used) = number
    if (layout != null) recordRows(used) = records.rowCount
    used += 1
    quads.appendAll(block.quads.data, block.begin(element), block.end(element) - block.begin(element))
    if (block.records != null) {
      val from = block.recordBegin(element)
      records.appendAll(block.records.data, from, block.recordEnd(element) - from)
    }
  }

  /** Gives the quads of some elements, each as an array and where it begins in there; it is not to be kept. */
  def each(from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = quads.data
    val end = quad(until) * 4
    var at = quad(from) * 4
    while (at < end) { feed(data, at); at += 4 }
    if (layout != null) {
      val cells = new Array[Long](4)
      var q = 0
      while (q < layout.size) {
        eachRecord(from, until)((records, record) => if (layout.write(q, records, record, cells)) feed(cells, 0))
        q += 1
      }
    }
  }

  def each(feed: (Array[Long], Int) => Unit): Unit = each(0, used)(feed)

  /** Gives where the records of some elements begin, and the array in which they do. */
  def eachRecord(from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = records.data
    val end = record(until) * layout.width
    var at = record(from) * layout.width
    while (at < end) { feed(data, at); at += layout.width }
  }

  /** Writes the quads of an element into a table, in an order that stays. */
  def write(element: Int, to: LongTable): Unit = each(element, element + 1)((data, at) => to.appendAll(data, at / 4, 1))
}
