package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, CodegenObjectFactoryMode, Expression}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.join.{JoinItem, JoinNode, JoinNodes, JoinOrderData, JoinRunner, JoinSpec, JoinStep, JoinedRelation}
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{HashedRows, RelationContent, StageContent, StaticContent, WindowContent, WindowTable}
import org.apache.spark.sql.cqels.runs.RunLimit
import org.apache.spark.sql.cqels.spark.DriverTask
import org.apache.spark.sql.cqels.streams.MergedContent
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.LongType

/** A door for tests: many joins told as text and run without plans, their answers as text.
 *
 *  A line is a command and its fields, "|" between them, numbers of a list with commas between:
 *  `join|threads|names`, which begins another join; `content|kind|arity|cells|counts` and `relation|content|variables`, which
 *  are numbered as they come; `filter|expensive|condition`, `bind|variable|expensive|value`; `output|variables`;
 *  `rows`, `in`, `out` `|content|cells` and `clear|content`, which change what contents hold;
 *  `order|sequence|driver|after`; `warm`; `run`, `slices|number` and `parts|number|most`, each of which gives a line of answers. In
 *  the last, relations of more than `most` rows lie in so many parts.
 */
final class JoinTrial(session: SparkSession) {
  private val answers = new StringBuilder
  private val contents = mutable.ArrayBuffer[RelationContent]()
  private val sources = mutable.ArrayBuffer[Int]()
  private val relations = mutable.ArrayBuffer[JoinedRelation]()
  private val items = mutable.ArrayBuffer[JoinItem]()
  private var shape: Array[AttributeReference] = _
  private var threads = 1
  private var order: JoinOrderData = _
  private var spec: JoinSpec = _
  private var runner: JoinRunner = _
  private var broken = "" // what went wrong in a line of this join that gives no answers

  def run(script: String): String = {
    answers.clear()
    val conf = session.sessionState.conf.clone()
    val (mode, interpreted) = (SQLConf.CODEGEN_FACTORY_MODE.key, CodegenObjectFactoryMode.NO_CODEGEN.toString)
    conf.setConfString(mode, interpreted)
    val context = session.sparkContext
    val before = context.getLocalProperty(mode)
    context.setLocalProperty(mode, interpreted)
    try session.withActive(SQLConf.withExistingConf(conf)(script.linesIterator.foreach(line => attempt(line.split("\\|", -1)))))
    finally context.setLocalProperty(mode, before)
    answers.toString
  }

  private def attempt(words: Array[String]): Unit =
    try obey(words) catch { case e: Exception => if (broken.isEmpty) broken = s"${words(0)}: ${e.toString.linesIterator.next()}" }

  private def obey(words: Array[String]): Unit = words(0) match {
    case "join" =>
      Seq(contents, sources, relations, items).foreach(_.clear())
      broken = ""
      threads = words(1).toInt
      shape = words(2).split(",").map(n => AttributeReference(n.stripSuffix("?"), LongType, nullable = n.endsWith("?"))())
    case "content" => contents += made(words(1), words(2).toInt, Numbers.list(words(3)), Numbers.list(words(4)).map(_.toInt))
    case "relation" =>
      sources += words(1).toInt
      relations += new JoinedRelation(s"r${relations.length}", Numbers.list(words(2)).map(_.toInt))
    case "filter" => item(words(2), -1, words(1) == "1")
    case "bind" => item(words(3), words(1).toInt, words(2) == "1")
    case "output" =>
      spec = new JoinSpec(shape.map(_.name).toArray, relations.toArray, items.toArray, shape.toArray, Numbers.list(words(1)).map(_.toInt))
      runner = new JoinRunner(spec, threads, 0L)
      order = JoinOrderData.free(items.length)
    case "rows" =>
      val content = contents(words(1).toInt).asInstanceOf[StageContent]
      content.replace(LongTable.of(content.arity, Numbers.list(words(2))))
    case "in" => JoinTrial.change(table(words(1)), words(2), insert = true)
    case "out" => JoinTrial.change(table(words(1)), words(2), insert = false)
    case "clear" => table(words(1)).clear()
    case "order" =>
      val sequence = Numbers.list(words(1)).map(_.toInt)
      order = JoinOrderData(words(2).toInt, if (sequence.isEmpty) null else sequence, null, Numbers.list(words(3)))
    case "warm" => runner.warm(sources.map(contents(_)).toArray, order)
    case "run" =>
      answer(here())
      if (broken.isEmpty) stale.foreach(words => broken = words)
    case "slices" => answer(sliced(words(1).toInt))
    case "parts" => answer(inParts(words(1).toInt, words(2).toLong))
  }

