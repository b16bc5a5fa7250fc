package org.apache.spark.sql.cqels
package join

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{RelationContent, TableContent}
import org.apache.spark.sql.cqels.runs.{RunLimit, Workers}
import org.apache.spark.sql.cqels.spark.DriverTask
import org.apache.spark.sql.cqels.streams.MergedContent

/** What one step of a join did in the last evaluation, over all threads. */
final case class StepReport(name: String, rowsIn: Long, rowsOut: Long, reads: Long, nanos: Long, estimatedOut: Double)

/** Runs a join over what its relations hold now, on several threads where that is worth it.
 *
 *  Threads take the rows of the driving relation piece by piece (morsels: Leis and others, SIGMOD 2014) and share the indexes,
 *  which nobody changes meanwhile. Not for two evaluations at once.
 */
private[cqels] final class JoinRunner(val spec: JoinSpec, threads: Int, leastNanos: Long) {
  import JoinRunner._

  private val runs = new Array[JoinRun](math.max(1, threads))
  private var busyNanos = -1L // of the last evaluation, over all threads
  def busy: Long = busyNanos
  /** Rows out of the largest step of the last evaluation, as one thread saw it, times the threads. */
  def largest: Long = if (driver < 0) 0L else run(0).nodes.largest * took
  private var driver = -1
  private var took = 1 // threads of the last evaluation
  private val beginning = new JoinBeginning(spec)
  def rivals: Iterable[(Int, Double)] = beginning.rivals
  val history = new JoinHistory
  /** What finding out where to begin took in the last evaluation. */
  var decisionNanos = 0L
  /** The nodes of the threads that took part in the last evaluation. */
  private[cqels] def nodesOfThreads: Seq[JoinNodes] = if (driver < 0) Nil else runs.toSeq.take(took).map(_.nodes)

  private def run(thread: Int): JoinRun = {
    if (runs(thread) == null) runs(thread) = new JoinRun(spec)
    runs(thread)
  }

  /** Compiles expressions, has every thread know its ways, and makes the indexes that a join may read which begins with one of its
   *  live relations, or with any one where all are static. Large static ones are made for the first of these only.
   */
  def warm(contents: Array[RelationContent], order: JoinOrderData): Unit = {
    val live = spec.relations.indices.filter(contents(_).live)
    val begins = if (order.sequence != null) Seq(order.sequence(0)) else if (order.driver >= 0) Seq(order.driver) else if (live.nonEmpty) live else Seq(0)
    for (t <- runs.indices) {
      run(t).warm()
      run(t).begin(contents, order, new LongTable(1), null)
      for ((r, place) <- begins.zipWithIndex; step <- waysFrom(run(t).nodes.start(r)) if t == 0) step match {
        case extend: Extend =>
          for (p <- extend.parts if contents(p.relation).live || place == 0 || contents(p.relation).rowCount <= LargeRelation)
            contents(p.relation).keyed(p.keys) // those of windows are kept up from now on, as rows come
        case _ =>
      }
    }
  }

  /** The steps that can be taken from a node on; of the first few hundred nodes. */
  private def waysFrom(start: JoinNode): Seq[JoinStep] = {
    val seen = mutable.LinkedHashSet(start)
    val queue = mutable.Queue(start)
    val ways = mutable.ArrayBuffer[JoinStep]()
    while (queue.nonEmpty) {
      val node = queue.dequeue()
      for (step <- node.steps ++ node.late) {
        ways += step
        if (seen.size < MostWarmed && seen.add(step.next)) queue += step.next
      }
    }
    ways.toSeq
  }

  /** Answers of the last evaluation, as often as they count. */
  private var answers = 0L
  def answered: Long = answers

  /** The relation that the last evaluation began with; -1 where there was nothing to join. */
  def lastDriver: Int = driver

  /** All answers: of each the cells `select` among the output. */
  def all(contents: Array[RelationContent], order: JoinOrderData, select: Array[Int], limit: () => RunLimit): LongTable = {
    val out = new LongTable(math.max(1, select.length), 64)
    driver = -1
    decisionNanos = 0
    answers = 0
    if (contents.exists(_.rowCount == 0)) out
    else {
      val main = run(0)
      main.begin(contents, order, out, limit())
      val asked = System.nanoTime()
      driver = choose(main, contents, order)
      decisionNanos = System.nanoTime() - asked
      val (cells, n) = rowsOf(contents(driver))
      main.output(select)
      val began = System.nanoTime()
      val wanted = if (leastNanos == 0) runs.length.toLong else expectedNanos(main, n) / leastNanos
      val total = math.max(1L, math.min(runs.length.toLong, math.min(wanted, n / 2L))).toInt
      took = total
      val rows =
        if (total == 1) {
          main.drive(driver, cells, 0, n)
          main.drain()
          busyNanos = System.nanoTime() - began
          out
        } else parallel(total, contents, order, select, cells, n, limit)
      history.evaluated(main.nodes, driver, pinned = order.steps != null)
      answers = rows.rowCount.toLong
      rows
    }
  }

  private def expectedNanos(main: JoinRun, n: Int): Long =
    if (busyNanos >= 0) busyNanos else (main.nodes.table.value(main.nodes.start(driver)) * n).toLong

  private def parallel(
      total: Int, contents: Array[RelationContent], order: JoinOrderData, select: Array[Int], cells: Array[Long], n: Int,
      limit: () => RunLimit): LongTable = {
    val next = new AtomicInteger
    val morsel = math.max(16, math.min(JoinNodes.Vector, n / (total * MorselsOfThread)))
    val outs = new Array[LongTable](total)
    val (known, number) = (run(0).nodes.explored, run(0).nodes.evaluation) // listed now: that thread finds more nodes as soon as it runs
    val properties = DriverTask.localProperties()
    def task(thread: Int): Long = DriverTask.run(thread, properties) { context =>
      val began = System.nanoTime()
      try {
        val here = run(thread)
        if (thread > 0) {
          outs(thread) = new LongTable(math.max(1, select.length), 64)
          here.begin(contents, order, outs(thread), RunLimit.of(context), number)
          here.output(select)
          here.nodes.learn(known)
        } else outs(0) = here.table
        var from = next.getAndAdd(morsel)
        while (from < n) {
          here.drive(driver, cells, from, math.min(n, from + morsel))
          from = next.getAndAdd(morsel)
        }
        here.drain()
      } catch { case e: Throwable => next.set(n); throw e }
      System.nanoTime() - began
    }
    val others = (1 until total).map(thread => Workers.submit(() => task(thread)))
    var failure: Throwable = null
    var busy = 0L
    try busy = task(0) catch { case e: Throwable => failure = e }
    others.foreach { other => try busy += other.get() catch { case e: java.util.concurrent.ExecutionException => if (failure == null) failure = e.getCause } }
    if (failure != null) throw failure
    busyNanos = busy
    (1 until total).foreach(thread => run(0).nodes.learn(run(thread).nodes.explored)) // it may have had few rows itself
    val out = outs(0)
    outs.drop(1).foreach(o => out.appendAll(o.data, 0, o.rowCount))
    out
  }

  /** The answers of one of `slices` parts of the driving relation, piece by piece: what is held is a piece's answers. `weighed`: each once, its
   *  weight behind its cells.
   */
  def iterator(
      contents: Array[RelationContent], order: JoinOrderData, select: Array[Int], slice: Int, slices: Int, limit: RunLimit, weighed: Boolean = false)
      : Iterator[LongTable] =
    pieces(contents, order, select, limit, weighed) { main =>
      val (cells, n) = rowsOf(contents(driver))
      val until = (n.toLong * (slice + 1) / slices).toInt
      var from = (n.toLong * slice / slices).toInt
      piece => {
        val to = math.min(until, from + piece)
        if (from < to) main.drive(driver, cells, from, to)
        from = to
        from < until
      }
    }

  /** The answers to rows of the driving relation that come in blocks, their weights behind their cells. */
  def arriving(
      contents: Array[RelationContent], order: JoinOrderData, select: Array[Int], blocks: Iterator[Array[Long]], limit: RunLimit, weighed: Boolean)
      : Iterator[LongTable] =
    pieces(contents, order, select, limit, weighed) { main =>
      val stride = spec.relations(driver).variables.length + 1
      var block = Array.emptyLongArray
      var from = 0
      piece => {
        if (from == block.length / stride && blocks.hasNext) { block = blocks.next(); from = 0 }
        val to = math.min(block.length / stride, from + piece)
        if (from < to) main.drive(driver, block, from, to, weights = true)
        from = to
        from < block.length / stride || blocks.hasNext
      }
    }

  /** The answers of an evaluation that `begin` makes ready; what it gives takes in about so many rows and tells whether there are more. */
  private def pieces(contents: Array[RelationContent], order: JoinOrderData, select: Array[Int], limit: RunLimit, weighed: Boolean)(
      begin: JoinRun => (Int => Boolean)): Iterator[LongTable] = {
    answers = 0
    driver = -1
    if (contents.exists(_.rowCount == 0)) Iterator.empty
    else {
      val width = select.length + (if (weighed) 1 else 0)
      val out = new LongTable(math.max(1, width), 64)
      took = 1
      val main = run(0)
      main.begin(contents, order, out, limit)
      main.output(select, weighed)
      val asked = System.nanoTime()
      driver = choose(main, contents, order)
      decisionNanos = System.nanoTime() - asked
      busyNanos = 0
      val drive = begin(main)
      var piece = FirstPiece
      var more = true
      new Iterator[LongTable] {
        override def hasNext: Boolean = {
          while (out.rowCount == 0 && more) {
            val began = System.nanoTime()
            more = drive(piece)
            main.drain()
            busyNanos += System.nanoTime() - began
            piece = if (out.rowCount > MostHeld) math.max(1, piece / 4) else if (out.rowCount < MostHeld / 8) math.min(piece * 4, 1 << 20) else piece
            if (!more) history.evaluated(main.nodes, driver, pinned = order.steps != null)
          }
          out.rowCount > 0
        }
        override def next(): LongTable = {
          if (!hasNext) throw new NoSuchElementException
          val held = LongTable.of(out.arity, out.toArray)
          answers += held.rowCount
          out.clear()
          held
        }
      }
    }
  }

  /** The relation to begin with. */
  def driverFor(contents: Array[RelationContent], order: JoinOrderData): Int = {
    val main = run(0)
    main.begin(contents, order, new LongTable(1), null)
    choose(main, contents, order)
  }

  /** Chooses where a job begins, and tells the way that its rows are expected to go. */
  private[cqels] def pathFor(contents: Array[RelationContent], order: JoinOrderData): Seq[JoinStep] = {
    val asked = System.nanoTime()
    driver = driverFor(contents, order)
    val path = JoinHistory.path(run(0).nodes, driver)
    decisionNanos = System.nanoTime() - asked
    path
  }

  /** Takes over what the tasks of that job have met on this way. */
  private[cqels] def learn(path: Seq[JoinStep], met: Seq[StepReport], busy: Long, order: JoinOrderData): Unit = {
    val nodes = run(0).nodes
    busyNanos = busy
    for (step <- path; m <- met.find(_.name == step.name)) {
      val others = step match { case e: Extend => e.parts.length - 1; case _: Check => 1; case _ => 0 }
      step.note(m.rowsIn, m.rowsOut, m.reads, math.max(m.reads, m.rowsIn) * others)
    }
    nodes.table.update()
    history.evaluated(nodes, driver, pinned = order.steps != null)
  }

  private def choose(main: JoinRun, contents: Array[RelationContent], order: JoinOrderData): Int =
    beginning.choose(main, contents, order, busyNanos * ProbeShare)

  /** What was done in the last evaluation, in the order in which steps follow each other. */
  def report: Seq[StepReport] = {
    val found = mutable.LinkedHashMap[String, StepReport]()
    for (run <- runs.take(took) if run != null && driver >= 0; node <- run.nodes.all.sortBy(n => -(java.lang.Long.bitCount(n.remaining) + java.lang.Long.bitCount(n.items)));
         step <- node.steps ++ node.late if step.ranNow && step.rowsInNow > 0) {
      val before = found.getOrElse(step.name, StepReport(step.name, 0, 0, 0, 0, 0.0))
      found(step.name) = StepReport(step.name, before.rowsIn + step.rowsInNow, before.rowsOut + step.rowsOutNow,
        before.reads + step.readsNow, before.nanos + step.nanos, before.estimatedOut + step.fanOut * step.rowsInNow)
    }
    found.values.toSeq
  }
}

private[cqels] object JoinRunner {
  final val MorselsOfThread = 16
  final val MostWarmed = 256
  final val LargeRelation = 2000000L
  final val FirstPiece = 1024
  /** Rows of answers that are held at a time where they are read one by one. */
  final val MostHeld = 1 << 18
  /** Samples take this share of an evaluation, or some tens of microseconds where evaluations are short. */
  final val ProbeShare = 0.01

  /** The rows of a relation, as often as they count, cells side by side, and how many they are. */
  def rowsOf(content: RelationContent): (Array[Long], Int) = content match {
    case held: TableContent if held.counts == null => (held.table.data, held.table.rowCount)
    case other =>
      val rows = new LongTable(other.arity, math.max(1L, math.min(other.rowCount, 1L << 20)).toInt)
      other.append(0, 1, rows, Int.MaxValue)
      (rows.data, rows.rowCount)
  }
}
