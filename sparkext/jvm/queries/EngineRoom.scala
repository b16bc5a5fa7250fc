package org.apache.spark.sql.cqels
package queries

import java.nio.file.Paths
import java.util.{List => JList}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.cqels.runs.{ClassArchive, RunLimit, Turn}
import org.apache.spark.sql.cqels.answers.{AnswerForm, Description, Template}
import org.apache.spark.sql.cqels.calls.{TermFunctions, TextNeeds, UncertainCalls}
import org.apache.spark.sql.cqels.clusters.{ClusterBuilder, ClusterJoin}
import org.apache.spark.sql.cqels.columns.{BatchRows, LiveRows}
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.documents.DocumentBatch
import org.apache.spark.sql.cqels.execution.{ExecutablePlan, OrderedSlice, PathSearch, PreparedPlan, QueryPlans, SlicedExecution, StockPlan, TextsHere}
import org.apache.spark.sql.cqels.events.EventMatch
import org.apache.spark.sql.cqels.functions.{Numbers, TermValues}
import org.apache.spark.sql.cqels.journal.{CheckpointFolder, RestoredElements, Segment, SegmentWriter}
import org.apache.spark.sql.cqels.leaves.IdRelationLeaf
import org.apache.spark.sql.cqels.loading.{MemoryTable, MemoryTables}
import org.apache.spark.sql.cqels.ingest.Handover
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.indexes.{IndexedTable, MappedContent}
import org.apache.spark.sql.cqels.relations.{PathReach, RelationContent, StageContent, StaticContent, WindowContent}
import org.apache.spark.sql.cqels.spark.Frames
import org.apache.spark.sql.cqels.streams.{ArrivedElements, ArrivedRows, MergedContent, PatternFeed, QuadMatcher, QuadPattern, StarPattern, StreamLog, StreamWindow, TimedContent, WindowStar}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.types.{BooleanType, LongType}

/** The one object that Python calls: streams, windows, relations and prepared queries of one engine.
 *
 *  Calls that move windows or evaluate must not overlap; the Python engine holds one lock around them, and `turn` is for those that
 *  Python has left.
 */
final class EngineRoom(session: SparkSession, val dictionary: Dictionary, scratchFolder: String, threads: Int) {
  val number: Long = EngineRoom.numbers.incrementAndGet()
  /** The least work for which another thread of the driver is woken; 0 divides all work, for tests. */
  @volatile var sliceNanos: Long = SlicedExecution.LeastNanos
  /** Whether indexes of windows copy what is looked up again and again, for streams that are made from now on. */
  @volatile var copiesChains = true
  /** Rows of a relation that joins which are made from now on send to all executors of a cluster, at most. */
  @volatile var broadcastRows: Long = Long.MaxValue
  private val scratch = Paths.get(scratchFolder)
  private val streams = new ConcurrentHashMap[String, StreamLog]()
  private val sideBySide = new SideBySide(session)
  private[cqels] val turn = new Turn
  /** Where Python hands over blocks of bytes. */
  val handover = new Handover(scratch.resolve("handover"))
  TermValues.register(number, dictionary)
  ClassArchive.engineUsed()
  /** Calls of uncertainty functions: their cache, their sites. */
  val uncertainCalls: UncertainCalls = UncertainCalls.register(number)

  /** Whether tasks run in other processes, without this one's dictionary. */
  def executorsApart: Boolean = !session.sparkContext.isLocal

  /** Has expressions follow SPARQL 1.2 where it says otherwise than SPARQL 1.1. */
  def readRdf12(): Unit = TermValues.readRdf12(number)

  def close(): Unit = {
    TermValues.unregister(number)
    UncertainCalls.unregister(number)
    handover.close()
    // Python may hold on to the engine for as long as it likes.
    streams.values.forEach(_.close())
    streams.clear()
  }

  def stream(iri: String): StreamLog = streams.computeIfAbsent(iri, name => {
    val made = new StreamLog(name, dictionary, handover)
    made.copiesChains = copiesChains
    made.turn = turn
    made
  })

