package org.apache.spark.sql.cqels
package spark

import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** Spark's columns as Arrow's; two may have one name. */
private[spark] object ArrowSchemas {
  def of(columns: StructType, timeZone: String): Schema = ArrowUtils.toArrowSchema(columns, timeZone, false, false)
}
