package org.apache.spark.sql.execution.joins

import org.apache.spark.sql.catalyst.InternalRow

/** A hash relation that Spark's own hash join probes, over ids only.
 *
 *  `HashedRelation` is sealed, so this extends the long-keyed one and replaces everything in it. Generated code
 *  names the concrete class, calls `asReadOnlyCopy()` once a task and consumes each `get` before the next one:
 *  that is why a copy may reuse its row and its iterator.
 */
abstract class IdRelation extends LongHashedRelation(0, null) {
  /** Positions of the key among the row's columns. */
  def keyColumns: Array[Int]
  /** The rows with this key, or null when there are none. */
  protected def matches(key: InternalRow): Iterator[InternalRow]

  override def getValue(key: Long): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  override def get(key: InternalRow): Iterator[InternalRow] = {
    var i = 0
    while (i < keyColumns.length) { if (key.isNullAt(i)) return null; i += 1 }
    matches(key)
  }
  override def getValue(key: InternalRow): InternalRow = { val it = get(key); if (it == null || !it.hasNext) null else it.next() }
  // Uniqueness is baked into generated code, and content changes under it.
  override def keyIsUnique: Boolean = false
  override def close(): Unit = ()
  // Not abstract: Scala would see the one that it replaces.
  override def asReadOnlyCopy(): IdRelation = throw new UnsupportedOperationException(getClass.getName)
}

object IdRelation {
  /** The rows by key of a hash relation that a plan was given, ours or Spark's own. */
  def lookUp(relation: Any): InternalRow => Iterator[InternalRow] = {
    val own = relation.asInstanceOf[HashedRelation].asReadOnlyCopy()
    key => own.get(key)
  }
}
