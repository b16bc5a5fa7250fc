package org.apache.spark.sql.cqels
package journal

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.classic.SparkSession

/** The folder of a checkpoint, as Python calls it. */
final class CheckpointFolder private (private[cqels] val files: CheckpointFiles) {
  def name: String = files.name
  def isLocal: Boolean = files.isLocal
  def make(): Unit = files.makeFolder()

  /** The names of its files, one a line. */
  def list(): String = files.list().sorted.mkString("\n")

  /** When a file was written last, in milliseconds since the epoch; 0 where there is none. */
  def modified(): Long = files.modified()

  def delete(name: String): Unit = files.delete(name)

  def writeText(name: String, text: String): Unit = files.write(name, Seq(text.getBytes(UTF_8)), replaces = true)

  /** Writes a file that is not there yet; false where it is. */
  def claim(name: String, text: String): Boolean = files.write(name, Seq(text.getBytes(UTF_8)), replaces = false)

  /** What `writeText` and `claim` wrote; throws TornFile. */
  def readText(name: String): String = new String(files.read(name), UTF_8)

  /** Writes the segments of files, one after the other, into another; how many bytes these are. */
  def join(names: String, into: String): Long = {
    val parts = names.split('\n').toSeq.map(files.read)
    files.write(into, parts, replaces = true)
    parts.map(_.length.toLong).sum
  }
}

object CheckpointFolder {
  def open(session: SparkSession, path: String): CheckpointFolder =
    new CheckpointFolder(new CheckpointFiles(path, session.sparkContext.hadoopConfiguration))
}
