package org.apache.spark.sql.cqels

/** Continuous queries, as Python calls them ([[EngineRoom]]).
 *
 *  In come plans of the parts of a query and the bounds of its windows; out go its answers of each instant, evaluated as
 *  a whole or by what arrived. It uses `execution`, `answers`, `streams` and what is below, and not `sql`.
 */
package object queries
