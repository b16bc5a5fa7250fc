package org.apache.spark.sql.cqels
package indexes

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.spark.Jobs

/** A table (subject, object) of `rows` rows in files, with an index by each column in a folder of its own.
 *
 *  `data` reads the rows, as long as indexes are to be made (null: they are there). On a cluster, executors know of the folders only.
 */
final class IndexedTable private (data: Dataset[Row], val rows: Long, val folders: Array[String]) {
  private val opened = new Array[MappedRows](2)

  private def conf: Configuration = if (data == null) Jobs.hadoopConf else data.sparkSession.sparkContext.hadoopConfiguration

  /** The rows by a column (0: subjects, 1: objects), as they lie in files. */
  private[indexes] def by(column: Int): MappedRows = {
    if (opened(column) == null) opened(column) = IndexedTable.open(folders(column), conf)
    opened(column)
  }

  /** Whether both indexes are there. */
  def isMade: Boolean = folders.forall(IndexLayout.isThere(_, conf))

  /** Makes the indexes, as far as they are not there, in one job: what an order of joins needs later is not to be waited for.
   *
   *  Throws [[OversizedIndex]].
   */
  def make(): Unit = make(IndexLayout.MostWords)

  /** The same with blocks of so many words at most. */
  private[indexes] def make(most: Int): Unit = synchronized {
    val missing = Array(0, 1).filterNot(column => IndexLayout.isThere(folders(column), conf))
    if (missing.nonEmpty) {
      val session = data.sparkSession
      session.withActive {
        IndexBuild.run(session.sparkContext, data.queryExecution.toRdd, rows, missing, missing.map(folders(_)), most)
      }
    }
  }

  /** The values that stand beside one of a column, whose index is there. */
  def beside(column: Int, key: Long): LongTable = {
    val rows = by(column)
    val at = rows.find(key)
    val found = new Array[Long](rows.length(at))
    if (at >= 0) rows.copy(at, 0, found.length, 0, found, 0)
    LongTable.of(1, found)
  }

  def memoryBytes: Long = opened.foldLeft(0L)((n, rows) => if (rows == null) n else n + rows.memoryBytes)
}

object IndexedTable {
  // One for each folder in a process: who opens it again finds what is mapped.
  private val known = new ConcurrentHashMap[String, WeakReference[IndexedTable]]()
  private val rowsKnown = new ConcurrentHashMap[String, WeakReference[MappedRows]]()

  private def kept[A <: AnyRef](map: ConcurrentHashMap[String, WeakReference[A]], key: String)(make: => A): A = map.synchronized {
    val before = map.get(key)
    val there = if (before == null) null.asInstanceOf[A] else before.get
    if (there != null) there
    else {
      map.values.removeIf(_.get == null)
      val made = make
      map.put(key, new WeakReference(made))
      made
    }
  }

  /** The table that `data` (subject BIGINT, object BIGINT) reads, its indexes in two folders below `folder`. */
  def of(data: DataFrame, rows: Long, folder: String): IndexedTable =
    kept(known, folder)(new IndexedTable(data.asInstanceOf[Dataset[Row]], rows, folders(folder)))

  /** The same where only the indexes are known. */
  private[indexes] def of(rows: Long, folders: Array[String]): IndexedTable =
    kept(known, s"${folders(0)} alone")(new IndexedTable(null, rows, folders))

  private def folders(folder: String) = Array(s"$folder/by=s", s"$folder/by=o")

  private def open(folder: String, conf: Configuration): MappedRows =
    kept(rowsKnown, folder)(new MappedRows(IndexLayout.read(folder, conf), conf))

  /** Bytes of files that indexes have opened in this process. */
  def openedHere: Long = {
    var sum = 0L
    rowsKnown.values.forEach { r => val rows = r.get; if (rows != null) sum += rows.openedBytes }
    sum
  }

  /** The same in each executor that some tasks meet: its id, "=" and the bytes. */
  def openedOnExecutors(sc: SparkContext): Array[String] =
    sc.parallelize(0 until 64, 64).mapPartitions { _ => Thread.sleep(20); Iterator.single(s"${SparkEnv.get.executorId}=$openedHere") }
      .collect().distinct.sorted
}
