package org.apache.spark.sql.cqels
package leaves

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.relations.RelationContent

/** The equal shares of a scan on the driver: each thread takes the next one when it has read its last.
 *
 *  Rows that have a lot to do with lie together: with a fixed part for each thread, most would wait for one of them.
 */
private[cqels] final class ScanShares {
  private val next = new AtomicInteger
  @volatile private var count = 1

  def total: Int = count

  /** Begins a run over so many shares. */
  def start(shares: Int): Unit = { count = shares; next.set(0) }

  /** The number of the share to be read now; -1 when all are taken. */
  def take(): Int = { val share = next.getAndIncrement(); if (share < count) share else -1 }

  /** Has nobody take a share any more in this run. */
  def stop(): Unit = next.set(count)
}

/** What thread `number` reads of a scan, share after share. */
private[cqels] final class ScanPart(val number: Int, shares: ScanShares) {
  /** The share of the row that was read last: what comes out then was made of it. */
  var share = 0

  def rows(content: RelationContent): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var current: Iterator[InternalRow] = Iterator.empty
    private var ended = false

    override def hasNext: Boolean = {
      while (!current.hasNext && !ended) {
        val taken = shares.take()
        if (taken < 0) ended = true
        else {
          share = taken
          current = content.scan(taken, shares.total)
        }
      }
      !ended
    }

    override def next(): InternalRow = if (hasNext) current.next() else throw new NoSuchElementException
  }
}
