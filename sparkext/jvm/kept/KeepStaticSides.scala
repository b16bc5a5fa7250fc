package org.apache.spark.sql.cqels
package kept

import java.util.Locale

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, ExtractSingleColumnNullAwareAntiJoin}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.spark.StreamingJobs
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashJoin, HashedRelationBroadcastMode}

/** Plans an equi-join of a stream with static data as a hash join whose build side is kept from one micro-batch to the next.
 *
 *  Before: `SortMergeJoin(stream, static)` or `BroadcastHashJoin(stream, BroadcastExchange(static))`, the static side read anew
 *  in each batch; after: `BroadcastHashJoin(stream, KeptStaticSide)`. Where it cannot be kept, the join says why, and Spark plans it.
 */
private[cqels] final class KeepStaticSides(session: SparkSession) extends SparkStrategy with Logging {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join: Join => RunningBatch.of(session).filter(_ => isOfBoth(join) && KeptSideSettings.isEnabled(session)).toSeq.flatMap { batch =>
      keep(join, batch) match {
        case Right(planned) => planned :: Nil
        case Left(reason) => say(join, batch, reason); Nil
      }
    }
    case _ => Nil
  }

  /** Whether a join puts rows of this micro-batch together with what is not of it; not where Spark has begun to read that. */
  private def isOfBoth(join: Join): Boolean = {
    val static = KeepStaticSides.static(join)
    static.size == 1 && !static.exists(_.exists(_.isInstanceOf[LogicalQueryStage]))
  }

  private def keep(join: Join, batch: RunningBatch): Either[String, SparkPlan] = sides(join).flatMap { s =>
    val static = StaticVersions.withoutPruning(s.static)
    for {
      _ <- Either.cond(!static.exists(_.subqueries.exists(RunningBatch.readIn(join))), (), "a subquery of it reads a stream")
      _ <- Either.cond(!otherWay(join.hint, s), (), "a hint asks for another way to join")
      _ <- Either.cond((s.leftKeys ++ s.rightKeys).forall(k => UnsafeRowUtils.isBinaryStable(k.dataType)), (), "its keys cannot be compared as bytes")
      form = formOf(s, static, join)
      kept <- KeptSides.of(session.sparkContext).side(session, static, KeepStaticSides.label(static), form, batch)
    } yield form match {
      case InParts(keys, partitions) =>
        val (left, right) = ordered(s, KeptPartsExec(kept, static.output, keys, partitions))
        KeptPartsJoinExec(s.leftKeys, s.rightKeys, s.joinType, s.build, s.condition, left, right, partitions)
      case Whole =>
        val mode = HashedRelationBroadcastMode(HashJoin.rewriteKeyExpr(BindReferences.bindReferences(s.staticKeys, static.output)), s.nullAware)
        val leaf = KeptStaticSideExec(kept, static.output, mode)
        val side = if (RunningBatch.inRealTime(join)) ReusedExchangeExec(static.output, KeptExchangeExec(leaf)) else leaf
        val (left, right) = ordered(s, side)
        BroadcastHashJoinExec(s.leftKeys, s.rightKeys, s.joinType, s.build, s.condition, left, right, s.nullAware)
    }
  }

  private def ordered(s: Sides, side: SparkPlan): (SparkPlan, SparkPlan) =
    if (s.build == BuildRight) (planLater(s.stream), side) else (side, planLater(s.stream))

  /** Where executors are other processes, a large side stays in parts: rows of the stream go to them. */
  private def formOf(s: Sides, static: LogicalPlan, join: Join): SideForm =
    if (session.sparkContext.isLocal || s.nullAware || RunningBatch.inRealTime(join) || static.stats.sizeInBytes <= KeepStaticSides.WholeBytes) Whole
    else InParts(s.staticKeys, session.sessionState.conf.numShufflePartitions)

  private final case class Sides(
      joinType: JoinType, leftKeys: Seq[Expression], rightKeys: Seq[Expression], condition: Option[Expression], build: BuildSide,
      stream: LogicalPlan, static: LogicalPlan, nullAware: Boolean = false) {
    def staticKeys: Seq[Expression] = if (build == BuildRight) rightKeys else leftKeys
  }

  private def sides(join: Join): Either[String, Sides] = {
    val isRead = RunningBatch.readIn(join)
    join match {
      case ExtractSingleColumnNullAwareAntiJoin(leftKeys, rightKeys) if isRead(join.left) =>
        Right(Sides(LeftAnti, leftKeys, rightKeys, None, BuildRight, join.left, join.right, nullAware = true))
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, condition, _, left, right, _) => joinType match {
        case _: InnerLike | LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin if isRead(left) =>
          Right(Sides(joinType, leftKeys, rightKeys, condition, BuildRight, left, right))
        case _: InnerLike | RightOuter if isRead(right) =>
          Right(Sides(joinType, leftKeys, rightKeys, condition, BuildLeft, right, left))
        case other => Left(s"rows of it are answers by themselves (${other.sql.toLowerCase(Locale.ROOT)} join)")
      }
      case _ => Left("no equality of columns joins it")
    }
  }

  private def otherWay(hint: JoinHint, s: Sides): Boolean = {
    val asked = (hint.leftHint ++ hint.rightHint).flatMap(_.strategy)
    // Spark can send the rows of the stream's side to the other one in inner joins only.
    val isAnother = asked.exists(_ != BROADCAST || s.joinType.isInstanceOf[InnerLike])
    isAnother && !(if (s.build == BuildLeft) hint.leftHint else hint.rightHint).exists(_.strategy.contains(BROADCAST))
  }

  /** Once a query and reason: the join carries it to `EXPLAIN`. */
  private def say(join: Join, batch: RunningBatch, reason: String): Unit = {
    val static = KeepStaticSides.static(join).map(KeepStaticSides.label).mkString(", ")
    // With the name of the side: Spark may put a stage that it has read in its place.
    join.setTagValue(KeepStaticSides.Why, s"$static: not kept, $reason")
    if (KeptSides.of(session.sparkContext).isNews(batch.query, s"$static: $reason")) {
      StreamingJobs.post(session.sparkContext, StaticSideNotKept(batch.query.toString, batch.number, static, reason))
      logInfo(s"query ${batch.query}: static side $static is not kept: $reason")
    }
  }
}

private[cqels] object KeepStaticSides {
  /** A side that Spark takes to be larger is not sent to each executor as a whole. */
  final val WholeBytes = BigInt(100L << 20)

  /** Which static side of a join is not kept, and why. */
  val Why: TreeNodeTag[String] = TreeNodeTag[String]("cqels.keptSides.why")

  /** The sides of a join that read no rows of the micro-batch. */
  def static(join: Join): Seq[LogicalPlan] = join.children.filterNot(RunningBatch.readIn(join))

  /** What a static side reads, for people. */
  def label(plan: LogicalPlan): String = plan.collectLeaves().map(nameOf).distinct.mkString(" + ")

  private def nameOf(leaf: LogicalPlan): String = leaf match {
    case LogicalRelation(_, _, Some(table), _, _) => table.identifier.unquotedString
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
      s"${files.fileFormat.toString.toLowerCase(Locale.ROOT)} ${files.location.rootPaths.map(_.getName).mkString(", ")}"
    case cached: InMemoryRelation => cached.cacheBuilder.tableName.getOrElse("cached rows")
    case relation: DataSourceV2ScanRelation => relation.relation.name
    case other => other.nodeName
  }
}
