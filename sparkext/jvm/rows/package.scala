package org.apache.spark.sql.cqels

/** Rows of any Spark SQL types as relations of 64-bit ids: what a join reads are the codes of keys and the numbers of rows.
 *
 *  In come live views and static parts ([[RowContent]]) and clusters of inner joins over them; out go relations for the join
 *  operator (package `join`), and rows put together from the numbers that it answers.
 */
package object rows
