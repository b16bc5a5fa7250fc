package org.apache.spark.sql.cqels

/** What runs on the driver share: threads, turns, the limit of a run, the clock.
 *
 *  In come pieces of work and RDDs; out go their rows, what work takes, and the end of what takes too long. It uses
 *  `spark`.
 */
package object runs
