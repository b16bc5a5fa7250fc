package org.apache.spark.sql.cqels
package leaves

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.relations.RelationContent

/** The morsels of a scan on the driver, all of a size: each thread takes the next one when it has read its last (Leis and others,
 *  SIGMOD 2014).
 *
 *  Rows that have a lot to do with lie together: with a fixed part for each thread, most would wait for one of them.
 */
private[cqels] final class Morsels {
  private val next = new AtomicInteger
  @volatile private var count = 1

  def total: Int = count

  /** Begins a run over so many of them. */
  def start(morsels: Int): Unit = { count = morsels; next.set(0) }

  /** The number of the morsel to be read now; -1 when all are taken. */
  def take(): Int = { val morsel = next.getAndIncrement(); if (morsel < count) morsel else -1 }

  /** Has nobody take a morsel any more in this run. */
  def stop(): Unit = next.set(count)
}

/** What thread `number` reads of a scan, morsel after morsel. */
private[cqels] final class ScanPart(val number: Int, morsels: Morsels) {
  /** The morsel of the row that was read last: what comes out then was made of it. */
  var morsel = 0

  def rows(content: RelationContent): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var current: Iterator[InternalRow] = Iterator.empty
    private var ended = false

    override def hasNext: Boolean = {
      while (!current.hasNext && !ended) {
        val taken = morsels.take()
        if (taken < 0) ended = true
        else {
          morsel = taken
          current = content.scan(taken, morsels.total)
        }
      }
      !ended
    }

    override def next(): InternalRow = if (hasNext) current.next() else throw new NoSuchElementException
  }
}
