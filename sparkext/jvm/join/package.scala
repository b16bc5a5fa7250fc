package org.apache.spark.sql.cqels

/** The join of a cluster on one thread or several: its order is searched while it runs.
 *
 *  In come relations over numbered variables with filters and BINDs ([[JoinSpec]]); out go vectors of rows, and what the
 *  steps counted. It uses `streams`, `relations` and what is below.
 */
package object join
