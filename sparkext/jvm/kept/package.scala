package org.apache.spark.sql.cqels

/** Static sides of joins in streaming jobs that nobody rewrote, kept from one micro-batch to the next.
 *
 *  In comes the optimised plan of a micro-batch; out goes a physical join whose build side is there already, or nothing,
 *  and Spark plans as ever. It uses `rows` and what is below.
 */
package object kept
