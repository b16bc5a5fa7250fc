package org.apache.spark.sql.cqels
package calls

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

/** What was found for keys lately, for at most `most` of them; of a key that is kept, a `copy` is taken. Large values and
 *  keys count for several, see `Weight`.
 *
 *  There are two generations. When the younger one is full it becomes the older one, and what nobody has asked for since
 *  the last time goes.
 */
private[cqels] final class RecentValues[K <: AnyRef](most: Int, copy: K => K = (key: K) => key) {
  private val each = math.max(1, most / 2)
  @volatile private var young = new RecentValues.Generation[K]
  @volatile private var old = new RecentValues.Generation[K]

  /** The value of a key, null if it is not known or no longer. */
  def get(key: K): AnyRef = {
    val known = young.values.get(key)
    if (known != null) known
    else {
      val before = old.values.get(key)
      if (before != null) put(key, before)
      before
    }
  }

  def put(key: K, value: AnyRef): Unit = {
    if (young.weight.sum >= each) age()
    val now = young
    if (now.values.put(copy(key), value) == null) now.weight.add(Weight.of(key, value))
  }

  private def age(): Unit = synchronized {
    if (young.weight.sum >= each) {
      old = young
      young = new RecentValues.Generation[K]
    }
  }

  def clear(): Unit = {
    if (!young.values.isEmpty) young.clear()
    if (!old.values.isEmpty) old = new RecentValues.Generation[K]
  }

  def size: Int = young.values.size + old.values.size
}

private object RecentValues {
  final class Generation[K <: AnyRef] {
    val values = new ConcurrentHashMap[K, AnyRef]()
    val weight = new LongAdder

    def clear(): Unit = {
      values.clear()
      weight.reset()
    }
  }
}