  private def made(kind: String, arity: Int, cells: Array[Long], counts: Array[Int]): RelationContent = {
    val rows = LongTable.of(arity, cells)
    if (arity == 0) counts.foreach(_ => rows.appendRow())
    lazy val static = StaticContent("static", rows, if (counts.isEmpty) null else counts)
    kind match {
      case "static" | "counted" => static
      case "stage" => val stage = new StageContent("stage", arity); stage.replace(rows); stage
      case "set" => new WindowContent("set", new WindowTable(arity))
      case "bag" => new WindowContent("bag", new WindowTable(arity, bag = true))
      case "merged" => new MergedContent("merged", static, bag = false)
      case "mergedbag" => new MergedContent("merged bag", static, bag = true)
    }
  }

  private def table(content: String): WindowTable = contents(content.toInt) match {
    case window: WindowContent => window.table
    case merged: MergedContent => merged.windowRows.table
  }

  private def item(text: String, binds: Int, expensive: Boolean): Unit = {
    val expression: Expression = CatalystSqlParser.parseExpression(text).transformUp {
      case UnresolvedAttribute(Seq(name)) => shape.find(_.name == name).get
    }
    val reads = JoinSpec.bits(expression.references.map(a => shape.indexWhere(_.exprId == a.exprId)).toSeq)
    items += new JoinItem(s"item ${items.length}", reads, binds, expression, expensive)
  }

  private def here(): Iterator[LongTable] = DriverTask.run(0, DriverTask.localProperties()) { context =>
    Iterator(runner.all(sources.map(contents(_)).toArray, order, spec.output.indices.toArray, () => RunLimit.of(context)))
  }

  /** As the tasks of a job do it. */
  private def sliced(slices: Int): Iterator[LongTable] = {
    val now = sources.map(contents(_)).toArray
    val driver = if (now.exists(_.rowCount == 0)) 0 else new JoinRunner(spec, 1, 0L).driverFor(now, order)
    Iterator.range(0, slices).flatMap(slice =>
      new JoinRunner(spec, 1, 0L).iterator(now, order.copy(driver = driver), spec.output.indices.toArray, slice, slices, null))
  }

  /** An entry of the kept table that is not what a search from scratch finds, in words. */
  private def stale: Option[String] = runner.nodesOfThreads.iterator.flatMap { nodes =>
    nodes.table.update()
    val costs = mutable.Map[JoinNode, Double]()
    def scratch(node: JoinNode): Double = costs.getOrElseUpdate(node, {
      def all(step: JoinStep): Double = step.ownCost + step.fanOut * (if (step.next.isValued || nodes.size <= JoinNodes.MostNodes) scratch(step.next) else JoinNodes.UnknownNanos)
      if (node.isEnd) JoinNodes.OutNanos
      else if (node.steps.isEmpty) all(node.late.minBy(_.fanOut))
      else (node.steps ++ node.late.filter(_.fanOut < JoinNodes.Selective)).map(all).min
    })
    nodes.all.filter(n => n.isValued && math.abs(n.cost - scratch(n)) > 1e-9 * math.abs(n.cost))
      .map(n => s"a kept value is ${n.cost}, from scratch it is ${scratch(n)}: ${n.remaining}, ${n.items}")
  }.nextOption()

