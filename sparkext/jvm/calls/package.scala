package org.apache.spark.sql.cqels

/** Functions as Catalyst expressions: SPARQL's, those of uncertainty, those of the user; what calls cost and which
 *  results are kept.
 *
 *  In come names and arguments; out go expressions for Spark's plans, and costs for the optimizer. It uses `functions`,
 *  `distributions` and what is below.
 */
package object calls
