package org.apache.spark.sql.cqels

/** Streams in panes, windows over them and the triple patterns that they match.
 *
 *  In come elements and the bounds of windows; out go relations that are kept up row by row. It uses `relations` and what
 *  is below.
 */
package object streams
