package org.apache.spark.sql.cqels

/** All terms of a session that are not inside their ids, in immutable layers of static terms and one of counted terms of
 *  streams.
 *
 *  In come texts and ids; out go ids and texts, equal for equal terms. It uses `terms` and what is below.
 */
package object dictionary
