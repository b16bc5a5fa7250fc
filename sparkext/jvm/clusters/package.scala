package org.apache.spark.sql.cqels

/** Join clusters as multiway joins, operators of Spark's plans, of ids and of rows of any types; on the driver, or as a job in stages.
 *
 *  In come relations and plans; out go operators whose order is data ([[ClusterOrder]]). It uses `join`, `leaves` and
 *  what is below.
 */
package object clusters
