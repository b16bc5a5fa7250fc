package org.apache.spark.sql.cqels
package spark

import org.apache.spark.unsafe.types.BinaryView

/** Columns read as views of bytes. */
private[cqels] trait BinaryViews extends ShownColumns {
  override def getBinaryView(field: Int): BinaryView = shownRow(field).getBinaryView(shownPlace(field))
}
