package org.apache.spark.sql.cqels

/** What outlives the process: elements of streams with their terms in, segments of a checkpoint out, and back.
 *
 *  Ids in a segment are those of the process that wrote it; whoever reads it gives the terms ids of its own. It uses `ingest` and
 *  what is below.
 */
package object journal
