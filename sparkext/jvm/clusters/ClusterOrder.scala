package org.apache.spark.sql.cqels
package clusters

import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.join.{JoinOrderData, JoinRunner, JoinStep, OrderChange}
import org.apache.spark.sql.cqels.memory.Json

/** The order of a cluster, which may be another one in each evaluation, and what the last evaluation did. */
final class ClusterOrder(spec: JoinShape) {
  @volatile private[cqels] var data: JoinOrderData = JoinOrderData.free(spec.items.length)
  @volatile private[cqels] var runner: JoinRunner = _

  /** Joins relations one after the other, as they are numbered ("2,0,1"); "" leaves the order to the join itself. */
  def pin(sequence: String): Unit = {
    val places = Numbers.list(sequence).map(_.toInt)
    data = data.copy(sequence = if (places.isEmpty) null else places)
  }

  // Where it begins whatever else is asked for, with what has arrived; -1: with any.
  @volatile private var own = -1

  /** Has the join go the way of an order that it took before, as `report` and its changes tell it: where it begins, then steps. */
  def follow(order: java.util.List[String]): Unit = {
    val names = order.toArray(new Array[String](0))
    val begin = spec.relations.indexWhere(_.name == names.head)
    if (begin < 0) throw new IllegalArgumentException(s"no relation of this join is called ${names.head}")
    if (own >= 0 && begin != own)
      throw new IllegalArgumentException(s"this join is evaluated by delta and begins with ${spec.relations(own).name}")
    data = data.copy(driver = begin, sequence = null, steps = names.tail.map(JoinStep.unnumbered))
  }

  /** Leaves the order to the join itself. */
  def free(): Unit = data = data.copy(driver = own, sequence = null, steps = null)

  /** Has the join always begin with a relation. */
  def drive(relation: Int): Unit = { own = relation; data = data.copy(driver = relation) }

  /** Has filters and BINDs wait until these relations are joined, bits of a long for each: "0,5". */
  def holdBack(relations: String): Unit = data = data.copy(after = Numbers.list(relations))

  /** Nanoseconds that deciding took in the last evaluation. */
  private[cqels] def decisionNanos: Long = { lastJob; val ran = runner; if (ran == null) 0L else ran.decisionNanos }

  /** Nanoseconds that joining took in the last evaluation, over all threads or tasks. */
  private[cqels] def busyNanos: Long = {
    val job = lastJob
    val ran = runner
    if (job != null) job.busy else if (ran == null) 0L else math.max(0L, ran.busy)
  }

  /** Rows of the largest step of the last evaluation, or of its result, -1 before there was one. */
  private[cqels] def largestStep: Long = {
    val job = lastJob
    val ran = runner
    if (job != null) math.max(jobRows, job.largest) else if (ran == null) -1L else math.max(ran.answered, ran.largest)
  }

  // Of the last evaluation, if it was a job.
  @volatile private var running: () => JobRun = _ // until somebody asks what it did
  @volatile private var ranJob: JobRun = _
  @volatile private var jobRows = 0L
  private def lastJob: JobRun = synchronized {
    if (running != null) { ranJob = running(); running = null; runner = ranJob.chooser }
    ranJob
  }
  private var chosenBy: JoinRunner = _

  /** Who chooses where jobs begin and which way they go: it knows what those before have met. */
  private[clusters] def chooser(make: => JoinRunner): JoinRunner = { if (chosenBy == null) chosenBy = make; chosenBy }

  /** Notes that a job begins; `ended` tells what it did, once it has run. */
  private[cqels] def runsAsJob(ended: () => JobRun): Unit = synchronized { jobRows = 0L; running = ended }
  /** Notes how many rows that job gave. */
  private[clusters] def ranAsJob(rows: Long): Unit = { lastJob; jobRows = rows }
  private[cqels] def runsHere(here: JoinRunner): Unit = synchronized { running = null; ranJob = null; runner = here }

  /** How the order changed in the last evaluation, null where it did not; told once. */
  private[cqels] def takeChange(): OrderChange = { lastJob; val ran = runner; if (ran == null) null else ran.history.takeChange() }

  /** The relation that the last evaluation began with, -1 before there was one, and what was done then, as JSON:
   *  {"driver":, "order": [names], "decision_ns":, "rivals": [[relation, nanoseconds]],
   *  "steps": [[name, rows in, rows out, values read, nanoseconds, rows out as estimated]]}. Of a job, steps are those of all
   *  tasks together.
   */
  def report: String = {
    val job = lastJob
    val ran = runner
    if (ran == null) """{"driver":-1,"order":[],"decision_ns":0,"rivals":[],"steps":[]}"""
    else {
      val done = if (job != null) job.steps else ran.report
      val steps = done.map(s => s"[${Json.quote(s.name)},${s.rowsIn},${s.rowsOut},${s.reads},${s.nanos},${s.estimatedOut}]")
      val rivals = ran.rivals.map { case (r, cost) => s"[$r,$cost]" }
      s"""{"driver":${ran.lastDriver},"order":${ran.history.now.map(Json.quote).mkString("[", ",", "]")},"decision_ns":${ran.decisionNanos},""" +
        s""""rivals":${rivals.mkString("[", ",", "]")},"steps":${steps.mkString("[", ",", "]")}}"""
    }
  }
}

private[cqels] object ClusterOrder {
  /** The orders that are new since the last evaluation, as JSON: [[cluster, before, after, costs of both, cause], ..]. */
  def changes(clusters: Seq[ClusterOrder]): String = clusters.zipWithIndex.flatMap { case (cluster, number) =>
    Option(cluster).flatMap(c => Option(c.takeChange())).map { o =>
      def names(order: Seq[String]) = order.map(Json.quote).mkString("[", ",", "]")
      s"[$number,${names(o.before)},${names(o.after)},${o.costBefore},${o.costAfter},${Json.quote(o.cause)}]"
    }
  }.mkString("[", ",", "]")
}
