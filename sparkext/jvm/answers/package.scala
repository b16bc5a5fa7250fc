package org.apache.spark.sql.cqels

/** Answers on their way to Python: columns of texts, graphs, Arrow.
 *
 *  In come rows; out go files of columns. It uses `relations`, `functions`, `dictionary` and what is below.
 */
package object answers