  /** What streams with a journal have taken in since the last time; null where that is nothing. */
  def cutSegment(): Segment = {
    val made = new SegmentWriter(dictionary)
    streams.values.forEach(_.cutJournal(made))
    val segment = if (made.isEmpty) null else made.made()
    streams.values.forEach(_.forgetJournal()) // not before: what cannot be made is in the next one
    segment
  }

  /** The folder of a checkpoint. */
  def checkpointFolder(path: String): CheckpointFolder = CheckpointFolder.open(session, path)

  def restoredElements(): RestoredElements = new RestoredElements(dictionary)

  /** Has tasks read the columns of terms of a batch of a streaming DataFrame, for [[StreamLog.takeBatch]]. */
  def readBatch(batch: Dataset[Row], rdf12: Boolean, accepts: Boolean): BatchRows = BatchRows.read(batch, rdf12, accepts)

  /** Has tasks read the documents of a batch of a streaming DataFrame, for [[StreamLog.takeBatch]]; null: one is TriG; see [[DocumentBatch]]. */
  def readDocuments(batch: Dataset[Row], timeProperties: String, refusesTrig: Boolean, rdf12: Boolean, accepts: Boolean): DocumentBatch =
    DocumentBatch.read(batch, timeProperties, refusesTrig, rdf12, accepts)

  /** What has a partition of a frame have rows in no certain order; null: nothing. */
  def mixesRows(frame: Dataset[Row]): String = LiveRows.mixesRows(frame.queryExecution.analyzed)

  /** Rows that tasks hand over one by one: the columns of these names, divided by commas, and a time. */
  def liveRows(named: String): LiveRows = LiveRows.of(named)

  /** The rows that a triple pattern finds in a window; `spec` as [[QuadPattern.parse]] reads it, since py4j would make one
   *  call an element of a list.
   */
  def windowPattern(window: StreamWindow, name: String, spec: String): WindowContent =
    window.pattern(QuadPattern.parse(spec), name)

  /** The rows that patterns with one subject find in a window together; `spec`: see [[StarPattern.parse]]. */
  def windowStar(window: StreamWindow, name: String, spec: String): WindowStar = window.star(StarPattern.parse(spec), name)

  def dropWindowStar(window: StreamWindow, spec: String): Unit = window.dropStar(StarPattern.parse(spec))

  /** The rows that a pattern finds in a window, each with the time at which it was sighted last. */
  def timedPattern(window: StreamWindow, name: String, spec: String): TimedContent = window.timed(QuadPattern.parse(spec), name)

  /** The rows that a pattern finds in what entered a window last, each with its time. */
  def arrivedPattern(window: StreamWindow, name: String, spec: String): ArrivedRows = window.arrived(QuadPattern.parse(spec), name)

  /** The elements that entered a window last, each by itself, for patterns of events. */
  def arrivedElements(stream: StreamLog, window: StreamWindow): ArrivedElements = new ArrivedElements(stream, window)

  /** The state of one MATCH; see [[EventMatch]]. */
  def eventMatch(name: String, variables: Int, visible: Array[Int], events: Int, bag: Boolean): EventMatch = {
    val made = new EventMatch(name, variables, visible, events, bag, EventMatch.times(number))
    made.setRoom(number)
    made
  }

  /** What a MATCH found last, each with the instant until which it holds. */
  def arrivedMatches(state: EventMatch): ArrivedMatches = new ArrivedMatches(state)

  def matchPlans(state: EventMatch): MatchPlans = new MatchPlans(state)

  def dropWindowPattern(window: StreamWindow, spec: String): Unit = window.dropPattern(QuadPattern.parse(spec))

  /** The rows of quads (s, p, o, g) that match a pattern, as a DataFrame; quoted triples are taken apart here, where their
   *  parts are known.
   */
  def matchQuads(data: Dataset[Row], spec: String, columns: JList[String]): Dataset[Row] = {
    val quads = staticContent("quads", data, counted = false, zeroes = 3).table
    val rows = matching(quads, QuadPattern.parse(spec))
    frame(StaticContent("quoted triples", rows, null), columns, rows.rowCount.toLong)
  }

