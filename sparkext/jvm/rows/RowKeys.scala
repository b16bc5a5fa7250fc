package org.apache.spark.sql.cqels
package rows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.cqels.spark.Operators
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/** By what rows take part in a join: the filter that they pass, and their keys, each being one or more terms that must be equal.
 *
 *  Expressions are bound to the rows' columns; they have the same value for a row whenever they are asked.
 */
final case class RowKeys(filter: Option[Expression], keys: Seq[Seq[Expression]])

object RowKeys {
  /** Keys as they are known by: whether a column may be null says nothing about its values. */
  def of(filter: Option[Expression], keys: Seq[Seq[Expression]]): RowKeys =
    RowKeys(filter.flatMap(f => RowContent.normalised(Seq(f)).headOption), keys.map(RowContent.normalised))

  /** Whether terms of these types may be compared by their bytes. */
  def sameKind(a: DataType, b: DataType): Boolean = a == b || DataType.equalsIgnoreNullability(a, b)
}

/** Turns the keys of rows into codes: equal keys have equal codes, and no code is 0.
 *
 *  What fits into a long is its own code, but for a mask, as 0 is a value, too; anything else has an id in the dictionary, which
 *  its row uses until it is given back. Not for two threads.
 */
final class RowCoder(asked: RowKeys, dictionary: KeyDictionary) {
  import RowCoder._

  val width: Int = asked.keys.length
  private val terms = asked.keys.flatten.map(Operators.comparable)
  private val keyOf: Array[Int] = asked.keys.zipWithIndex.flatMap { case (equal, key) => equal.map(_ => key) }.toArray
  private val listed: Array[Boolean] = terms.map(t => !UnsafeRow.isFixedLength(t.dataType)).toArray
  private val listedKeys: Array[Boolean] = Array.tabulate(width)(key => listed(keyOf.indexOf(key)))
  private lazy val passes: BasePredicate = asked.filter.map { f => val made = Predicate.create(f); made.initialize(0); made }.orNull
  private lazy val project: UnsafeProjection = { val made = UnsafeProjection.create(terms); made.initialize(0); made }

  /** Whether codes are ids of the dictionary, to be given back. */
  val usesDictionary: Boolean = listed.contains(true)

  /** Writes the codes of a row's keys into `codes`; false where the row joins nothing, as it does not pass or has a null. */
  def code(row: InternalRow, codes: Array[Long]): Boolean =
    if (passes != null && !passes.eval(row)) false
    else if (terms.isEmpty) true
    else {
      val made = project(row)
      if (made.anyNull()) false
      else {
        java.util.Arrays.fill(codes, 0, width, 0L)
        var equal = true
        var t = 0
        while (equal && t < keyOf.length) {
          val key = keyOf(t)
          val code = codeOf(made, t)
          if (codes(key) == 0L) codes(key) = code
          else {
            equal = codes(key) == code
            if (listed(t)) dictionary.release(code)
          }
          t += 1
        }
        if (!equal) release(codes)
        equal
      }
    }

  private def codeOf(made: UnsafeRow, term: Int): Long = {
    val word = made.getLong(term) // its value, or where it lies
    if (listed(term)) dictionary.take(made.getBaseObject, made.getBaseOffset + (word >>> 32), word.toInt)
    else {
      val code = word ^ Mask
      if (code == 0L) throw new IllegalStateException(s"a key is ${word}, which stands for no key in this process")
      code
    }
  }

  /** Gives codes back that are not needed any more. */
  def release(codes: Array[Long], from: Int = 0): Unit = if (usesDictionary) {
    var key = 0
    while (key < width) {
      if (listedKeys(key) && codes(from + key) != 0L) dictionary.release(codes(from + key))
      key += 1
    }
  }
}

private object RowCoder {
  // The one long that cannot be a key: a number of 64 random bits, so that nobody has it in their data.
  private final val Mask: Long = new java.security.SecureRandom().nextLong() | 1L << 62
}
