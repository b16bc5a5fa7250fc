package org.apache.spark.sql.cqels

import org.apache.spark.sql.cqels.runs.ClassArchive
import org.apache.spark.sql.cqels.calls.{SqlUncertainty, TermFunctions}
import org.apache.spark.sql.cqels.clusters.{ClusterJoinStrategy, RowJoinStrategy}
import org.apache.spark.sql.cqels.execution.PatternOperatorStrategy
import org.apache.spark.sql.cqels.leaves.{IdRelationStrategy, RowRelationStrategy}
import org.apache.spark.sql.cqels.kept.{KeepStaticSides, KeptSideSettings}
import org.apache.spark.sql.cqels.sql.{OrderStreamJoins, ReorderLiveJoins}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/** What a session gets from us; with nothing registered, every plan and answer is Spark's own.
 *
 *  Enable with `spark.sql.extensions=org.apache.spark.sql.cqels.CqelsExtensions` and the jar on `spark.jars`
 *  (`sparkext.configure(builder)` does both).
 */
class CqelsExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    ClassArchive.sessionStarted()
    // A strategy, since only our own leaf needs planning: Spark's strategies never see anything else of ours.
    extensions.injectPlannerStrategy(_ => IdRelationStrategy)
    extensions.injectPlannerStrategy(_ => RowRelationStrategy)
    // Join clusters, whose order is data.
    extensions.injectPlannerStrategy(_ => ClusterJoinStrategy)
    extensions.injectPlannerStrategy(_ => RowJoinStrategy)
    // Searches along property paths and slices of sub-selects, which Spark has no operators for.
    extensions.injectPlannerStrategy(_ => PatternOperatorStrategy)
    KeptSideSettings.declare()
    // Before Spark's own strategies: what a streaming job joins with and need not read again.
    extensions.injectPlannerStrategy(session => new KeepStaticSides(session.asInstanceOf[ClassicSession]))
    // After Spark has pushed down filters and projections, and once: the rule asks Python.
    extensions.injectPreCBORule(session => ReorderLiveJoins(session))
    extensions.injectPreCBORule(session => OrderStreamJoins(session.asInstanceOf[ClassicSession]))
    // Functions over term ids, by name, so that Python and SQL text can use them.
    TermFunctions.all.foreach(extensions.injectFunction)
    SqlUncertainty.all.foreach(extensions.injectFunction)
  }
}
