package org.apache.spark.sql.cqels

/** Our relations as leaves of Spark's plans.
 *
 *  In come relations; out go logical leaves, the operators that scan them or hand over their indexes, and values of a run
 *  that plans read. It uses `rows`, `relations` and what is below.
 */
package object leaves
