package org.apache.spark.sql.cqels

/** Rows of ids with their indexes: static tables, windows, results of stages.
 *
 *  In come rows that arrive and leave; out go scans, hash relations for Spark's joins and sorted look-ups for ours,
 *  always as of now. It uses `dictionary` and what is below it.
 */
package object relations
