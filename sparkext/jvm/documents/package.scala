package org.apache.spark.sql.cqels

/** Documents of RDF in a column, each the elements of a recorded file: tasks read them, the driver enters their terms once.
 *
 *  In come batches of rows, out go [[columns.BatchRows]]. It uses `columns`, `recordings` and what is below.
 */
package object documents
