package org.apache.spark.sql.cqels

/** Recorded streams: files of any size in, their elements as blocks in order of time out, read by a thread of their own.
 *
 *  Only what a look-ahead holds is in memory. It uses `ingest` and what is below.
 */
package object recordings
