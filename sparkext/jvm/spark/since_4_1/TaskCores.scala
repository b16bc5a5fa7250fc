package org.apache.spark.sql.cqels
package spark

/** How many cores a task on the driver says that it has. */
private[spark] object TaskCores {
  val one: Int = 1
}
