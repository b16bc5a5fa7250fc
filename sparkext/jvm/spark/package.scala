package org.apache.spark.sql.cqels

/** What of Spark is not for everybody, and may change with any version: broadcasts that stay in this process, tasks on
 *  the driver, hash relations of ours.
 *
 *  In come plain rows, plans and ids; out go the few classes of ours by which all other rooms reach Spark's private
 *  parts. It uses no other room.
 */
package object spark
