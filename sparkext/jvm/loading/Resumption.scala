package org.apache.spark.sql.cqels
package loading

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.{HexFormat, List => JList}

import scala.collection.mutable

import org.apache.hadoop.fs.Path

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.terms.TermHasher
import org.apache.spark.util.{LongAccumulator, SerializableConfiguration}

/** Where a load keeps its encoded blocks; `settings` and, of each file, `kinds` say how the files are read. */
final case class ResumeFolder(path: String, settings: String, kinds: JList[String])

object ResumeFolder {
  /** Deletes the blocks that loads kept in a folder. */
  def clear(spark: SparkSession, path: String): Unit = {
    val folder = new Path(path)
    BlockFiles.clear(BlockFiles.systemOf(folder, spark.sessionState.newHadoopConf()), folder)
  }
}

/** A load whose encoded blocks stay in a folder, so that one that was killed goes on where it was.
 *
 *  The file of a part is named by the hash of all that its blocks depend on: this program, how files are read, the
 *  file's place, size and time of change, the part of it, and the terms whose ids are no plain hashes. What is found
 *  under that name is as good as what would be encoded again; anything else is of no use and deleted.
 */
private[loading] final class Resumption(spark: SparkSession, resume: ResumeFolder, files: Array[LoadFile], graph: String, onError: String) {
  private val configuration = spark.sessionState.newHadoopConf()
  private val folder = new Path(resume.path)
  private var tidied = false

  private val program: String = {
    val jar = java.nio.file.Path.of(getClass.getProtectionDomain.getCodeSource.getLocation.toURI)
    s"${jar.getFileName} ${java.nio.file.Files.size(jar)}"
  }

  private val described: Array[String] = files.indices.map { i =>
    val status = files(i).hadoopPath.getFileSystem(configuration).getFileStatus(files(i).hadoopPath)
    s"$i ${files(i)} ${status.getLen} ${status.getModificationTime} ${resume.kinds.get(i)}"
  }.toArray

  /** What the blocks of a part of these files depend on, their terms' ids apart. */
  def keyOf(partOf: Seq[Int], part: String): String =
    Resumption.hash(Seq(program, resume.settings, s"$graph", onError, part) ++ partOf.map(described), 64)

  /** The blocks, from files where these are there, into files where they are not. */
  def kept(encoded: RDD[EncodedBlock], keys: Array[String], hasher: TermHasher): ResumableBlocks = {
    val times = new mutable.HashMap[String, Int]
    // A file that is named twice has parts of its own each time.
    val inputs = keys.map { key =>
      times(key) = times.getOrElse(key, 0) + 1
      Resumption.hash(Seq(key, times(key).toString), 32)
    }
    // Once only: files that were encoded before some ids were found to collide are of use for a load that starts again.
    if (!tidied) BlockFiles.tidy(BlockFiles.systemOf(folder, configuration), folder, inputs.toSet)
    tidied = true
    val ids = Resumption.hash(s"${hasher.bits}" +: hasher.exceptional, 16)
    val found = spark.sparkContext.longAccumulator
    new ResumableBlocks(encoded, resume.path, inputs.map(BlockFiles.nameOf(_, ids)), new SerializableConfiguration(configuration), found)
  }
}

private object Resumption {
  /** So many digits of a hash of texts. */
  def hash(texts: Seq[String], digits: Int): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    for (text <- texts) {
      val utf8 = text.getBytes(UTF_8)
      digest.update(s"${utf8.length}:".getBytes(UTF_8))
      digest.update(utf8)
    }
    HexFormat.of.formatHex(digest.digest()).take(digits)
  }
}

/** Encoded blocks by way of files in a folder, one for each partition. */
private[loading] final class ResumableBlocks(encoded: RDD[EncodedBlock], folder: String, names: Array[String],
    configuration: SerializableConfiguration, found: LongAccumulator) extends RDD[EncodedBlock](encoded) {

  private var allThere = false
  private var before = 0L

  /** How many parts an earlier load had encoded. */
  def foundParts: Long = before

  /** Says that a job has read all parts: from now on they are there. */
  def areThere(): Unit = if (!allThere) {
    before = found.value
    allThere = true
  }

  override protected def getPartitions: Array[Partition] = encoded.partitions
  override protected def getPreferredLocations(part: Partition): Seq[String] = firstParent[EncodedBlock].preferredLocations(part)
  override def compute(part: Partition, task: TaskContext): Iterator[EncodedBlock] = {
    val path = new Path(folder, names(part.index))
    val system = BlockFiles.systemOf(path, configuration.value)
    if (BlockFiles.isWhole(system, path, unread = allThere)) found.add(1)
    else BlockFiles.write(system, path, firstParent[EncodedBlock].iterator(part, task))
    val blocks = BlockFiles.read(system, path)
    task.addTaskCompletionListener[Unit](_ => blocks.close())
    blocks
  }
}
