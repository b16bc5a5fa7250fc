package org.apache.spark.sql.cqels
package events

/** An aggregate over the mappings of a run. */
private[events] final class RunAggregate(val variable: Int, val function: String, val argument: Int, val distinct: Boolean, val separator: String)
