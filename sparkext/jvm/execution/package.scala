package org.apache.spark.sql.cqels

/** Plans that are made once and run again and again, on the driver as far as that is right, otherwise as jobs.
 *
 *  In come logical plans; out go tables of ids, and what each operator counted. It uses `clusters` and what is below.
 */
package object execution
