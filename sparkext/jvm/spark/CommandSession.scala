package org.apache.spark.sql.cqels
package spark

import java.net.URL
import java.util.{Collections, Enumeration}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.sql.classic.SparkSession

/** The session of one command, made without what no command uses.
 *
 *  Spark lets each session register the SQL functions of its ML library, which reads the signatures of half of Scala to
 *  do so: that alone takes a quarter of a start from an archive of classes.
 */
object CommandSession {
  /** Makes the default session, which Python's builder then finds. */
  def start(context: SparkContext): Unit = {
    val thread = Thread.currentThread
    val loader = thread.getContextClassLoader
    thread.setContextClassLoader(new WithoutMlFunctions(loader))
    try SparkSession.builder().sparkContext(context).getOrCreate()
    finally thread.setContextClassLoader(loader)
  }

  private final class WithoutMlFunctions(parent: ClassLoader) extends ClassLoader(parent) {
    override def getResources(name: String): Enumeration[URL] = {
      val found = super.getResources(name)
      if (!name.endsWith("SparkSessionExtensionsProvider")) found
      else Collections.enumeration(found.asScala.filterNot(_.getPath.contains("/spark-mllib_")).toList.asJava)
    }
  }
}
