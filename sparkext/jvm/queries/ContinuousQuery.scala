package org.apache.spark.sql.cqels
package queries

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.cqels.answers.{AnswerColumns, AnswerForm, StaticTexts}
import org.apache.spark.sql.cqels.calls.{CallSite, UncertainCalls}
import org.apache.spark.sql.cqels.clusters.ClusterOrder
import org.apache.spark.sql.cqels.dictionary.{Dictionary, IdBuffer}
import org.apache.spark.sql.cqels.execution.QueryPlans
import org.apache.spark.sql.cqels.functions.{DateFunctions, Numbers, TermValues}
import org.apache.spark.sql.cqels.memory.{IdRow, Json, LongTable}
import org.apache.spark.sql.cqels.relations.{StaticIndex, WindowTable}
import org.apache.spark.sql.cqels.runs.{LimitExceeded, RunLimit, Turn}
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.cqels.streams.{Stay, StreamWindow, WindowStar}

/** A registered query as the hot path sees it: stages, the main plan, the streaming operator, decoding. */
final class ContinuousQuery(
    val name: String, dictionary: Dictionary, room: Long, private var plans: QueryPlans, columns: Seq[String], visible: Int, operator: String,
    scratch: Path, turn: Turn) {
  val number: Long = ContinuousQuery.next()
  private var previous: LongTable = new LongTable(visible)
  private var held = new IdBuffer
  private var order: Array[Int] = Array.emptyIntArray // column, negated minus one when descending
  private var offset = 0
  private var limit = -1
  private var makesTerms = false
  private var form: AnswerForm = _ // null: the solutions themselves
  private var bags = false
  private var answersNothing = false
  private val sites = mutable.ArrayBuffer[CallSite]()
  private val answerColumns = new AnswerColumns(new StaticTexts(dictionary))
  private var delta: DeltaEvaluation = _
  private var instances: Instances = _ // null: the query is no template
  private var (mostNanos, mostBytes, mostRows) = (Long.MaxValue, 0L, Long.MaxValue)

  private val windows = mutable.ArrayBuffer[StreamWindow]()
  private var stars = Seq.empty[WindowStar]
  private var matches = Seq.empty[MatchPlans]
  private var matched = false // whether they stand where the windows do

  /** The windows that the query reads, in the order in which `evaluate` is told their bounds. */
  def addWindow(window: StreamWindow): Unit = windows += window

  /** The stars that its plans read: where one is crowded after windows have moved, `evaluate` says so instead of evaluating. */
  def setStars(read: java.util.List[WindowStar]): Unit = stars = read.asScala.toSeq

  /** Has each evaluation first find the events of the query's MATCHes by these plans. */
  def setMatches(plans: java.util.List[MatchPlans]): Unit = turn {
    val others = plans.asScala.toSeq
    matches.filterNot(others.contains).foreach { plans => plans.takeBack(); plans.release() }
    matches = others
  }

  /** Brings the query's MATCHes to where the windows stand, once for each evaluation. */
  def advanceMatches(): Unit = {
    if (!matched) try matches.foreach(_.advance()) catch { case e: Throwable => matches.foreach(_.takeBack()); throw e }
    matched = true
  }

  /** Says that the last visible column is the number of an instance: the others are answers of that one, and cut for it. */
  def setInstances(of: Instances): Unit = instances = of

  /** Says that instances have come or gone. */
  def instancesChanged(): Unit = turn(if (delta != null) delta.restart())

  /** Forgets all evaluations before, as if the next one were the first. */
  def forget(): Unit = turn {
    if (delta != null) delta.forget()
    remember(new LongTable(visible))
  }

  /** Tells of a call site of the query; what is counted there comes with each evaluation. */
  def addSite(number: Int): Unit = sites += UncertainCalls.of(room).site(number)

  /** Executes other plans from now on. */
  def replacePlans(others: QueryPlans): Unit = turn {
    if (others ne plans) plans.release()
    plans = others
  }

  /** ORDER BY over result columns (c, or -c-1 for descending), then OFFSET and LIMIT (-1: none). */
  def sliced(columns: String, offset: Int, limit: Int): Unit = {
    order = columns.split(',').filter(_.nonEmpty).map(_.toInt)
    this.offset = offset
    this.limit = limit
  }

  /** Moves the query's windows to "o1,c1,o2,c2": (open, close] each, in the order in which they were added. */
  def moveWindows(bounds: String): Unit = {
    if (bounds.nonEmpty) matched = false
    val edges = Numbers.list(bounds)
    for (i <- 0 until edges.length / 2) windows(i).advance(edges(2 * i), edges(2 * i + 1))
  }

  /** What an evaluation may take: nanoseconds, bytes that each of its threads allocates, rows of answers; 0 is any. What takes more
   *  is a [[LimitExceeded]], after which the query is not to be evaluated again.
   */
  def setLimits(nanos: Long, bytes: Long, rows: Long): Unit = {
    mostNanos = if (nanos == 0) Long.MaxValue else nanos
    mostBytes = bytes
    mostRows = if (rows == 0) Long.MaxValue else rows
  }

  private def limited(slices: Int)(evaluated: => String): String = {
    if (mostNanos == Long.MaxValue && mostBytes == 0) return evaluated
    var told: String = null
    val (sc, limits) = (Jobs.activeContext, if (slices == 0) RunLimit.exceeded _ else RunLimit.exceededByJobs _)
    val exceeded = limits(sc, mostNanos, mostBytes) { told = evaluated }
    if (exceeded == null) told
    else {
      sites.foreach(_.discard())
      if (makesTerms) dictionary.sweepUnreferenced()
      throw new LimitExceeded(
        if (exceeded == "time") s"an evaluation took more than ${mostNanos / 1000000} ms (spark.cqels.limits.evaluationTime)"
        else s"an evaluation took more than $mostBytes bytes of memory (spark.cqels.limits.evaluationMemory)")
    }
  }

  /** Says that expressions may put new terms into the dictionary; they leave it after each evaluation. */
  def setMakesTerms(): Unit = makesTerms = true

  /** Says what is made of the solutions, after the streaming operator: triples, or nothing (null). */
  def setForm(form: AnswerForm): Unit = this.form = form

  /** Has evaluations find what later ones differ from, and leave no answers. */
  def answerNothing(nothing: Boolean): Unit = answersNothing = nothing

  /** Has IStream and DStream take differences of bags (slip S-001-7), where occurrences count. */
  def setBags(): Unit = bags = true

  /** Sets what NOW() is in the evaluations to come, in milliseconds from 1970. */
  def setInstant(millis: Long): Unit = DateFunctions.setInstant(room, millis)

  /** Moves the query's windows, evaluates over their content and leaves the answers as a file of columns.
   *
   *  `bounds`: open and close of each window, "(open, close]", as "o1,c1,o2,c2"; empty: as they are. `slices` = 0: on the
   *  driver; otherwise as a Spark job with so many slices. Returns JSON with the number of answers, the file ("" when there is
   *  none), and nanoseconds of moving windows, running and decoding; with call sites of uncertainty functions also what was
   *  counted there, and with join clusters what these decided (see `ordered`). `{"crowded":true}` where other plans are needed first
   *  (`setStars`).
   */
  def evaluate(bounds: String, slices: Int): String = turn(evaluateHere(bounds, slices))

  /** The same for who has the turn, by whichever thread. */
  private[queries] def evaluateHere(bounds: String, slices: Int): String = {
    val begun = System.nanoTime()
    leaveDelta()
    moveWindows(bounds)
    val moved = System.nanoTime()
    if (stars.exists(_.crowded)) ContinuousQuery.Crowded
    else limited(slices) {
      var now: LongTable = null
      told(moved - begun) {
        advanceMatches()
        matched = false
        now = arrange(plans.run(slices))
        stream(now)
      }(if (operator != "RSTREAM") remember(now))
    }
  }

  /** Runs the plans over what the windows hold, answering nothing: the nanoseconds that it took, -1 where it was given up after
   *  so many. For benches, whose orders may take for ever.
   */
  def runWithin(slices: Int, most: Long): Long = turn {
    val began = System.nanoTime()
    try {
      val sc = Jobs.activeContext
      val ended = if (slices == 0) RunLimit.within(sc, most)(plans.run(slices)) else RunLimit.jobsWithin(sc, most)(plans.run(slices))
      if (ended) System.nanoTime() - began else -1L
    } finally {
      sites.foreach(_.discard())
      if (makesTerms) dictionary.sweepUnreferenced()
    }
  }

  /** Evaluates, writes the answers, and tells of both in JSON. What later ones know of it they know `whenTold`: of one
   *  that fails nobody was told.
   */
  private def told(windowNanos: Long)(evaluated: => LongTable)(whenTold: => Unit): String = {
    val file = scratch.resolve(s"answers-${ContinuousQuery.next()}").toString
    try tell(windowNanos, file)(evaluated)(whenTold)
    catch {
      case e: Throwable =>
        Seq(file, file + "-instances").foreach(left => Files.deleteIfExists(Path.of(left)))
        matches.foreach(_.takeBack())
        if (delta != null) delta.takeBack()
        throw e
    }
  }

  private def tell(windowNanos: Long, file: String)(evaluated: => LongTable)(whenTold: => Unit): String = {
    if (sites.nonEmpty) UncertainCalls.of(room).begin()
    sites.foreach(_.discard()) // what an evaluation that failed has left
    val started = System.nanoTime()
    val solutions = evaluated
    val shares = if (instances == null) null else new InstanceShares(instances, solutions, visible - 1, form)
    val rows = if (shares != null) shares.rows else if (form == null) solutions else form(solutions)
    val answered = if (form != null) form.columns else if (instances == null) visible else visible - 1
    val ran = System.nanoTime()
    val count = if (answersNothing) 0 else rows.rowCount
    if (count > mostRows)
      throw new LimitExceeded(s"$count rows of answers are more than $mostRows (spark.cqels.limits.answerRows)")
    val path = if (count == 0) "" else file
    val layout = if (path.isEmpty) "[]" else answerColumns.write(rows, answered, path)
    val shared = if (shares == null || path.isEmpty) "" else s""","instances":${Json.quote(shares.write(path))}"""
    whenTold
    matches.foreach(_.told())
    if (makesTerms) dictionary.sweepUnreferenced()
    s"""{"answers":$count$shared,"path":${Json.quote(path)},"columns":$layout,"window_ns":$windowNanos,"run_ns":${ran - started},"decode_ns":${System.nanoTime() - ran}$called${ordered(if (delta == null) plans.clusters else Nil)}}"""
  }

  /** What the join clusters of the plans that ran have to tell: nanoseconds that deciding and all of joining took, the rows of the
   *  largest step (-1: not known), and orders that are new ([[ClusterOrder.changes]]).
   */
  private def ordered(clusters: Seq[ClusterOrder]): String =
    if (clusters.isEmpty) ""
    else s""","decision_ns":${clusters.map(_.decisionNanos).sum},"busy_ns":${clusters.map(_.busyNanos).sum},"largest":${clusters.map(_.largestStep).max},""" +
      s""""changes":${ClusterOrder.changes(clusters)}"""

  /** What this evaluation has counted at each call site: [number, and what `CallSite.collect` gives]. */
  private def called: String =
    if (sites.isEmpty) ""
    else sites.map(site => site.collect().mkString(s"[${site.number},", ",", "]")).mkString(",\"calls\":[", ",", "]")

  /** Has `evaluateDelta` find what is new by these plans, over all that the windows hold at first; `stays` says of each
   *  window pattern how long its rows stay, "width,slide,start" one a line, slide 0 where each stays for the width.
   */
  def setDelta(plans: DeltaPlans, stays: String): Unit = turn {
    if (delta == null) {
      delta = new DeltaEvaluation(dictionary, visible)
      delta.take(previous)
      remember(new LongTable(visible))
    }
    delta.replacePlans(plans, stays.split('\n').map(Stay.parse))
  }

  /** Has evaluations as a whole know what was told by delta: static data decide which of them there are. */
  private def leaveDelta(): Unit = if (delta != null) {
    remember(delta.holding)
    delta.close()
    delta = null
  }

  /** As `evaluate`, for ISTREAM, by the plans of `setDelta`; the instant is that to which the windows move. */
  def evaluateDelta(bounds: String, instant: Long): String = turn {
    val begun = System.nanoTime()
    moveWindows(bounds)
    val moved = System.nanoTime()
    limited(0) {
      told(moved - begun) {
        advanceMatches()
        matched = false
        val news = delta.news()
        if (instances == null) news else instances.arranged(news, null, visible - 1)
      }(delta.toldAt(instant))
    }
  }

  /** How many answers, with what they hold in the dictionary, `evaluateDelta` knows to hold. */
  def heldAnswers: Int = if (delta == null) 0 else delta.heldCount

  /** RStream, IStream, DStream (RSP-QL, Definitions 20-22): membership of a solution mapping decides, not its count, and
   *  what entered or left is told once.
   */
  private def stream(now: LongTable): LongTable = operator match {
    case "RSTREAM" => now
    case "ISTREAM" => without(now, previous)
    case "DSTREAM" => without(previous, now)
  }

  private def without(rows: LongTable, others: LongTable): LongTable = {
    if (bags) return fewer(rows, others)
    val width = rows.arity
    if (visible == 0) { // one mapping only, the empty one
      val kept = new LongTable(width)
      if (rows.rowCount > 0 && others.rowCount == 0) kept.appendAll(rows.data, 0, 1)
      return kept
    }
    val told = new WindowTable(visible)
    val mapping = new Array[Long](visible)
    val index = StaticIndex.grouped(others, null, Array.range(0, visible), Array.range(0, visible)).asReadOnlyCopy()
    val key = new IdRow(visible)
    val kept = new LongTable(width)
    var r = 0
    while (r < rows.rowCount) {
      var c = 0
      while (c < visible) { mapping(c) = rows(r, c); key.set(c, mapping(c)); c += 1 }
      val found = if (visible == 1) index.get(mapping(0)) else index.get(key.row)
      if (found == null) {
        val before = told.rowCount
        told.insert(mapping)
        if (told.rowCount > before) kept.appendAll(rows.data, r, 1)
      }
      r += 1
    }
    kept
  }

  /** The difference of two bags: of equal mappings, as many are left as there are more. */
  private def fewer(rows: LongTable, others: LongTable): LongTable = {
    val rest = new WindowTable(visible)
    val mapping = new Array[Long](visible)
    def read(table: LongTable, row: Int): Array[Long] = {
      var c = 0
      while (c < visible) { mapping(c) = table(row, c); c += 1 }
      mapping
    }
    for (r <- 0 until others.rowCount) rest.insert(read(others, r))
    val kept = new LongTable(rows.arity)
    for (r <- 0 until rows.rowCount) if (!rest.deleteIfThere(read(rows, r))) kept.appendAll(rows.data, r, 1)
    kept
  }

  /** Keeps these answers, with their terms, for those before them. */
  private def remember(now: LongTable): Unit = {
    val ids = new IdBuffer
    var i = 0
    while (i < now.rowCount * now.arity) { ids.add(now.data(i)); i += 1 }
    // First these, then those go: a term may be in both and held by nothing else.
    dictionary.retain(ids.array, ids.size)
    dictionary.release(held.array, held.size)
    held = ids
    previous = now
  }

  /** The answers of which the next ones tell the difference, for another process: a row a line of terms, with carriage returns between, as
   *  terms have these two characters escaped only. What a query orders by besides is left out.
   */
  def remembered: String = {
    def row(r: Int) = (0 until visible).map(c => if (previous(r, c) == 0L) "" else dictionary.text(previous(r, c))).mkString("\r")
    (0 until previous.rowCount).map(row(_) + "\n").mkString
  }

  /** Takes what `remembered` gave for the answers of the last evaluation. */
  def recall(rows: String): Unit = {
    val table = new LongTable(visible)
    rows.split("\n", -1).dropRight(1).foreach { line =>
      val at = table.appendRow()
      val texts = line.split("\r", -1)
      for (c <- 0 until visible) table.set(at + c, if (texts(c).isEmpty) 0L else dictionary.encode(texts(c)))
    }
    remember(table)
  }

  private def arrange(rows: LongTable): LongTable =
    if (instances != null) instances.arranged(rows, if (order.isEmpty) null else inOrder(rows), visible - 1)
    else if (order.isEmpty && offset == 0 && limit < 0) rows
    else {
      val numbers = inOrder(rows)
      val from = math.min(offset, numbers.length)
      val until = if (limit < 0) numbers.length else math.min(numbers.length.toLong, from.toLong + limit).toInt
      val sorted = new LongTable(rows.arity, until - from)
      var i = from
      while (i < until) { sorted.appendAll(rows.data, numbers(i), 1); i += 1 }
      sorted
    }

  /** The numbers of the rows in the order of the query. */
  private def inOrder(rows: LongTable): Array[Integer] = {
    val numbers = Array.tabulate[Integer](rows.rowCount)(Int.box)
    if (order.nonEmpty) java.util.Arrays.sort(numbers, (a: Integer, b: Integer) => compare(rows, a, b))
    numbers
  }

  private def compare(rows: LongTable, a: Int, b: Int): Int = {
    var i = 0
    while (i < order.length) {
      val descending = order(i) < 0
      val column = if (descending) -order(i) - 1 else order(i)
      val c = TermValues.order(room, rows(a, column), rows(b, column))
      if (c != 0) return if (descending) -c else c
      i += 1
    }
    0
  }

  def close(): Unit = {
    answerColumns.release()
    if (delta != null) delta.close()
    matches.foreach(_.close())
    if (instances != null) instances.close()
    dictionary.release(held.array, held.size)
    held.reset()
  }
}

private object ContinuousQuery {
  private val counter = new java.util.concurrent.atomic.AtomicLong()
  def next(): Long = counter.incrementAndGet()
  private final val Crowded = "{\"crowded\":true}"
}
