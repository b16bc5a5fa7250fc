package org.apache.spark.sql.cqels
package kept

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** A static side was read, for the query with this id and for all that read the same later. Posted to Spark's listeners. */
case class StaticSideKept(queryId: String, batchId: Long, side: String, rows: Long, bytes: Long, readMs: Long) extends SparkListenerEvent

/** A static side is not kept; posted once a query, side and reason. */
case class StaticSideNotKept(queryId: String, batchId: Long, side: String, reason: String) extends SparkListenerEvent

/** Adds to `EXPLAIN` which static sides of a streaming query are kept, and why others are not.
 *
 *  Enable with `spark.sql.extendedExplainProviders=org.apache.spark.sql.cqels.kept.KeptSidesExplained`.
 */
class KeptSidesExplained extends ExtendedExplainGenerator with AdaptiveSparkPlanHelper {
  override def title: String = "Static Sides"

  // Spark writes the title over any plan.
  override def generateExtendedInfo(plan: SparkPlan): String = {
    val found = lines(plan).distinct
    if (found.isEmpty) "none of a stream" else found.mkString("\n")
  }

  private def lines(plan: SparkPlan): Seq[String] = flatMap(plan) {
    case kept: KeptStaticSideExec => Seq(s"${kept.side.label}: kept, ${kept.side.describe}")
    case kept: KeptPartsExec => Seq(s"${kept.side.label}: kept in ${kept.partitions} parts, ${kept.side.describe}")
    case ReusedExchangeExec(_, KeptExchangeExec(kept: KeptStaticSideExec)) => Seq(s"${kept.side.label}: kept, ${kept.side.describe}")
    case node => node.logicalLink.toSeq.collect { case join: Join => join }.flatMap(_.getTagValue(KeepStaticSides.Why))
  }
}

/** What Python asks about kept sides. */
object KeptSidesReport {
  private val mapper = new ObjectMapper()

  /** The kept sides of an application as a JSON array, the least recently used first. */
  def listed(session: SparkSession): String = {
    val out = mapper.createArrayNode()
    KeptSides.of(session.sparkContext).listed.foreach { side =>
      val one = out.addObject()
      one.put("side", side.label).put("rows", side.rowCount).put("bytes", side.memoryBytes).put("read_ms", side.readMs)
        .put("since_ms", side.since).put("uses", side.uses.get)
      val queries = one.putArray("queries")
      side.users.keySet.forEach(q => queries.add(q.toString))
    }
    out.toString
  }

  /** Lets go of all of them. */
  def clear(session: SparkSession): Unit = KeptSides.of(session.sparkContext).clear()
}
