package org.apache.spark.sql.cqels

/** Indexes of large static tables in files, which are used where they lie.
 *
 *  In come the rows of a table, from wherever a data frame reads them; out go contents whose rows are looked up in mapped files, by each of the two
 *  columns, in this process or in those of a cluster. It uses `relations` and what is below it.
 */
package object indexes
