package org.apache.spark.sql.cqels

/** Rows and bytes in few large arrays, without an object a row.
 *
 *  In come ids, packed rows, bytes and mapped files; out go growable tables, hash slots, pages and buffers, and text as JSON. It knows
 *  nothing of RDF or of queries, and uses no other room.
 */
package object memory
