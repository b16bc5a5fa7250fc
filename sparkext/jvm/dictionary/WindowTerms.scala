package org.apache.spark.sql.cqels
package dictionary

/** Terms that stay in the dictionary until the elements of a window that they come with have left it. */
private[cqels] final class WindowTerms(dictionary: Dictionary) {
  private val byPosition = new java.util.TreeMap[Long, IdBuffer]()

  /** Holds the terms of some ids, which come with an element at a position. */
  def hold(ids: Array[Long], position: Long): Unit = {
    val held = byPosition.computeIfAbsent(position, _ => new IdBuffer(WindowTerms.Few))
    val before = held.size
    ids.foreach(held.add)
    if (held.size > before) dictionary.retain(java.util.Arrays.copyOfRange(held.array, before, held.size), held.size - before)
  }

  /** Lets go of what came with elements at positions up to this one. */
  def release(upTo: Long): Unit = {
    val gone = byPosition.headMap(upTo, true)
    gone.values.forEach(ids => dictionary.release(ids.array, ids.size))
    gone.clear()
  }
}

private object WindowTerms {
  private final val Few = 4
}
