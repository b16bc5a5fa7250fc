package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable

import org.apache.spark.sql.cqels.join.{JoinOrderData, JoinRunner, JoinSpec, JoinStep, JoinedRelation}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{RelationContent, StaticContent}
import org.apache.spark.sql.cqels.runs.RunLimit

/** A part of a join that needs no rows from elsewhere once those that it begins with are there.
 *
 *  Its first relation is the one whose rows are read: a relation of the join, or what the stage before has joined (of `sources`, -1).
 *  `columns` tells of each relation the column by whose values it is in parts, -1 where all of it is here; rows of the stage before come
 *  by the values of variable `by`, or (-1) each to all parts. Which relations a stage joins is fixed, their order is not.
 */
private[clusters] final class JoinStage(
    val spec: JoinSpec, val sources: Array[Int], val columns: Array[Int], val by: Int, val order: JoinOrderData, val isLast: Boolean)
    extends Serializable {
  /** Whether it goes on with what another one has joined. */
  def continues: Boolean = sources(0) < 0
  def isParted: Boolean = continues || columns.exists(_ >= 0)
  private def everything: Array[Int] = Array.range(0, spec.output.length)

  /** What the first stage finds in one of `slices` parts of its first relation; rows have their weight behind them unless it is the last. */
  def begin(runner: JoinRunner, contents: Array[RelationContent], slice: Int, slices: Int, limit: RunLimit): Iterator[LongTable] =
    if (columns(0) >= 0) runner.iterator(contents, order, everything, 0, 1, limit, weighed = !isLast)
    else runner.iterator(contents, order, everything, slice, slices, limit, weighed = !isLast)

  /** What another stage finds for rows that come in blocks; the first of `contents` is not read. */
  def goOn(runner: JoinRunner, contents: Array[RelationContent], blocks: Iterator[Array[Long]], limit: RunLimit): Iterator[LongTable] =
    if (!blocks.hasNext) Iterator.empty
    else {
      val first = blocks.next()
      contents(0) = StaticContent(JoinStages.Arrived, JoinStages.withoutWeights(first, spec.relations(0).variables.length), null, lasting = false)
      runner.arriving(contents, order, everything, Iterator.single(first) ++ blocks, limit, weighed = !isLast)
    }

  /** The blocks that go to each part for the next stage, which wants rows by the values of a variable. */
  def send(tables: Iterator[LongTable], next: JoinStage, parts: Int): Iterator[(Int, Array[Long])] =
    new SentRows(tables, if (next.by < 0) -1 else spec.output.indexOf(next.by), parts)

  /** What bringing its rows together is called. */
  def exchangeName: String =
    s"exchange ${if (by < 0) "to all parts" else s"by ?${spec.names(by)}"} of ${spec.relations.indices.filter(columns(_) >= 0).map(spec.relations(_).name).mkString(" and ")}"
}

/** Rows as blocks for the parts to which they go: by the values of a column, or (-1) all of them to each. */
private final class SentRows(tables: Iterator[LongTable], column: Int, parts: Int) extends Iterator[(Int, Array[Long])] {
  private val held = new Array[LongTable](parts)
  private val ready = mutable.Queue[(Int, Array[Long])]()

  override def hasNext: Boolean = {
    while (ready.isEmpty && tables.hasNext) take(tables.next())
    if (ready.isEmpty) for (p <- 0 until parts if held(p) != null && held(p).rowCount > 0) give(p)
    ready.nonEmpty
  }
  override def next(): (Int, Array[Long]) = { if (!hasNext) throw new NoSuchElementException; ready.dequeue() }

  private def take(rows: LongTable): Unit =
    if (column < 0) { val block = rows.toArray; for (p <- 0 until parts) ready += p -> block }
    else {
      var r = 0
      while (r < rows.rowCount) {
        val p = RelationParts.partOf(rows(r, column), parts)
        if (held(p) == null) held(p) = new LongTable(rows.arity, 64)
        held(p).appendAll(rows.data, r, 1)
        if (held(p).rowCount == JoinStages.BlockRows) give(p)
        r += 1
      }
    }

  private def give(p: Int): Unit = { ready += p -> held(p).toArray; held(p).clear() }
}

