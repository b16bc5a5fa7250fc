package org.apache.spark.sql.cqels

/** What MATCH finds: event mappings, solutions with the first and last instant that justify them (RSEP-QL, section 3.3).
 *
 *  In come the mappings of single events on the elements of streams, and how far windows have moved; out goes a table of
 *  the matches of now ([[EventMatch]]). It uses `relations`, `functions` and what is below, and knows no streams.
 */
package object events
