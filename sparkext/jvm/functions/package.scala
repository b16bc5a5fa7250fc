package org.apache.spark.sql.cqels

/** SPARQL's functions and comparisons over ids, by section of the standard.
 *
 *  In come ids, and the dictionary where a value is not in an id; out go ids and booleans. It uses `dictionary` and what
 *  is below; it has no use for `loading`.
 */
package object functions
