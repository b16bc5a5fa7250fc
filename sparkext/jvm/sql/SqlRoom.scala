package org.apache.spark.sql.cqels
package sql

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.cqels.spark.{Arrow, Frames, ListedRows}
import org.apache.spark.sql.cqels.written.{WrittenFrame, WrittenText}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.Command
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.{LogicalRDD, SQLExecution}
import org.apache.spark.sql.types.{DataType, StructType}

/** The one object that Python calls for Spark SQL over live views.
 *
 *  Calls come in turn, of all engines of a session, whose views are in one catalogue: one that Python was interrupted in,
 *  for which it waits no more, ends before the next.
 */
final class SqlRoom(
    session: SparkSession, scratchFolder: String, enabled: Boolean, maxStaticRows: Long, planTimeoutMs: Long, maxDriverRows: Long,
    joinThreads: Int) {
  private val advice = new JoinOrderAdvice(planTimeoutMs)
  private val statics = new StaticParts(session, maxStaticRows)
  private val turn = SqlRoom.turnOf(session)

  /** Who is asked for join orders of ordinary queries; null: nobody. */
  def setAdvisor(advisor: JoinOrderAdvisor): Unit = advice.setAdvisor(advisor)

  /** A live view with a schema given as JSON; `timeColumn` is empty where rows do not expire, `width` in that column's unit. */
  def liveView(name: String, schemaJson: String, timeColumn: String, width: Long): LiveView = {
    val schema = DataType.fromJson(schemaJson).asInstanceOf[StructType]
    val content = new LiveRows(name, schema, if (timeColumn.isEmpty) -1 else schema.fieldIndex(timeColumn), width, advice)
    new LiveView(session, content, turn)
  }

  /** A DataFrame as it is, or the text that it was made of, to be read anew; null: there is none. */
  def prepare(data: Dataset[Row], text: String): PreparedRows = turn.synchronized {
    val analyzed = data.queryExecution.analyzed
    // What is a command was done when the DataFrame was made.
    val written =
      if (text == null || analyzed.exists(_.isInstanceOf[Command])) new WrittenFrame(data.queryExecution.commandExecuted)
      else new WrittenText(session, text)
    new PreparedRows(session, written, statics, Paths.get(scratchFolder), enabled, maxDriverRows,
      math.max(1, session.sparkContext.defaultParallelism), joinThreads, turn)
  }

  /** Takes rows like these, given by the Python program as a list, to be the same whenever they are read. */
  def learnListed(example: Dataset[Row]): Unit =
    example.queryExecution.analyzed.foreach { case listed: LogicalRDD => ListedRows.learn(listed.rdd); case _ => }
}

object SqlRoom {
  private val turns = java.util.Collections.synchronizedMap(new java.util.WeakHashMap[SparkSession, Object]())

  private def turnOf(session: SparkSession): Object = turns.computeIfAbsent(session, _ => new Object)

  def apply(
      session: SparkSession, scratchFolder: String, enabled: Boolean, maxStaticRows: Long, planTimeoutMs: Long, maxDriverRows: Long,
      joinThreads: Int): SqlRoom =
    new SqlRoom(session, scratchFolder, enabled, maxStaticRows, planTimeoutMs, maxDriverRows, joinThreads)
}

/** A live view as Python fills it; data come with the view's own columns and types. */
final class LiveView(session: SparkSession, val content: LiveRows, turn: Object) {
  private val schema = content.schema
  private lazy val unsafe = UnsafeProjection.create(schema)

  def createView(): Unit = Frames.of(session, RowRelationLeaf.of(content)).createOrReplaceTempView(content.name)

  /** Takes the view out of the session unless another has taken its name. */
  def dropView(): Unit = {
    val catalog = session.sessionState.catalog
    val ours = catalog.getTempView(content.name).exists(_.collectLeaves().exists {
      case RowRelationLeaf(rows, _) => rows eq content
      case _ => false
    })
    if (ours) catalog.dropTempView(content.name)
  }

  def replaceFrame(data: Dataset[Row]): Unit = turn.synchronized(content.replace(rowsOf(data)))
  def appendFrame(data: Dataset[Row]): Unit = turn.synchronized(content.append(rowsOf(data)))
  def replaceArrow(path: String): Unit = turn.synchronized(content.replace(rowsOf(path)))
  def appendArrow(path: String): Unit = turn.synchronized(content.append(rowsOf(path)))
  def clear(): Unit = turn.synchronized(content.clear())
  def advanceTo(time: Long): Unit = turn.synchronized(content.advanceTo(time))
  def rowCount: Long = content.rowCount

  private def rowsOf(data: Dataset[Row]): Array[UnsafeRow] = {
    // foreachBatch hands out a session of its own.
    val execution = data.queryExecution
    data.sparkSession.withActive(kept(SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollect()).iterator))
  }

  private def rowsOf(path: String): Array[UnsafeRow] = Arrow.read(Files.readAllBytes(Paths.get(path)))(kept)

  // Read in turn: the projection and its buffer are shared.
  private def kept(rows: Iterator[InternalRow]): Array[UnsafeRow] = {
    val never = schema.indices.filter(c => !schema(c).nullable || c == content.timeColumn).toArray
    rows.map { row =>
      val copy = unsafe(row).copy()
      never.foreach(c => if (copy.isNullAt(c)) throw new IllegalArgumentException(s"column ${schema(c).name} of ${content.name} must not be null"))
      copy
    }.toArray
  }
}
