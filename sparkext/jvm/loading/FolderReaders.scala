package org.apache.spark.sql.cqels
package loading

import java.lang.ref.WeakReference

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/** Who may still read folders that no table is in any more: plans hold the file indexes that they were made with.
 *
 *  RDDs made of a data frame do not hold them: they do not count.
 */
object FolderReaders {
  private val indexes = new mutable.HashMap[String, List[WeakReference[FileIndex]]]
  private val kept = new mutable.HashSet[String]

  /** Notes that a data frame, and whatever is made of it, reads files of a folder. */
  def add(folder: String, frame: DataFrame): Unit = synchronized {
    val relations = frame.asInstanceOf[Dataset[_]].queryExecution.analyzed.collect { case leaf: LogicalRelation => leaf.relation }
    val found = relations.collect { case files: HadoopFsRelation => new WeakReference(files.location) }
    // Read by other means (a session may choose them): nobody knows for how long.
    if (found.isEmpty) kept += folder
    else indexes(folder) = found.toList ++ living(folder)
  }

  /** Whether some plan that reads the folder may not have been collected yet. */
  def areThere(folder: String): Boolean = synchronized {
    val left = living(folder)
    if (left.isEmpty) indexes.remove(folder) else indexes(folder) = left
    left.nonEmpty || kept(folder)
  }

  /** Ends the asking about a folder, which is gone. */
  def forget(folder: String): Unit = synchronized {
    indexes.remove(folder)
    kept -= folder
  }

  private def living(folder: String): List[WeakReference[FileIndex]] =
    indexes.getOrElse(folder, Nil).filter(_.get != null)
}