  /** As the stages of a job on a cluster do it; rows are handed over here. */
  private def inParts(parts: Int, most: Long): Iterator[LongTable] = {
    val now = sources.map(contents(_)).toArray
    if (now.exists(_.rowCount == 0)) Iterator.empty
    else {
      val chooser = new JoinRunner(spec, 1, 0L)
      val path = chooser.pathFor(now, order)
      val stages = JoinStages.of(spec, order, chooser.lastDriver, path, r => now(r).arity > 0 && now(r).rowCount > most,
        (r, columns) => RelationParts.column(now(r), columns, parts))
      var found: Seq[Iterator[LongTable]] = Nil // by task
      for ((stage, n) <- stages.zipWithIndex) {
        val here = stage.sources.zip(stage.columns).map {
          case (-1, _) => Array.fill[RelationContent](parts)(null)
          case (r, -1) => Array.fill(parts)(now(r))
          case (r, column) => RelationParts.splitHere(now(r), column, parts)
        }
        if (stage.continues) exchanges += 1
        def runner = new JoinRunner(stage.spec, 1, 0L)
        found =
          if (!stage.continues) Seq.tabulate(parts)(p => stage.begin(runner, here.map(_(p)), p, parts, null))
          else {
            val blocks = found.flatMap(stages(n - 1).send(_, stage, parts).toSeq)
            Seq.tabulate(parts)(p => stage.goOn(runner, here.map(_(p)), blocks.iterator.filter(_._1 == p).map(_._2), null))
          }
      }
      found.iterator.flatten
    }
  }

  /** Exchanges of rows in all runs in parts so far. */
  var exchanges = 0

  private def answer(tables: => Iterator[LongTable]): Unit = {
    val length = answers.length
    if (broken.nonEmpty) answers.append("! ").append(broken)
    else try tables.foreach { table =>
      val width = spec.output.length
      for (r <- 0 until table.rowCount) { for (c <- 0 until width) answers.append(table(r, c)).append(','); answers.append(';') }
    } catch { case e: Exception => answers.setLength(length); answers.append("! ").append(e.toString.linesIterator.next()) }
    answers.append('\n')
  }
}

object JoinTrial {
  /** Rows, cells side by side, that come into a window or leave it. */
  def change(table: WindowTable, cells: String, insert: Boolean): Unit = {
    val all = Numbers.list(cells)
    for (row <- if (table.arity == 0) Iterator(all) else all.grouped(table.arity)) if (insert) table.insert(row) else table.delete(row)
  }

  /** What is found of a content by the columns `keys`, for each of some keys, a line each: the other columns of its rows, a ":",
   *  and how often the row counts; last how often all do.
   */
  def find(content: RelationContent, keys: Array[Int], probes: String): String = {
    val parts = content.keyed(keys)
    val lines = new StringBuilder
    for (key <- if (keys.isEmpty) Iterator(Array.emptyLongArray) else Numbers.list(probes).grouped(keys.length)) {
      val columns = key.map(Array(_))
      var total = 0L
      for (rows <- parts; at = rows.find(columns, 0) if at >= 0) {
        for (n <- 0 until rows.length(at)) {
          for (c <- 0 until rows.width) lines.append(rows.cell(at, n, c)).append(',')
          lines.append(':').append(rows.times(at, n)).append(';')
        }
        total += rows.total(at)
      }
      lines.append(total).append('\n')
    }
    lines.toString
  }

  /** How often values count in the lists of keys, each a key and its value: by a set of the list where it is long, compared one by one, and
   *  whether they are there where several are looked for at once.
   */
  def ask(content: RelationContent, keys: Array[Int], probes: String): String = {
    val parts = content.keyed(keys)
    val counts = for (probe <- Numbers.list(probes).grouped(keys.length + 1)) yield {
      var bySet, compared = 0L
      var selected = 0
      val two = Array(probe.last, -1L) // an id that nobody has
      for (rows <- parts; at = rows.find(probe.map(Array(_)), 0) if at >= 0) {
        val set = rows.set(at, HashedRows.AsksASet)
        bySet += (if (set == null) rows.search(at, probe.last) else set.times(probe.last))
        compared += rows.search(at, probe.last)
        selected = math.max(selected, rows.select(at, two, 2, new Array[Long](2)))
      }
      s"$bySet,$compared,$selected"
    }
    counts.mkString(";")
  }
}
