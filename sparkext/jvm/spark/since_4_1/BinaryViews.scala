package org.apache.spark.sql.cqels
package spark

/** This Spark has no views of bytes. */
private[cqels] trait BinaryViews extends ShownColumns
