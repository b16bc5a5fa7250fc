package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.cqels.relations.RelationContent
import org.apache.spark.sql.execution.joins.IdRelation
import org.apache.spark.sql.types.StructType

/** The rows of any Spark SQL types that a relation holds now. */
abstract class RowContent(val name: String, val schema: StructType) extends Serializable {
  /** Whether the rows may change between two evaluations. */
  def live: Boolean
  def rowCount: Long
  /** Rows of one of `slices` equal parts. The row object may be re-used. */
  def scan(slice: Int, slices: Int): Iterator[InternalRow]
  /** What a hash join probes: all columns of the rows, by a key of expressions that are bound to the columns. */
  def index(key: Seq[Expression]): IdRelation
  /** About how many different values a bound expression has; null is none. */
  def distinct(value: Expression): Double
  /** The rows as they are now, to be sent elsewhere. */
  def copies(): Array[UnsafeRow]
  /** What a join cluster reads: codes of keys, and the numbers of rows; asked for in each run. */
  def relation(keys: RowKeys): RelationContent
  /** Where rows are found by their numbers. */
  def numbers: RowNumbers

  // Operators that ship their whole plan with a task never look at its leaves there: rows travel by other ways.
  protected def writeReplace(): AnyRef = new DetachedRows(name, schema)
}

object RowContent {
  /** A key as indexes are known by: whether a column may be null says nothing about its values. */
  def normalised(key: Seq[Expression]): Seq[Expression] =
    key.map(_.transform { case b: BoundReference => b.copy(nullable = true) })
}

/** What is left of a content in a plan that was sent to a task. */
private final class DetachedRows(name: String, schema: StructType) extends Serializable {
  private def readResolve(): AnyRef = new RowContent(name, schema) {
    private def absent = throw new IllegalStateException(s"the rows of ${this.name} are not in this plan")
    override def live: Boolean = absent
    override def rowCount: Long = absent
    override def scan(slice: Int, slices: Int): Iterator[InternalRow] = absent
    override def index(key: Seq[Expression]): IdRelation = absent
    override def distinct(value: Expression): Double = absent
    override def copies(): Array[UnsafeRow] = absent
    override def relation(keys: RowKeys): RelationContent = absent
    override def numbers: RowNumbers = absent
  }
}

/** Distinct values by linear counting (Whang, Vander-Zanden and Taylor, 1990): a bit a hash, 16 bits a row. */
private[cqels] object DistinctValues {
  def estimate(rows: Iterator[InternalRow], count: Long, value: Expression): Double = {
    if (count == 0) return 0
    val project = UnsafeProjection.create(Seq(value))
    val size = Integer.highestOneBit(math.min(math.max(count * 16, 1024L), 1L << 30).toInt)
    val bits = new java.util.BitSet(size)
    while (rows.hasNext) {
      val v = project(rows.next())
      if (!v.isNullAt(0)) bits.set(v.hashCode() & (size - 1))
    }
    val free = size - bits.cardinality
    if (free == 0) size.toDouble else math.min(count.toDouble, -size * math.log(free.toDouble / size))
  }
}
