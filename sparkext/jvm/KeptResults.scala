package org.apache.spark.sql.cqels

import java.util.concurrent.ConcurrentHashMap

/** Results of calls by what was called: at most `size`, those of this evaluation and what room there is for those before.
 *
 *  Where an evaluation begins and there is no room left, what was asked for since that was last so becomes old, and what
 *  was not goes. From then on an old result is young again when it is asked for, or makes room for a new one. Several
 *  threads may ask at once.
 */
private[cqels] final class KeptResults(size: Int) {
  @volatile private var young = new ConcurrentHashMap[AnyRef, AnyRef]()
  @volatile private var old: KeptResults.Old = _ // null: none

  /** A new evaluation begins: all results go, but if they are to `stay`. */
  def begin(stay: Boolean): Unit =
    if (!young.isEmpty) {
      if (!stay) {
        young.clear()
        old = null
      } else if (count >= size) {
        old = new KeptResults.Old(young)
        young = new ConcurrentHashMap[AnyRef, AnyRef]()
      }
    }

  def get(key: AnyRef): AnyRef = {
    val known = young.get(key)
    if (known != null || old == null) known else fromOld(key)
  }

  private def fromOld(key: AnyRef): AnyRef = {
    val before = old
    val known = before.results.get(key)
    if (known != null) {
      young.putIfAbsent(key, known)
      before.results.remove(key)
    }
    known
  }

  /** Whether one more can be kept; an old one goes for it. */
  def hasRoom: Boolean = count < size || { val before = old; before != null && before.dropOne() }

  /** The result for a key, made if there is none: of threads that want it at a time, one computes and the others wait. */
  def of(key: AnyRef)(make: => AnyRef): AnyRef = young.computeIfAbsent(key, (_: AnyRef) => make)

  def count: Int = { val before = old; young.size + (if (before == null) 0 else before.results.size) }
}

private object KeptResults {
  /** Results that no later evaluation has asked for yet. */
  final class Old(val results: ConcurrentHashMap[AnyRef, AnyRef]) {
    private val keys = results.keySet.iterator

    def dropOne(): Boolean = synchronized {
      var dropped = false
      while (!dropped && keys.hasNext) dropped = results.remove(keys.next()) != null
      dropped
    }
  }
}
