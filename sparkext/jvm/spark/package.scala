package org.apache.spark.sql.cqels

/** What of Spark is not for everybody, and may change with any version: broadcasts that stay in this process, tasks on
 *  the driver, hash relations of ours; and what differs between the versions of Spark.
 *
 *  In come plain rows, plans and ids; out go the few classes of ours by which all other rooms reach Spark's private
 *  parts. It uses no other room.
 *
 *  Folders hold what is new since a version. Of the files with one name, the one of the newest folder that is not newer
 *  than Spark is compiled (`sparkext/toolchain.py`); each defines the same names.
 */
package object spark
