package org.apache.spark.sql.cqels

/** Rows as columns, and elements made of them: each distinct value is looked at once, no text is made of a cell.
 *
 *  In come columns as Arrow sends them, or rows of Spark's plans; out go columns of plain values, and blocks of stream
 *  elements. It uses `ingest` and what is below.
 */
package object columns
