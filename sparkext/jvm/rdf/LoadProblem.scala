package org.apache.spark.sql.cqels
package rdf

/** A statement that is not well-formed; line and column count from 1, 0 is unknown.
 *
 *  In the tasks, lines are counted from where the part of the file begins that the task reads, at `position` (-1: that
 *  is the whole file).
 */
final case class LoadProblem(file: Int, position: Long, line: Int, column: Int, message: String, text: String)
