package org.apache.spark.sql.cqels
package spark

import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.spark.api.python.PythonRDD
import org.apache.spark.rdd.{MapPartitionsRDD, ParallelCollectionRDD, RDD}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.execution.CacheManager
import org.apache.spark.sql.execution.datasources.{FileIndex, InMemoryFileIndex}
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog

/** What a session holds that answers depend on, told cheaply enough to be asked before every run. */
private[cqels] object SessionContents {
  /** The settings, which change under the reader. */
  def settings(session: SparkSession): java.util.Map[String, String] = session.sessionState.conf.settings

  final val CatalogName = CatalogManager.SESSION_CATALOG_NAME

  /** Whether Spark's own catalogue has the tables without a catalogue's name. */
  def hasOwnCatalog(session: SparkSession): Boolean = session.sessionState.catalogManager.v2SessionCatalog.isInstanceOf[V2SessionCatalog]

  private val cachedData = Try {
    val field = classOf[CacheManager].getDeclaredField("cachedData")
    field.setAccessible(true)
    field
  }.toOption

  /** What is cached, the same object as long as nothing is added or taken away. */
  def cached(session: SparkSession): AnyRef = cachedData.fold[AnyRef](new Object)(_.get(session.sharedState.cacheManager))
}

/** Listings of files, and whether one is that of before: asking for the files themselves takes many times as long. */
private[cqels] object Listings {
  private val leafFiles = Try(classOf[InMemoryFileIndex].getMethod("leafFiles")).toOption

  /** The same object as long as the files are not listed again; null: it cannot be told. */
  def of(index: FileIndex): AnyRef = index match {
    case held: InMemoryFileIndex if held.getClass == classOf[InMemoryFileIndex] => leafFiles.fold[AnyRef](null)(_.invoke(held))
    case _ => null
  }
}

/** Rows that a Python program gave as a list. They are the same whenever they are read, unlike what its functions make of it.
 *
 *  Spark sends them through Python once more, by a function that changes nothing: that of an example, which differs from
 *  any other by the rows to a batch.
 */
private[cqels] object ListedRows {
  private val passing = ConcurrentHashMap.newKeySet[Seq[Byte]]()

  /** Takes the function of rows that were given as a list for that of any. */
  def learn(example: RDD[_]): Unit = function(example).foreach(passing.add)

  /** Scala's functions cannot be told from Spark's own: rows that never went through Python are no list. */
  def areListed(rows: RDD[_]): Boolean = lineage(rows) match {
    case (_: ParallelCollectionRDD[_]) :: made => made.exists(_.isInstanceOf[PythonRDD]) && made.forall {
      case _: MapPartitionsRDD[_, _] => true
      case python: PythonRDD => command(python).exists(c => passing.stream.anyMatch(differOnlyByANumber(_, c)))
      case _ => false
    }
    case _ => false
  }

  private def lineage(rdd: RDD[_]): List[RDD[_]] = {
    var found = List[RDD[_]](rdd)
    while (found.head.dependencies.size == 1) found ::= found.head.dependencies.head.rdd
    found
  }

  private def function(rdd: RDD[_]): Option[Seq[Byte]] = lineage(rdd).collectFirst { case p: PythonRDD => p }.flatMap(command)

  private def command(rdd: PythonRDD): Option[Seq[Byte]] = Try {
    val field = classOf[PythonRDD].getDeclaredField("func")
    field.setAccessible(true)
    field.get(rdd).asInstanceOf[org.apache.spark.api.python.PythonFunction].command
  }.toOption

  // Both begin with the length of what follows (pickle protocol 4, section Framing), and a number takes up to five bytes.
  private def differOnlyByANumber(one: Seq[Byte], other: Seq[Byte]): Boolean = {
    val (a, b) = (one.drop(Frame).toArray, other.drop(Frame).toArray)
    val first = Arrays.mismatch(a, b)
    first < 0 || {
      val (x, y) = (a.drop(first).reverse, b.drop(first).reverse)
      val last = Arrays.mismatch(x, y)
      last >= 0 && math.max(x.length, y.length) - last <= 5
    }
  }

  private final val Frame = 11
}
