package org.apache.spark.sql.cqels
package execution

import scala.collection.mutable

import org.apache.spark.sql.cqels.clusters.ClusterOrder
import org.apache.spark.sql.cqels.memory.{Json, LongTable}
import org.apache.spark.sql.cqels.relations.StageContent

/** The plans of one query for one choice of join orders: stages in the order in which they run, then the main plan. */
final class QueryPlans(main: ExecutablePlan) {
  private val stages = mutable.ArrayBuffer[(StageContent, ExecutablePlan)]()
  private def all: Seq[ExecutablePlan] = stages.map(_._2).toSeq :+ main

  def addStage(content: StageContent, plan: ExecutablePlan): Unit = stages += ((content, plan))

  /** Plans and compiles now, so that the first evaluation does not. */
  def warm(): Unit = all.foreach(_.warm())

  /** Why these plans cannot run on the driver, or null. */
  def driverRefusal: String = all.map(_.driverRefusal).find(_ != null).orNull

  /** The function for which these plans need texts of terms, which executors of a cluster do not have, or null. */
  def needsTexts: String = all.map(_.needsTexts).find(_ != null).orNull

  /** The same, also for functions that need them for some terms only: not for most numbers, say. */
  def mayNeedTexts: String = all.map(_.mayNeedTexts).find(_ != null).orNull

  /** The rows of the main plan now; `slices` = 0: on the driver, otherwise as a Spark job with so many slices. */
  def run(slices: Int): LongTable = {
    stages.foreach { case (content, plan) => content.replace(run(plan, slices)) }
    run(main, slices)
  }

  private def run(plan: ExecutablePlan, slices: Int): LongTable =
    if (slices == 0) plan.runOnDriver() else plan.runAsJob(slices)

  /** The last run's operators as JSON, stage by stage: [{"plan": .., "operators": [[depth, name, detail, rows, nanoseconds], ..]}, ..]. */
  def operators(): String = QueryPlans.listing(all)

  def planTree(): String = QueryPlans.trees(all)

  /** Join clusters whose order is data, of all plans. */
  def clusters: Seq[ClusterOrder] = all.flatMap(_.clusters)

  /** Forgets the build sides of the last run: what serves no more is not held. */
  def release(): Unit = all.foreach(_.release())
}

private[cqels] object QueryPlans {
  def listing(plans: Seq[ExecutablePlan]): String =
    plans.map { plan =>
      val rows = plan.operators().map(o => s"[${o.depth},${Json.quote(o.name)},${Json.quote(o.detail)},${o.rows},${o.nanos}]")
      s"""{"plan":${Json.quote(plan.label)},"operators":[${rows.mkString(",")}]}"""
    }.mkString("[", ",", "]")

  def trees(plans: Seq[ExecutablePlan]): String = plans.map(p => s"-- ${p.label}\n${p.treeString}").mkString("\n")
}
