package org.apache.spark.sql.cqels

/** The way in: rows or text in, blocks of encoded stream elements out, each with its time.
 *
 *  Whatever elements come from, they become an [[ingest.ElementBlock]], once; streams take it as it is. It uses `dictionary` and what
 *  is below.
 */
package object ingest
