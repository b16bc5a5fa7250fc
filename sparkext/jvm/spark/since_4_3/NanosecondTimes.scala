package org.apache.spark.sql.cqels
package spark

import org.apache.spark.unsafe.types.TimestampNanosVal

/** Columns of times in nanoseconds. */
private[cqels] trait NanosecondTimes extends ShownColumns {
  override def getTimestampNTZNanos(field: Int): TimestampNanosVal = shownRow(field).getTimestampNTZNanos(shownPlace(field))
  override def getTimestampLTZNanos(field: Int): TimestampNanosVal = shownRow(field).getTimestampLTZNanos(shownPlace(field))
}