  /** The rows of a pattern over static data, to which windows can be merged; with `bag`, all of theirs count. */
  def mergedContent(name: String, static: StaticContent, bag: Boolean): MergedContent = new MergedContent(name, static, bag)

  /** The rows that a triple pattern finds in tables in memory, without a Spark job; `spec` as [[QuadPattern.parse]] reads
   *  it. With `merged`, tables of several graphs are read as one graph.
   */
  def patternContent(name: String, tables: JList[MemoryTable], spec: String, merged: Boolean): StaticContent =
    StaticContent(name, QuadPattern.parse(spec) match {
      case QuadPattern(Seq(0L, p, 0L, 0L), Seq(), Seq(0, 2), Seq(), _) if p != 0L && tables.size == 1 => tables.get(0).pairs
      case pattern => matching(MemoryTables.quads(tables, merged), pattern)
    }, null)

  private def matching(quads: LongTable, pattern: QuadPattern): LongTable = {
    val matcher = new QuadMatcher(pattern, dictionary)
    val rows = new LongTable(pattern.columns.length)
    PatternFeed.each(quads, 0, quads.rowCount)((cells, at) => if (matcher.matches(cells, at)) rows.appendAll(matcher.row, 0, 1))
    LongTable.of(rows.arity, rows.toArray)
  }

  /** A static relation from a DataFrame of id columns. */
  def staticContent(name: String, given: Dataset[Row]): StaticContent = staticContent(name, given, counted = false, -1)

  /** The same with each row once, and how often it counts. */
  def countedContent(name: String, given: Dataset[Row]): StaticContent =
    planHere(given, name).flatMap(littleHere) match {
      case Some(rows) => StaticContent.counted(name, rows)
      case None =>
        val columns = given.columns.toIndexedSeq.map(given.col)
        staticContent(name, given.groupBy(columns: _*).agg(count(lit(1)).as("multiplicity")), counted = true, -1)
    }

  /** A plan's rows, all of them; None where they take too much memory: Spark's aggregate counts them as they come. */
  private def littleHere(plan: PreparedPlan): Option[LongTable] = {
    var rows: LongTable = null
    val share = Runtime.getRuntime.maxMemory / EngineRoom.ShareOfAPart
    if (RunLimit.exceeded(session.sparkContext, Long.MaxValue, share) { rows = rowsHere(plan, -1) } == null) Some(rows) else None
  }

  /** The last column is a row's multiplicity when `counted`; in column `zeroes`, if there is one, 0 is an id: the default
   *  graph's.
   */
  private def staticContent(name: String, given: Dataset[Row], counted: Boolean, zeroes: Int): StaticContent = {
    val data = withTexts(given, name)
    val width = data.schema.size
    require(data.schema.forall(_.dataType == LongType), s"$name must hold ids only: ${data.schema.simpleString}")
    val arity = if (counted) width - 1 else width
    def collected(rows: Iterator[InternalRow]): Array[Long] = {
      val table = new LongTable(width, 1024)
      rows.foreach { r =>
        val at = table.appendRow()
        var c = 0
        while (c < width) {
          if (r.isNullAt(c)) throw new IllegalArgumentException(s"$name has no id in column ${c + 1} of a row")
          table.set(at + c, r.getLong(c))
          c += 1
        }
      }
      table.toArray
    }
    val parts = session.withActive(planHere(data, name) match {
      case Some(plan) => Array(rowsHere(plan, zeroes).toArray)
      case None => data.queryExecution.toRdd.mapPartitions(rows => Iterator.single(collected(rows))).collect()
    })
    val rows = parts.map(_.length.toLong).sum / math.max(1, width)
    if (rows * arity > Int.MaxValue - 8) throw new IllegalArgumentException(s"$name has $rows rows: too many for one in-memory relation")
    val table = new LongTable(arity, math.max(1, rows.toInt))
    val counts = if (counted) new Array[Int](rows.toInt) else null
    var n = 0
    for (p <- parts.indices) {
      val cells = parts(p)
      var i = 0
      while (i < cells.length) {
        val at = table.appendRow()
        var c = 0
        while (c < arity) { table.set(at + c, cells(i + c)); c += 1 }
        if (counted) counts(n) = Math.toIntExact(cells(i + arity))
        n += 1
        i += width
      }
      parts(p) = null // twice the relation in memory at most for a moment
    }
    StaticContent(name, table, if (counted && counts.forall(_ == 1)) null else counts)
  }

