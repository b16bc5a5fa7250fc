package org.apache.spark.sql.cqels
package recordings

import org.apache.spark.sql.cqels.ingest.{ElementBlock, Flaws}

/** An element that a replay comes to. */
private[cqels] abstract class ReplayElement {
  var time = 0L
  /** Its place among all of its sequence. */
  var number = 0L
  /** Of its texts, about. */
  def bytes: Int
  /** Nobody reads it any more. */
  def done(): Unit = ()
}

/** An element that writes itself into a block, or what is wrong with it to the block's flaws. */
private[cqels] abstract class EncodedByItself extends ReplayElement {
  def addTo(block: ElementBlock): Unit
}

/** Elements of one stream, in order of time as far as a look-ahead reaches, or as they come; for one thread. */
private[cqels] abstract class ReplaySequence {
  def stream: Int
  /** Of the texts that it may hold. */
  var mostBytes = Long.MaxValue
  /** In order of arrival, the newest time that has come. */
  var newest = Long.MinValue
  /** The element that comes next; null: none. Valid until `poll`. */
  def head: ReplayElement
  def poll(): ReplayElement
  /** The times of the elements that are held now. */
  def eachTime(action: Long => Unit): Unit
  /** How many bytes of its files have been taken, about. */
  def position: Long
  /** How many triples about no element there were. */
  def ignored: Long = 0L
  /** What could not be used, since the last call; null: nothing. */
  def takeFlaws(): Flaws = null
  def close(): Unit
}
