package org.apache.spark.sql.cqels

import java.nio.file.Paths
import java.util.{List => JList}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.types.LongType

/** The one object that Python calls: streams, windows, relations and prepared queries of one engine.
 *
 *  Calls that move windows or evaluate must not overlap; the Python engine holds one lock around them.
 */
final class EngineRoom(session: SparkSession, val dictionary: Dictionary, scratchFolder: String, threads: Int) {
  val number: Long = EngineRoom.numbers.incrementAndGet()
  /** The least work for which another thread of the driver is woken; 0 divides all work, for tests. */
  @volatile var sliceNanos: Long = SlicedExecution.LeastNanos
  private val scratch = Paths.get(scratchFolder)
  private val streams = new ConcurrentHashMap[String, StreamLog]()
  TermValues.register(number, dictionary)

  def close(): Unit = TermValues.unregister(number)

  def stream(iri: String): StreamLog = streams.computeIfAbsent(iri, new StreamLog(_, dictionary))

  /** The rows that a triple pattern finds in a window.
   *
   *  Lists of numbers come as text, "0,17,0": py4j would make one call an element. `constants`: ids of subject, predicate,
   *  object, 0 for a variable; `columns`: positions (s p o g = 0..3) of the columns; `equal`: positions that must hold the
   *  same term, pairwise.
   */
  def windowPattern(window: StreamWindow, name: String, constants: String, columns: String, equal: String): WindowContent =
    window.pattern(spec(constants, columns, equal), name)

  def dropWindowPattern(window: StreamWindow, constants: String, columns: String, equal: String): Unit =
    window.dropPattern(spec(constants, columns, equal))

  private def spec(constants: String, columns: String, equal: String): QuadPattern = {
    val ids = Numbers.list(constants)
    val pairs = Numbers.list(equal).grouped(2).map(p => (p(0).toInt, p(1).toInt)).toSeq
    QuadPattern(ids(0), ids(1), ids(2), Numbers.list(columns).map(_.toInt).toSeq, pairs)
  }

  /** A static relation from a DataFrame of id columns, the last one its multiplicity when `counted`. */
  def staticContent(name: String, data: Dataset[Row], counted: Boolean): StaticContent = {
    val width = data.schema.size
    require(data.schema.forall(_.dataType == LongType), s"$name must hold ids only: ${data.schema.simpleString}")
    val arity = if (counted) width - 1 else width
    val parts = session.withActive(data.queryExecution.toRdd.mapPartitions { rows =>
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
      Iterator.single(table.toArray)
    }.collect())
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
    new StaticContent(name, table, if (counted && counts.forall(_ == 1)) null else counts)
  }

  /** A static relation of few rows given by value: constants of a query travel as data, never as literals. */
  def smallContent(name: String, arity: Int, cells: String): StaticContent =
    new StaticContent(name, LongTable.of(arity, Numbers.list(cells)), null)

  def stageContent(name: String, arity: Int): StageContent = new StageContent(name, arity)

  /** The relation as a DataFrame with these column names. */
  def frame(content: RelationContent, columns: JList[String], estimatedRows: Long): Dataset[Row] =
    Dataset.ofRows(session, IdRelationLeaf.named(content, columns.asScala.toSeq, estimatedRows))

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

  def prepare(data: Dataset[Row], label: String): PreparedPlan = PreparedPlan(data, label, threads, sliceNanos)

  def stock(data: Dataset[Row], label: String): StockPlan = new StockPlan(data, label)

  /** Rows (i * factor + offset modulo `modulus`, i) for i below `rows`. */
  def numbered(name: String, rows: Int, factor: Long, offset: Long, modulus: Long): StageContent = {
    val table = new LongTable(2, rows)
    var i = 0
    while (i < rows) {
      val at = table.appendRow()
      table.set(at, (i * factor + offset) % modulus)
      table.set(at + 1, i)
      i += 1
    }
    val content = stageContent(name, 2)
    content.replace(table)
    content
  }

  def statistics(sampleRows: Int, exactValues: Int, drift: Double): ClusterStatistics =
    new ClusterStatistics(sampleRows, exactValues, drift)

  def plans(main: ExecutablePlan): QueryPlans = new QueryPlans(main)

  /** CONSTRUCT's template, see Template for the notation. */
  def template(pattern: String): AnswerForm = new Template(dictionary, pattern)

  /** DESCRIBE over a relation (s, p, o); `resources` are ids, "1,2". */
  def description(triples: RelationContent, resources: String): AnswerForm = new Description(triples, resources)

  def query(name: String, plans: QueryPlans, columns: JList[String], visible: Int, operator: String): ContinuousQuery =
    new ContinuousQuery(name, dictionary, number, plans, columns.asScala.toSeq, visible, operator, scratch)
}

object EngineRoom {
  private val numbers = new AtomicLong()

  def apply(session: SparkSession, dictionary: Dictionary, scratchFolder: String, threads: Int): EngineRoom =
    new EngineRoom(session, dictionary, scratchFolder, threads)
}
