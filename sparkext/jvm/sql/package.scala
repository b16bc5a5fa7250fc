package org.apache.spark.sql.cqels

/** Prepared Spark SQL over live views, as Python calls it ([[SqlRoom]]).
 *
 *  In come SQL plans and batches of rows; out go answers, kept static parts, and join orders by Python's advice. It uses
 *  `execution`, `answers` and what is below.
 */
package object sql
