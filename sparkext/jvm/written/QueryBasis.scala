package org.apache.spark.sql.cqels
package written

import java.util.{HashMap => Settings}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.kept.StaticVersions
import org.apache.spark.sql.cqels.spark.SessionContents
import org.apache.spark.sql.execution.QueryExecution

/** What the answers of a query rest on beside its live views: what its names mean, what is cached, the settings, and the
 *  versions of what it reads, all as they were when this was made.
 */
private[cqels] final class QueryBasis(session: SparkSession, written: WrittenQuery) {
  // Told before the plan is made of them: what changes meanwhile is seen to have changed.
  private val settings = new Settings[String, String](SessionContents.settings(session))
  private val cached = SessionContents.cached(session)
  private val versions = new StaticVersions(session, ofProgram = true)
  val meaning: Meaning = written.meaning()

  /** The analysed plan with what is cached in it. */
  val plan: LogicalPlan = session.withActive(new QueryExecution(session, meaning.plan).withCachedData)
  private val reads = versions.reads(plan)
  private val key = versions.of(plan).key
  private val schema = plan.schema

  /** Whether a query prepared on this is right now, asked cheaply; what cannot be told is not. */
  def isCurrent: Boolean =
    try areSettings(SessionContents.settings(session)) && (SessionContents.cached(session) eq cached) && meaning.isSame() && reads.areSame
    catch { case NonFatal(_) => false }

  /** Why a query prepared on this is not right on another, None where it is. */
  def changed(now: QueryBasis): Option[String] =
    if (!areSettings(now.settings)) Some("settings")
    else if (schema != now.schema) Some("columns")
    else Option.when(key != now.key)("what it reads")

  // The engine's own were read when it was made.
  private def areSettings(now: java.util.Map[String, String]): Boolean =
    settings == now || QueryBasis.ofSpark(settings) == QueryBasis.ofSpark(now)
}

private object QueryBasis {
  private def ofSpark(settings: java.util.Map[String, String]): Settings[String, String] = {
    val found = new Settings[String, String](settings)
    found.keySet.removeIf(_.startsWith("spark.cqels."))
    found
  }
}
