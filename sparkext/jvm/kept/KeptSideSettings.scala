package org.apache.spark.sql.cqels
package kept

import java.time.Duration
import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.util.Try

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.spark.SessionKey
import org.apache.spark.sql.execution.joins.PartitionedLookUp

/** The keys of `spark.cqels.keptSides.*` in a session, and all of its settings, since any may change what is read. */
private[kept] final case class KeptSideSettings(maxBytes: Long, ttlMs: Long, all: Map[String, String])

/** Declared to Spark, so that `SET` refuses values that cannot be right. */
private[cqels] object KeptSideSettings {
  private val Enabled = new SessionKey(
    "spark.cqels.keptSides.enabled", "Keep the static side of a join with a stream from one micro-batch to the next.", "true",
    "true or false", text => Seq("true", "false").contains(text.trim.toLowerCase(Locale.ROOT)))

  private val JoinOrder = new SessionKey(
    "spark.cqels.keptSides.joinOrder", "Join a stream with kept static sides in the order that the batches before found best.", "true",
    "true or false", text => Seq("true", "false").contains(text.trim.toLowerCase(Locale.ROOT)))

  private val MaxMemory = new SessionKey(
    "spark.cqels.keptSides.maxMemory", "How much memory kept static sides may take.", "30%",
    "a size such as 2g, or a part of the heap such as 30%", text => Try(bytes(text, 0)).isSuccess)

  private val Ttl = new SessionKey(
    "spark.cqels.keptSides.ttl", "For how long a static side whose version cannot be told is kept.", "0",
    "a duration such as PT30S, 30s, 5min or 250 (milliseconds)", text => Try(milliseconds(text)).isSuccess)

  /** What Delta notes down among the settings after each of its commits: it changes nothing that is read. */
  private val Notes = Set("spark.databricks.delta.lastCommitVersionInSession")

  /** Makes the keys known to `SET`. */
  def declare(): Unit = ()

  def isEnabled(session: SparkSession): Boolean =
    Enabled.of(session).equalsIgnoreCase("true") &&
      session.sessionState.conf.getConfString("spark.cqels.enabled", "true").trim.equalsIgnoreCase("true")

  def isOrdered(session: SparkSession): Boolean = isEnabled(session) && JoinOrder.of(session).equalsIgnoreCase("true")

  /** A part of the heap is one of the driver's for sides kept as a whole, else one of what executors have for kept blocks. */
  def of(session: SparkSession, form: SideForm): KeptSideSettings = {
    val memory = if (form == Whole) Runtime.getRuntime.maxMemory else PartitionedLookUp.storageMemory(session.sparkContext)
    KeptSideSettings(bytes(MaxMemory.of(session), memory), milliseconds(Ttl.of(session)), session.sessionState.conf.getAllConfs -- Notes)
  }

  private def bytes(text: String, memory: Long): Long = {
    val written = text.trim
    if (!written.endsWith("%")) JavaUtils.byteStringAsBytes(written)
    else {
      val part = written.dropRight(1).trim.toDouble
      require(part >= 0 && part <= 100)
      (memory * (part / 100)).toLong
    }
  }

  private def milliseconds(text: String): Long = {
    val written = text.trim
    val found = if (written.startsWith("P")) Duration.parse(written).toMillis else JavaUtils.timeStringAs(written, TimeUnit.MILLISECONDS)
    require(found >= 0)
    found
  }
}