  /** The data, with what executors cannot compute computed already. */
  private def withTexts(data: Dataset[Row], name: String): Dataset[Row] = {
    val plan = data.queryExecution.analyzed
    if (!executorsApart || TextNeeds.of(plan).isEmpty || planHere(data, name).isDefined) data
    else Frames.of(session, TextsHere(session, plan))
  }

  /** The plan by which all is computed from rows in this process, where the driver can iterate its operators. */
  private def planHere(data: Dataset[Row], name: String): Option[PreparedPlan] =
    if (data.queryExecution.analyzed.exists(!readsHere(_))) None
    else Some(PreparedPlan(data, name, 1, sliceNanos, interpreted = true)).filter(_.driverRefusal == null)

  private def readsHere(node: LogicalPlan): Boolean = node match {
    case relation: IdRelationLeaf => !relation.content.live
    case cluster: ClusterJoin => !cluster.readsLive
    case other => other.children.nonEmpty || other.isInstanceOf[LocalRelation]
  }

  private def rowsHere(plan: PreparedPlan, zeroes: Int): LongTable = {
    val rows = plan.runOnDriver()
    for (r <- 0 until rows.rowCount; c <- 0 until rows.arity)
      if (rows(r, c) == 0L && c != zeroes) throw new IllegalArgumentException(s"${plan.label} has no id in column ${c + 1} of a row")
    rows
  }

  /** The rows of a table that lie in its index files; with a constant (else 0), what stands beside it there, in memory. */
  def mappedContent(name: String, table: IndexedTable, subject: Long, obj: Long): StaticContent =
    if (subject != 0L) StaticContent(name, table.beside(0, subject), null)
    else if (obj != 0L) StaticContent(name, table.beside(1, obj), null)
    else MappedContent.of(name, table)

  /** A static relation of few rows given by value: constants of a query travel as data, never as literals. */
  def smallContent(name: String, arity: Int, cells: String): StaticContent =
    StaticContent(name, LongTable.of(arity, Numbers.list(cells)), null)

  def stageContent(name: String, arity: Int): StageContent = new StageContent(name, arity)

  /** The relation as a DataFrame with these column names. */
  def frame(content: RelationContent, columns: JList[String], estimatedRows: Long): Dataset[Row] =
    Frames.of(session, IdRelationLeaf.named(content, columns.asScala.toSeq, estimatedRows))

  /** A join cluster over variables, to be put together; see [[ClusterBuilder]]. */
  def cluster(columns: JList[String], names: JList[String]): ClusterBuilder =
    new ClusterBuilder(session, columns.asScala.toSeq, names.asScala.toSeq, broadcastRows)

  /** A relation that joins build, whatever index of it there is; what is computed stays as it is. */
  def built(data: Dataset[Row]): Dataset[Row] = data.queryExecution.analyzed match {
    case leaf: IdRelationLeaf => Frames.of(session, leaf.copy(built = true))
    case _ => data
  }

  /** The rows of a relation as they are now in an ordinary, stock DataFrame (what runs with spark.cqels.enabled=false). */
  def stockFrame(content: RelationContent, columns: JList[String]): Dataset[Row] = {
    val now = content.snapshot()
    val rows = new java.util.ArrayList[Row](now.table.rowCount)
    val it = now.scan(0, 1)
    while (it.hasNext) { val r = it.next(); rows.add(Row.fromSeq((0 until content.arity).map(r.getLong))) }
    val schema = org.apache.spark.sql.types.StructType(
      columns.asScala.map(org.apache.spark.sql.types.StructField(_, LongType, nullable = false)).toArray)
    session.createDataFrame(rows, schema)
  }

