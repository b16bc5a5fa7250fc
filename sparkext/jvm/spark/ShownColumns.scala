package org.apache.spark.sql.cqels
package spark

import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeRow}

/** A row whose columns are those of other rows. */
private[cqels] trait ShownColumns extends SpecializedGetters {
  /** The row that has a column, as it is now. */
  protected def shownRow(field: Int): UnsafeRow
  /** The how manieth it is there. */
  protected def shownPlace(field: Int): Int
}
