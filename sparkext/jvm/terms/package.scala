package org.apache.spark.sql.cqels

/** Ids of terms: 64 bits, with the values of numbers, booleans and dateTimes in them.
 *
 *  In come canonical texts; out go ids with their kinds, and back. It uses `rdf` and `memory`.
 */
package object terms