  /** Each row of `left` with each term that steps lead to from it; see [[PathSearch]]. `steps` must be a frame of its own. */
  def pathSearch(
      left: Dataset[Row], steps: Dataset[Row], starts: JList[String], froms: JList[String], to: String, reached: String,
      zero: Boolean, many: Boolean): Dataset[Row] = {
    val (from, along) = (left.queryExecution.analyzed, steps.queryExecution.analyzed)
    val end = AttributeReference(reached, LongType, nullable = false)()
    val search = PathSearch(from, along, starts.asScala.toSeq.map(named(from, _)), froms.asScala.toSeq.map(named(along, _)),
      named(along, to), end, zero, many)
    Frames.of(session, Project(from.output :+ Alias(end, reached)(), search))
  }

  /** How many pairs any number of steps (.., from, to) connects, `most` + 1 when there are more. */
  def pathPairs(steps: Dataset[Row], most: Long): Long = PathReach.pairs(staticContent("steps", steps).table, most)

  /** Rows cut in order; see [[OrderedSlice]]. `order` holds column names, "-" before those that descend. */
  def slice(data: Dataset[Row], order: JList[String], ties: JList[String], offset: Long, limit: Long): Dataset[Row] = {
    val plan = data.queryExecution.analyzed
    val keys = order.asScala.toSeq
    Frames.of(session, OrderedSlice(keys.map(k => named(plan, k.stripPrefix("-"))), keys.map(_.startsWith("-")),
      ties.asScala.toSeq.map(named(plan, _)), offset, limit, number, plan))
  }

  /** The left rows of a semi join, all of them, with a column that says which have a partner. */
  def marked(semi: Dataset[Row], column: String): Dataset[Row] = semi.queryExecution.analyzed match {
    case join @ Join(_, _, LeftSemi, _, _) =>
      val mark = AttributeReference(column, BooleanType, nullable = false)()
      Frames.of(session, Project(join.left.output :+ Alias(mark, column)(), join.copy(joinType = ExistenceJoin(mark))))
    case other => throw new IllegalArgumentException(s"not a semi join: ${other.nodeName}")
  }

  private def named(plan: LogicalPlan, column: String): Attribute =
    plan.output.find(_.name == column).getOrElse(throw new IllegalArgumentException(s"no column $column in ${plan.schema.simpleString}"))

  /** Whether a plan has other rows each time that it runs over the same data. */
  def drawsLots(data: Dataset[Row]): Boolean = data.queryExecution.analyzed.exists(_.expressions.exists(TermFunctions.drawsLots))

  /** A plan that is made once; with `interpreted`, without generated code: sooner ready, slower over many rows. */
  def prepare(data: Dataset[Row], label: String, interpreted: Boolean): PreparedPlan =
    PreparedPlan(data, label, threads, sliceNanos, interpreted)

  def stock(data: Dataset[Row], label: String): StockPlan = new StockPlan(data, label)

  def plans(main: ExecutablePlan): QueryPlans = new QueryPlans(main)

  def deltaPlans(): DeltaPlans = new DeltaPlans

  /** CONSTRUCT's template, see Template for the notation. */
  def template(pattern: String): AnswerForm = new Template(dictionary, pattern)

  /** DESCRIBE over a relation (s, p, o); `resources` are ids, "1,2". */
  def description(triples: RelationContent, resources: String): AnswerForm = new Description(triples, resources)

  /** The instances of a template of so many constants, none yet. */
  def instances(constants: Int): Instances = new Instances(dictionary, constants)

  def query(name: String, plans: QueryPlans, columns: JList[String], visible: Int, operator: String): ContinuousQuery =
    sideBySide.add(new ContinuousQuery(name, dictionary, number, plans, columns.asScala.toSeq, visible, operator, scratch, turn))

  /** Evaluates several queries at one instant, see [[SideBySide.evaluate]]. */
  def evaluateTogether(asked: String): String = turn(sideBySide.evaluate(asked))
}

object EngineRoom {
  private val numbers = new AtomicLong()
  /** Of this part of Java's memory, a kept part may be made on the driver. */
  private final val ShareOfAPart = 8

  def apply(session: SparkSession, dictionary: Dictionary, scratchFolder: String, threads: Int): EngineRoom =
    new EngineRoom(session, dictionary, scratchFolder, threads)
}