private[clusters] object JoinStages {
  /** What rows that come from another stage are called. */
  final val Arrived = "rows so far"
  final val BlockRows = 4096

  def withoutWeights(block: Array[Long], width: Int): LongTable = {
    val rows = new LongTable(width, math.max(1, block.length / (width + 1)))
    var at = 0
    while (at < block.length) { System.arraycopy(block, at, rows.data, rows.appendRow(), width); at += width + 1 }
    rows
  }

  /** All of a join as one stage, which begins with a relation. */
  def whole(spec: JoinSpec, order: JoinOrderData, driver: Int): Array[JoinStage] = {
    val sources = driver +: spec.relations.indices.filter(_ != driver).toArray
    Array(stage(spec, order, sources, None, sources.map(_ => -1), -1, spec.items.indices, spec.output, isLast = true))
  }

  /** A join as stages, each of which but the first begins where a relation is met, on the way that `path` goes, that lies in parts by another
   *  variable than the rows do: there they are brought together. Filters and BINDs are in the stage in which the path has them.
   *
   *  `columnFor` picks one of several columns by which a relation could lie in parts.
   */
  def of(spec: JoinSpec, order: JoinOrderData, driver: Int, path: Seq[JoinStep], isLarge: Int => Boolean, columnFor: (Int, Seq[Int]) => Int)
      : Array[JoinStage] = {
    val made = mutable.ArrayBuffer(new Draft(-1))
    var partedBy = -1 // the variable by whose values rows lie now
    def variable(r: Int, column: Int): Int = spec.relations(r).variables(column)
    def add(r: Int, column: Int): Unit = { made.last.relations += r; made.last.columns += column }

    if (isLarge(driver)) {
      // Where the first relation that it meets lies in parts, too, both may lie by the same variable.
      val columns = spec.relations(driver).variables.indices
      val met = path.iterator.map(_.relations).find(set => JoinSpec.places(set).exists(isLarge)).getOrElse(0L)
      val shared = JoinSpec.places(met).filter(isLarge).foldLeft(0L)(_ | spec.relations(_).bits)
      val wanted = columns.filter(c => (shared & 1L << variable(driver, c)) != 0)
      val column = columnFor(driver, if (wanted.nonEmpty) wanted else columns)
      add(driver, column)
      partedBy = variable(driver, column)
    } else add(driver, -1)
    for (step <- path) {
      if (step.item >= 0) made.last.items += step.item
      else {
        var bound = step.from.bound
        val (large, others) = JoinSpec.places(step.relations).toSeq.partition(isLarge)
        // What lies as the rows do needs no exchange.
        val (here, elsewhere) = large.partition(r => partedBy >= 0 && (spec.relations(r).bits & bound & 1L << partedBy) != 0)
        for (r <- here ++ elsewhere) {
          val columns = spec.relations(r).variables.indices
          val known = columns.filter(c => (bound & 1L << variable(r, c)) != 0)
          known.find(variable(r, _) == partedBy) match {
            case Some(column) => add(r, column)
            case None =>
              val column = columnFor(r, if (known.nonEmpty) known else columns)
              made += new Draft(if (known.nonEmpty) variable(r, column) else -1)
              partedBy = variable(r, column)
              add(r, column)
          }
          bound |= spec.relations(r).bits
        }
        others.foreach(add(_, -1))
      }
    }
    finished(spec, order, made.toSeq)
  }

  /** A stage that is not complete yet; `by`: what its rows are brought together by. */
  private final class Draft(val by: Int) {
    val relations, columns, items = mutable.ArrayBuffer[Int]()
    def reads(spec: JoinSpec): Long =
      relations.foldLeft(0L)(_ | spec.relations(_).bits) | items.foldLeft(0L)(_ | spec.items(_).reads)
    def binds(spec: JoinSpec): Long =
      relations.foldLeft(0L)(_ | spec.relations(_).bits) | JoinSpec.bits(items.map(spec.items(_).binds).filter(_ >= 0))
  }

  private def finished(spec: JoinSpec, order: JoinOrderData, drafts: Seq[Draft]): Array[JoinStage] = {
    var bound = 0L
    var came: Option[Array[Int]] = None
    drafts.zipWithIndex.map { case (draft, n) =>
      bound |= draft.binds(spec)
      val isLast = n == drafts.length - 1
      val output = if (isLast) spec.output else JoinSpec.places(bound & drafts.drop(n + 1).foldLeft(spec.outputBits)(_ | _.reads(spec)))
      val (sources, columns) = if (came.isEmpty) (draft.relations, draft.columns) else (-1 +: draft.relations, -1 +: draft.columns)
      val made = stage(spec, order, sources.toArray, came, columns.toArray, draft.by, draft.items.toSeq, output, isLast)
      came = Some(output)
      made
    }.toArray
  }

  private def stage(
      spec: JoinSpec, order: JoinOrderData, sources: Array[Int], came: Option[Array[Int]], columns: Array[Int], by: Int, items: Seq[Int],
      output: Array[Int], isLast: Boolean): JoinStage = {
    val relations = sources.map(s => if (s < 0) new JoinedRelation(Arrived, came.get) else spec.relations(s))
    val made = new JoinSpec(spec.names, relations, items.map(spec.items(_)).toArray, spec.shape, output)
    // What an item waits for, as far as it is not joined before.
    val after = items.map(i => JoinSpec.bits(sources.indices.filter(n => sources(n) >= 0 && (order.after(i) & 1L << sources(n)) != 0))).toArray
    val sequence =
      if (order.sequence == null) null
      else if (isLast && came.isEmpty) order.sequence.map(sources.indexOf(_))
      else sources.indices.toArray // as the path has them
    new JoinStage(made, sources, columns, by, JoinOrderData(0, sequence, order.steps, after), isLast)
  }
}
