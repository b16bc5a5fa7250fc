package org.apache.spark.sql.cqels
package runs

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.cqels.spark.DriverTask

/** Iterating an RDD on the driver. */
private[cqels] object DriverRows {
  /** Feeds every row of the RDD to `consume`, partition after partition, in this thread. */
  def foreachRow(rdd: RDD[InternalRow])(consume: InternalRow => Unit): Unit =
    foreachRow(rdd, DriverTask.localProperties())(consume)

  def foreachRow(rdd: RDD[InternalRow], properties: java.util.Properties)(consume: InternalRow => Unit): Unit =
    rdd.partitions.foreach { part =>
      DriverTask.run(part.index, properties) { context =>
        val rows = rdd.iterator(part, context)
        val limit = RunLimit.of(context)
        if (limit == null) while (rows.hasNext) consume(rows.next())
        else while (rows.hasNext) { limit.check(RunLimit.RowsOut); consume(rows.next()) }
      }
    }
}
