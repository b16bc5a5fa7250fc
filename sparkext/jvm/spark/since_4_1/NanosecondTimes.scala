package org.apache.spark.sql.cqels
package spark

/** This Spark's times are of microseconds only. */
private[cqels] trait NanosecondTimes extends ShownColumns
