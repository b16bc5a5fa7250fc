package org.apache.spark.sql.cqels

/** Static data on their way in and out: files of RDF and saved tables.
 *
 *  In come files; out go tables of quads as Parquet or in memory, their counts, the terms in the dictionary, and what was
 *  wrong with the files. It uses `dictionary` and what is below.
 */
package object loading
