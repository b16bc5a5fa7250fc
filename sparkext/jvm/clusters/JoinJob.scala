package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable

import org.apache.spark.{Dependency, HashPartitioner, OneToOneDependency, Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.sql.cqels.join.{JoinOrderData, JoinRunner, JoinSpec, JoinStep, StepReport}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.RelationContent
import org.apache.spark.sql.cqels.runs.RunLimit
import org.apache.spark.sql.cqels.spark.Jobs

/** One evaluation of a join as the stages of a Spark job.
 *
 *  Without large relations it is one stage, over slices of the relation with which it begins, all others being sent to all executors. On a
 *  cluster, a relation of more than `mostSent` rows stays in parts ([[RelationParts]]), and rows of the join go to the part that can have
 *  others for them. Where they do is decided before each evaluation: on the way that samples, taken on the driver, say is the cheapest.
 */
private[clusters] final class JoinJob(
    sc: SparkContext, spec: JoinSpec, contents: Array[RelationContent], order: JoinOrderData, chooser: => JoinRunner, slices: Int, mostSent: Long) {
  private val reports = new StepReports
  private val isEmpty = contents.exists(_.rowCount == 0)
  private val large = contents.indices.filter(r => !sc.isLocal && contents(r).arity > 0 && contents(r).rowCount > mostSent).toSet
  private val parts =
    math.max(sc.defaultParallelism.toLong, large.foldLeft(0L)((n, r) => math.max(n, 1 + contents(r).rowCount / math.max(1L, mostSent))))
      .min(JoinJob.MostParts).toInt
  private lazy val runner = chooser
  private var path: Seq[JoinStep] = Nil
  private val stages: Array[JoinStage] =
    if (isEmpty) Array.empty
    else {
      path = runner.pathFor(contents, order)
      if (large.isEmpty) JoinStages.whole(spec, order, runner.lastDriver)
      else JoinStages.of(spec, order, runner.lastDriver, path, large.contains, (r, columns) => RelationParts.column(contents(r), columns, parts))
    }

  /** The partitions of its answers. */
  val partitions: Int = if (stages.exists(_.isParted)) parts else slices

  /** What its tasks answer, and the broadcasts that serve it alone. */
  def tables(): (RDD[LongTable], Seq[Broadcast[_]]) =
    if (isEmpty) (sc.parallelize(Seq.empty[LongTable], slices), Nil)
    else {
      sc.register(reports)
      val once = mutable.ArrayBuffer[Broadcast[_]]()
      def note[T](sent: (T, Seq[Broadcast[ShippedContent]])): T = { once ++= sent._2; sent._1 }
      val executors = if (stages.exists(_.isParted)) Jobs.executors(sc) else Array.empty[String]
      var last: RDD[LongTable] = null
      for ((stage, n) <- stages.zipWithIndex) {
        val here = stage.sources.zip(stage.columns).map {
          case (-1, _) => null
          case (r, -1) => note(ShippedContent.broadcast(sc, contents(r)))
          case (r, column) => note(RelationParts.send(sc, contents(r), column, parts))
        }
        val task = new StageTask(n, stage, here, reports)
        last =
          if (!stage.continues) new FirstStageRDD(sc, task, if (stage.isParted) parts else slices, executors)
          else new NextStageRDD(new ShuffledRDD(new SentRDD(last, stages(n - 1), stage, parts), new HashPartitioner(parts)), task, executors)
      }
      (last, once.toSeq)
    }

  /** What it did, after it has run. */
  def ended(): JobRun =
    if (isEmpty) JobRun(null, Nil, 0L)
    else JobRun.of(runner, path, reports, stages.toSeq.map(s => if (s.continues) s.exchangeName else null), order)
}

/** What a job did: who chose its order (null: there was nothing to join), its steps, and the nanoseconds that joining took in all tasks. */
private[cqels] final case class JobRun(chooser: JoinRunner, steps: Seq[StepReport], busy: Long) {
  def largest: Long = steps.foldLeft(0L)((most, s) => math.max(most, s.rowsOut))
}

private[cqels] object JobRun {
  /** That of a job that went, as its chooser had expected, on this way; the chooser takes over what was met there. */
  def of(chooser: JoinRunner, path: Seq[JoinStep], reports: StepReports, exchanges: Seq[String], order: JoinOrderData): JobRun = {
    val tasks = reports.value
    val made = JobRun(chooser, StepReports.merged(tasks, exchanges), tasks.map(_.busy).sum)
    chooser.learn(path, made.steps, made.busy, order)
    made
  }
}

private[clusters] object JoinJob {
  final val MostParts = 10000L
}

/** What the tasks of a stage do. */
private final class StageTask(number: Int, stage: JoinStage, relations: Array[ShippedRelation], reports: StepReports) extends Serializable {
  def run(part: Int, parts: Int, blocks: Iterator[Array[Long]], context: TaskContext): Iterator[LongTable] = {
    val contents = relations.map(r => if (r == null) null else r.here(part))
    val runner = new JoinRunner(stage.spec, 1, 0L)
    val limit = RunLimit.of(context)
    val width = if (stage.continues) stage.spec.relations(0).variables.length + 1 else 1
    var arrived, waited = 0L
    val timed = if (blocks == null) null else new Iterator[Array[Long]] {
      override def hasNext: Boolean = { val began = System.nanoTime(); val more = blocks.hasNext; waited += System.nanoTime() - began; more }
      override def next(): Array[Long] = {
        val began = System.nanoTime()
        val block = blocks.next()
        waited += System.nanoTime() - began
        arrived += block.length / width
        block
      }
    }
    StepReports.atEnd(context, reports)(
      TaskReport(number, part, if (stage.continues) arrived else -1L, waited, runner.report, math.max(0L, runner.busy)))
    if (stage.continues) stage.goOn(runner, contents, timed, limit) else stage.begin(runner, contents, part, parts, limit)
  }
}

private abstract class StageRDD(sc: SparkContext, dependencies: Seq[Dependency[_]], executors: Array[String]) extends RDD[LongTable](sc, dependencies) {
  override protected def getPreferredLocations(split: Partition): Seq[String] =
    if (executors.isEmpty) Nil else Seq(executors(split.index % executors.length))
}

private final class FirstStageRDD(sc: SparkContext, task: StageTask, parts: Int, executors: Array[String]) extends StageRDD(sc, Nil, executors) {
  override protected def getPartitions: Array[Partition] = Array.tabulate(parts)(JoinSlice(_))
  override def compute(split: Partition, context: TaskContext): Iterator[LongTable] = task.run(split.index, parts, null, context)
}

private final class NextStageRDD(arrived: RDD[(Int, Array[Long])], task: StageTask, executors: Array[String])
    extends StageRDD(arrived.sparkContext, Seq(new OneToOneDependency(arrived)), executors) {
  override protected def getPartitions: Array[Partition] = firstParent[(Int, Array[Long])].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[LongTable] = {
    val parent = firstParent[(Int, Array[Long])]
    task.run(split.index, partitions.length, parent.iterator(split, context).map(_._2), context)
  }
}

/** The rows of a stage on their way to the parts of the next one. */
private final class SentRDD(found: RDD[LongTable], stage: JoinStage, next: JoinStage, parts: Int) extends RDD[(Int, Array[Long])](found) {
  override protected def getPartitions: Array[Partition] = firstParent[LongTable].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[(Int, Array[Long])] =
    stage.send(firstParent[LongTable].iterator(split, context), next, parts)
}
