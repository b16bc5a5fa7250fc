package org.apache.spark.sql.cqels
package calls

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

/** Results of calls by what was called: at most `size`, those of this evaluation and what room there is for those before.
 *  Large values and arguments count for several, see `Weight`.
 *
 *  Where an evaluation begins and there is no room left, what was asked for since that was last so becomes old, and what
 *  was not goes. From then on an old result is young again when it is asked for, or makes room for a new one. Several
 *  threads may ask at once.
 */
private[cqels] final class FunctionCache(size: Int) {
  @volatile private var young = new FunctionCache.Results
  @volatile private var old: FunctionCache.Results = _ // null: none

  /** A new evaluation begins: all results go, but if they are to `stay`. */
  def begin(stay: Boolean): Unit =
    if (!young.isEmpty) {
      if (!stay) {
        young.clear()
        old = null
      } else if (weight >= size) {
        old = young
        young = new FunctionCache.Results
      }
    }

  def get(key: AnyRef): AnyRef = {
    val known = young.get(key)
    if (known != null || old == null) known else fromOld(key)
  }

  private def fromOld(key: AnyRef): AnyRef = {
    val before = old
    val known = before.get(key)
    if (known != null) {
      young.put(key, known)
      before.remove(key)
    }
    known
  }

  /** Whether one more can be kept; old ones go for it. */
  def hasRoom: Boolean = {
    val before = old
    while (weight >= size && before != null && before.dropOne()) {}
    weight < size
  }

  /** The result for a key, made if there is none: of threads that want it at a time, one computes and the others wait. */
  def of(key: AnyRef)(make: => AnyRef): AnyRef = young.of(key)(make)

  def count: Int = { val before = old; young.count + (if (before == null) 0 else before.count) }

  private def weight: Long = { val before = old; young.weight + (if (before == null) 0 else before.weight) }
}

private object FunctionCache {
  /** Results and what they weigh together. */
  final class Results {
    private val known = new ConcurrentHashMap[AnyRef, AnyRef]()
    private val held = new LongAdder
    // Asked for when no key comes any more.
    private lazy val keys = known.keySet.iterator

    def isEmpty: Boolean = known.isEmpty
    def count: Int = known.size
    def weight: Long = held.sum
    def get(key: AnyRef): AnyRef = known.get(key)

    def put(key: AnyRef, value: AnyRef): Unit =
      if (known.putIfAbsent(key, value) == null) held.add(Weight.of(key, value))

    def of(key: AnyRef)(make: => AnyRef): AnyRef = known.computeIfAbsent(key, (_: AnyRef) => {
      val value = make
      held.add(Weight.of(key, value))
      value
    })

    def remove(key: AnyRef): Boolean = {
      val value = known.remove(key)
      if (value != null) held.add(-Weight.of(key, value))
      value != null
    }

    def dropOne(): Boolean = synchronized {
      var dropped = false
      while (!dropped && keys.hasNext) dropped = remove(keys.next())
      dropped
    }

    def clear(): Unit = {
      known.clear()
      held.reset()
    }
  }
}
