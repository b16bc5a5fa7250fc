package org.apache.spark.sql.cqels

import java.util.concurrent.ConcurrentHashMap

/** What was found for keys lately, for at most `most` of them; of a key that is kept, a `copy` is taken.
 *
 *  There are two generations. When the younger one is full it becomes the older one, and what nobody has asked for since
 *  the last time goes.
 */
private[cqels] final class RecentValues[K <: AnyRef](most: Int, copy: K => K = (key: K) => key) {
  private val each = math.max(1, most / 2)
  @volatile private var young = new ConcurrentHashMap[K, AnyRef]()
  @volatile private var old = new ConcurrentHashMap[K, AnyRef]()

  /** The value of a key, null if it is not known or no longer. */
  def get(key: K): AnyRef = {
    val known = young.get(key)
    if (known != null) known
    else {
      val before = old.get(key)
      if (before != null) put(key, before)
      before
    }
  }

  def put(key: K, value: AnyRef): Unit = {
    if (young.size >= each) age()
    young.put(copy(key), value)
  }

  private def age(): Unit = synchronized {
    if (young.size >= each) {
      old = young
      young = new ConcurrentHashMap[K, AnyRef]()
    }
  }

  def clear(): Unit = {
    if (!young.isEmpty) young.clear()
    if (!old.isEmpty) old = new ConcurrentHashMap[K, AnyRef]()
  }

  def size: Int = young.size + old.size
}
