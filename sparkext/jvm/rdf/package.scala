package org.apache.spark.sql.cqels

/** The concrete syntax: N-Triples and N-Quads, character by character.
 *
 *  In come lines; out go terms in canonical N-Triples, or where a line is wrong, to the column. It uses no other room.
 */
package object rdf
