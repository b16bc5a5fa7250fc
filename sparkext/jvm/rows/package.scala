package org.apache.spark.sql.cqels

/** Rows of any Spark SQL types as relations of 64-bit ids: what a join reads are the codes of keys and the numbers of
 *  rows.
 *
 *  In come live views and static parts ([[RowContent]]); out go relations for the join operator, indexes of rows for
 *  Spark's joins, and rows by their numbers. It uses `relations` and what is below.
 */
package object rows
