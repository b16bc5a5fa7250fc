package org.apache.spark.sql.cqels
package sql

import java.util.concurrent.{Callable, ExecutorService, Executors, Future, TimeUnit}

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.RewriteCollationJoin
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** What Python implements: a query graph in, a join order out, both as JSON.
 *
 *  In: {"relations": [{"name", "kind", "rows", "variables", "distinct"}], "filters": [{"name", "kind", "variables"}]}.
 *  Out: nested pairs of places, such as [[0, 2], 1]; the right one of a pair is built or probed.
 */
trait JoinOrderAdvisor {
  def advise(graph: String): String
}

/** Asks an advisor within a time limit; no advice, for whatever reason, is None. Nothing is asked while an answer is overdue. */
final class JoinOrderAdvice(timeoutMs: Long) extends Logging {
  @volatile private var advisor: JoinOrderAdvisor = _
  @volatile private var warned = false
  @volatile private var overdue: Future[String] = _

  def setAdvisor(asked: JoinOrderAdvisor): Unit = advisor = asked

  def order(cluster: JoinCluster): Option[JoinOrder] = {
    val asked = advisor
    val late = overdue
    // A thread that waits for Python cannot be ended: there must not be one for each query while Python hangs.
    if (asked == null || late != null && !late.isDone) None
    else {
      val question = JoinOrderAdvice.threads.submit(new Callable[String] { override def call(): String = asked.advise(cluster.describe()) })
      try {
        val order = JoinOrders.read(question.get(timeoutMs, TimeUnit.MILLISECONDS))
        if (!cluster.accepts(order)) throw new IllegalArgumentException(s"$order is no order of ${cluster.leaves.size} inputs")
        Some(order)
      } catch {
        case NonFatal(failure) =>
          if (!question.isDone) overdue = question
          complain(failure)
          None
      }
    }
  }

  private def complain(failure: Throwable): Unit = {
    val text = s"no join order from Python, so joins stay as Spark orders them: $failure"
    if (warned) logDebug(text) else { warned = true; logWarning(text) }
  }
}

private object JoinOrderAdvice {
  private val threads: ExecutorService = Executors.newCachedThreadPool { (work: Runnable) =>
    val thread = new Thread(work, "cqels-join-orders")
    thread.setDaemon(true)
    thread
  }
}

private[cqels] object JoinOrders {
  private val mapper = new ObjectMapper()

  def read(json: String): JoinOrder = order(mapper.readTree(json))

  private def order(node: JsonNode): JoinOrder =
    if (node.isInt) OrderLeaf(node.intValue)
    else if (node.isArray && node.size == 2) OrderJoin(order(node.get(0)), order(node.get(1)))
    else throw new IllegalArgumentException(s"a join order is nested pairs of places, not $node")
}

/** Clusters of inner joins in a plan that read something live, and the plan with their orders changed. */
private[cqels] object LiveClusters {
  /** The clusters, outer ones before those in their inputs. */
  def of(plan: LogicalPlan): Seq[JoinCluster] = JoinCluster.at(plan).filter(c => RowRelationLeaf.isLive(c.top)) match {
    case Some(cluster) => cluster +: cluster.leaves.flatMap(of)
    case None => plan.children.flatMap(of)
  }

  /** Puts in place of each cluster what `made` makes of it (its number in `of`, the cluster, its inputs), if anything. */
  def replace(plan: LogicalPlan)(made: (Int, JoinCluster, IndexedSeq[LogicalPlan]) => Option[LogicalPlan]): LogicalPlan = {
    var count = 0
    def go(node: LogicalPlan): LogicalPlan = JoinCluster.at(node).filter(c => RowRelationLeaf.isLive(c.top)) match {
      case Some(cluster) =>
        val number = count
        count += 1
        val inputs = cluster.leaves.map(go)
        made(number, cluster, inputs) match {
          case Some(other) => other
          case None =>
            val replaced = cluster.leaves.zip(inputs).filterNot { case (a, b) => a eq b }
            if (replaced.isEmpty) node
            else node.transformDown { case l if replaced.exists(_._1 eq l) => replaced.find(_._1 eq l).get._2 }
        }
      case None => node.mapChildren(go)
    }
    go(plan)
  }
}

/** Lets `adaptive` order the inner joins of an ordinary query that reads a live view; any other plan stays the same object.
 *
 *  So does one that reads a stream: what the operators of one micro-batch keep is found by those of the next by their place.
 */
case class ReorderLiveJoins(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (ReorderLiveJoins.isSuspended || plan.isStreaming || !plan.exists(readsView) || !enabled) plan
    else {
      val most = conf.autoBroadcastJoinThreshold
      val ordered = LiveClusters.replace(plan) { (_, cluster, inputs) =>
        val advice = cluster.top.collectFirst { case RowRelationLeaf(rows: LiveRows, _) => rows.advice }
        advice.flatMap(_.order(cluster)).map(cluster.rebuild(_, inputs, right => right.stats.sizeInBytes <= most))
      }
      if (ordered eq plan) plan else RewriteCollationJoin(ordered)
    }

  private def readsView(node: LogicalPlan): Boolean = node match {
    case r: RowRelationLeaf => r.content.live
    case _ => false
  }

  private def enabled: Boolean = conf.getConfString("spark.cqels.enabled", "true").trim.equalsIgnoreCase("true")
}

object ReorderLiveJoins {
  private val suspended = ThreadLocal.withInitial[Boolean](() => false)

  private def isSuspended: Boolean = suspended.get()

  /** Optimises without the rule: the joins of a prepared query order themselves. */
  def without[T](body: => T): T = {
    val before = suspended.get()
    suspended.set(true)
    try body finally suspended.set(before)
  }
}
