package org.apache.spark.sql.cqels
package loading

import java.util.{List => JList, TreeSet => JTreeSet}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.cqels.dictionary.{CompactDictionary, Dictionary}
import org.apache.spark.sql.cqels.rdf.{CanonicalLines, IdCollision, LoadProblem}
import org.apache.spark.sql.cqels.terms.{TermBlock, TermHasher}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.storage.StorageLevel

/** What the driver needs to know of one block before it fetches anything; of what was left out, how many statements. */
private[cqels] final case class BlockSummary(
    partition: Int, index: Int, statements: Int, terms: Int, bytes: Long,
    counts: Array[((Long, Long), Long)], problem: LoadProblem, skipped: Int, skippedBytes: Long, part: TextPart)

/** One file as the tasks see it: where it is, how its blank nodes are scoped, whether it may name graphs, and whether
 *  its quoted triples are RDF 1.2's.
 */
final case class LoadFile(path: String, blankScope: String, allowGraph: Boolean, rdf12: Boolean) {
  def hadoopPath: Path = new Path(path)
}

/** Encodes RDF files in parallel.
 *
 *  Tasks give ids by hashing and know nothing of the driver's dictionary but its exceptions. Each text is read once:
 *  the encoded blocks are persisted; the driver fetches their terms and builds one dictionary layer, which is where a
 *  collision shows. Then the texts concerned get their ids from the dictionary, and the files are encoded again.
 */
object StaticLoader {
  private final val MostExpected = 1L << 28
  private[loading] final val SkippedBytes = 64L << 20

  /** Encodes N-Triples and N-Quads files (`lineFiles`: positions in `files`) and lines already made of other formats.
   *
   *  `parsed` (null: none) has the columns file INT, line STRING, error_line INT, error_column INT, error STRING, fatal
   *  BOOLEAN: an error that is not fatal is about something that was left out. `onError` is `fail`, `skip` or `accept`.
   *  `graph` is the canonical text of the graph for triples that name none, null for the default graph.
   *  Packed files may unpack to `mostExpansion` times their size.
   *  `resume` (null: none) says where encoded blocks are kept, for a load that goes on after a kill.
   *  Returns with the new terms in `dictionary`, or with a problem and nothing changed.
   */
  def load(spark: SparkSession, dictionary: Dictionary, paths: JList[String], scopes: JList[String],
      allowGraph: JList[java.lang.Boolean], rdf12: JList[java.lang.Boolean], lineFiles: JList[Integer], parsed: DataFrame,
      graph: String, onError: String, mostExpansion: Double, resume: ResumeFolder): StaticLoad = {
    val files = paths.asScala.indices.map(i => LoadFile(paths.get(i), scopes.get(i), allowGraph.get(i), rdf12.get(i))).toArray
    val lines = lineFiles.asScala.map(_.intValue).toArray
    TextFiles.withoutMagic(spark, files, lines).foreach(p => return new StaticLoad(spark, null, null, Array.empty, p, null))
    val resumption = if (resume == null) null else new Resumption(spark, resume, files, graph, onError)
    repeated(dictionary) { colliding =>
      round(spark, dictionary, encode(spark, files, lines, parsed, graph, dictionary.hasher(), onError, mostExpansion, resumption), colliding)
    }
  }

  /** Encodes a few small files in this thread, without a Spark job: `texts` are the lines of each, `\n` between them.
   *
   *  As `load` otherwise.
   */
  def loadHere(spark: SparkSession, dictionary: Dictionary, texts: JList[String], scopes: JList[String],
      allowGraph: JList[java.lang.Boolean], rdf12: JList[java.lang.Boolean], graph: String, onError: String): StaticLoad = {
    val files = texts.asScala.indices.map(i => LoadFile(null, scopes.get(i), allowGraph.get(i), rdf12.get(i))).toArray
    repeated(dictionary) { colliding =>
      val lines = texts.asScala.iterator.zipWithIndex.flatMap { case (text, file) =>
        CanonicalLines.EndOfLine.split(text, -1).iterator.map(line => Right(TextLine(file, -1L, line)))
      }
      val blocks = new BlockEncoder(files, graph, dictionary.hasher(), onError).blocks(lines).toArray
      roundHere(spark, dictionary, blocks, colliding)
    }
  }

  private def repeated(dictionary: Dictionary)(attempt: JTreeSet[String] => StaticLoad): StaticLoad = {
    val held = new mutable.ArrayBuffer[Long]
    try {
      var load: StaticLoad = null
      while (load == null) {
        val colliding = new JTreeSet[String]
        load = attempt(colliding)
        // In the order of their texts, so that the same files get the same ids wherever they are loaded first.
        colliding.forEach(text => held += dictionary.encodeRetained(text))
      }
      load
    } finally dictionary.release(held.toArray, held.length)
  }

  /** Puts the new terms of blocks that tasks encode into the dictionary, or says what is wrong with them; null where some have one id:
   *  these are put into `colliding`.
   */
  private[cqels] def round(spark: SparkSession, dictionary: Dictionary, encoded: RDD[EncodedBlock], colliding: JTreeSet[String]): StaticLoad = {
    encoded match {
      case _: ResumableBlocks => // They are on disk already.
      case _ => encoded.persist(StorageLevel.DISK_ONLY)
    }
    var kept = false
    try {
      val summaries = summarise(encoded)
      encoded match {
        case blocks: ResumableBlocks => blocks.areThere()
        case _ =>
      }
      val problem = firstProblem(summaries)
      if (problem != null) new StaticLoad(spark, null, null, summaries, problem, null)
      else {
        val terms = TermRanges.fetched(spark.sparkContext, encoded, summaries, dictionary.hasher())
        val added = addTerms(terms.blocks, terms.expected, dictionary, colliding)
        kept = colliding.isEmpty
        if (kept) new StaticLoad(spark, encoded, null, summaries, null, added) else null
      }
    } finally if (!kept) encoded.unpersist(blocking = false)
  }

  /** The same of blocks of this process. */
  private[cqels] def roundHere(spark: SparkSession, dictionary: Dictionary, blocks: Array[EncodedBlock], colliding: JTreeSet[String]): StaticLoad = {
    val summaries = blocks.zipWithIndex.map { case (block, i) => summary(0, i, block) }
    val problem = firstProblem(summaries)
    if (problem != null) return new StaticLoad(spark, null, blocks, summaries, problem, null)
    val noted = summaries.map(_.terms.toLong).sum
    val added = addTerms(blocks.iterator.map(_.terms), TermRanges.distinctOf(noted), dictionary, colliding)
    if (colliding.isEmpty) new StaticLoad(spark, null, blocks, summaries, null, added) else null
  }

  private def firstProblem(summaries: Array[BlockSummary]): LoadProblem = {
    val problems = summaries.flatMap(s => Option(s.problem))
    if (problems.isEmpty) null else inFile(summaries)(problems.minBy(p => (p.file, p.position, p.line)))
  }

  // ---- tasks --------------------------------------------------------------------------------------

  private def encode(spark: SparkSession, files: Array[LoadFile], lineFiles: Array[Int], parsed: DataFrame,
      graph: String, hasher: TermHasher, onError: String, mostExpansion: Double, resumption: Resumption): RDD[EncodedBlock] = {
    val sources = new mutable.ArrayBuffer[RDD[EncodedBlock]]
    val keys = new mutable.ArrayBuffer[String]
    if (lineFiles.nonEmpty) {
      val text = TextFiles.encode(spark, files, lineFiles, graph, hasher, onError, mostExpansion, resumption != null)
      sources += text
      if (resumption != null) keys ++= text.parts.map { case (file, part) => resumption.keyOf(Seq(file), part) }
    }
    if (parsed != null) {
      val rows = parsed.select("file", "line", "error_line", "error_column", "error", "fatal")
        .asInstanceOf[Dataset[_]].queryExecution.toRdd
      sources += rows.mapPartitions { rows =>
        val encoder = new BlockEncoder(files, graph, hasher, onError)
        encoder.blocks(rows.map { row =>
          if (row.isNullAt(4)) Right(TextLine(row.getInt(0), -1L, row.getUTF8String(1).toString))
          else {
            def number(i: Int): Int = if (row.isNullAt(i)) 0 else row.getInt(i)
            val problem = LoadProblem(row.getInt(0), -1L, number(2), number(3), row.getUTF8String(4).toString, null)
            Left((problem, row.getBoolean(5)))
          }
        })
      }
      if (resumption != null) {
        val others = files.indices.filterNot(lineFiles.contains)
        val count = sources.last.partitions.length
        keys ++= Iterator.range(0, count).map(i => resumption.keyOf(others, s"$i of $count"))
      }
    }
    val encoded = spark.sparkContext.union(sources.toSeq)
    if (resumption == null) encoded else resumption.kept(encoded, keys.toArray, hasher)
  }

  // ---- driver -------------------------------------------------------------------------------------

  private def summarise(encoded: RDD[EncodedBlock]): Array[BlockSummary] =
    encoded.mapPartitionsWithIndex { (partition, blocks) =>
      blocks.zipWithIndex.map { case (block, index) => summary(partition, index, block) }
    }.collect()

  private def summary(partition: Int, index: Int, block: EncodedBlock): BlockSummary = {
    val counts = new mutable.HashMap[(Long, Long), Long]
    var i = 0
    while (i < block.quads.size) {
      val key = (block.quads.graph(i), block.quads.predicate(i))
      val from = i
      while (i < block.quads.size && block.quads.predicate(i) == key._2 && block.quads.graph(i) == key._1) i += 1
      counts(key) = counts.getOrElse(key, 0L) + (i - from)
    }
    BlockSummary(partition, index, block.quads.size, block.terms.count, block.terms.estimatedBytes,
      counts.toArray, block.problem, block.skipped.length, block.skipped.iterator.map(sizeOf).sum, block.part)
  }

  private def sizeOf(problem: LoadProblem): Long = 100L + problem.message.length + (if (problem.text == null) 0 else problem.text.length)

  /** What was left out of the blocks of a partition that are wanted, as (partition, index); those after the last one are not read. */
  private[loading] def skippedOf(wanted: Set[(Int, Int)]): (TaskContext, Iterator[EncodedBlock]) => Array[LoadProblem] = (task, blocks) => {
    val here = wanted.collect { case (partition, index) if partition == task.partitionId() => index }
    blocks.zipWithIndex.take(here.max + 1).collect { case (block, index) if here(index) => block.skipped }.toArray.flatten
  }

  /** Gives a problem its line in the file: the lines of the parts before it come first. */
  private[cqels] def inFile(summaries: Array[BlockSummary]): LoadProblem => LoadProblem = {
    val linesBefore = mutable.HashMap[(Int, Long), Long]()
    for ((file, blocks) <- summaries.filter(s => s.part.position >= 0).groupBy(_.part.file)) {
      var lines = 0L
      for ((position, here) <- blocks.groupBy(_.part.position).toSeq.sortBy(_._1)) {
        linesBefore((file, position)) = lines
        lines += here.map(_.part.lines).sum
      }
    }
    problem =>
      if (problem.line == 0) problem
      else problem.copy(line = (problem.line + linesBefore.getOrElse((problem.file, problem.position), 0L)).toInt)
  }

  /** Puts all terms into the dictionary, unless some collide: these are put into `colliding`.
   *
   *  They are about so many as `expected`: terms in the order of a layer's slots need a layer that is not too small.
   */
  private def addTerms(blocks: Iterator[TermBlock], expected: Long, dictionary: Dictionary,
      colliding: JTreeSet[String]): CompactDictionary = {
    val layers = dictionary.staticLayers
    val builder = new CompactDictionary.Builder(math.min(expected, MostExpected).toInt, dictionary.hasher())
    def collide(collision: IdCollision): Unit = {
      colliding.add(collision.knownText)
      colliding.add(collision.addedText)
    }
    for (block <- blocks) {
      var i = 0
      while (i < block.count) {
        val id = block.ids(i)
        val utf8 = block.utf8(i)
        // A quoted triple needs its parts in its own layer, so it is kept again.
        if (id < 0 || !layers.exists(layer => { val slot = layer.find(id); slot >= 0 && layer.hasText(slot, utf8) }))
          try builder.add(id, utf8)
          catch { case e: IdCollision => collide(e) }
        i += 1
      }
    }
    if (!colliding.isEmpty) null
    else {
      val layer = builder.build()
      try dictionary.addStatic(layer)
      catch { case e: IdCollision => collide(e) }
      layer
    }
  }
}

/** Files that are encoded and whose terms are in the dictionary, not yet stored; or the problem that ended the load.
 *
 *  The encoded blocks are with Spark (`encoded`) or, of small files, here (`blocks`); the other is null.
 */
final class StaticLoad private[cqels] (spark: SparkSession, encoded: RDD[EncodedBlock], blocks: Array[EncodedBlock],
    summaries: Array[BlockSummary], val problem: LoadProblem, layer: CompactDictionary) {

  private val counts = new mutable.HashMap[(Long, Long), Long]
  for (summary <- summaries; (key, n) <- summary.counts) counts(key) = counts.getOrElse(key, 0L) + n

  /** How many terms the load brought. */
  val termCount: Int = if (layer == null) 0 else layer.size

  /** The blocks that something was left out of, in the order of the files, in groups that the driver takes at once. */
  private lazy val flawed: Array[Array[BlockSummary]] = {
    val groups = new mutable.ArrayBuffer[mutable.ArrayBuffer[BlockSummary]]
    val allowed = spark.sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")
    val most = if (allowed <= 0) StaticLoader.SkippedBytes else math.min(StaticLoader.SkippedBytes, allowed / 3)
    var bytes = 0L
    for (one <- summaries.filter(_.skipped > 0).sortBy(s => (s.part.file, s.part.position, s.partition, s.index))) {
      if (groups.isEmpty || bytes + one.skippedBytes > most) { groups += new mutable.ArrayBuffer[BlockSummary]; bytes = 0 }
      groups.last += one
      bytes += one.skippedBytes
    }
    groups.map(_.toArray).toArray
  }

  /** In how many groups the statements come that were left out. */
  def skippedGroups: Int = flawed.length

  /** What was wrong with those of one group; all groups after each other are in the order of the files. */
  def skipped(group: Int): Array[LoadProblem] = {
    val wanted = flawed(group).map(s => (s.partition, s.index)).toSet
    val found =
      if (blocks != null) flawed(group).flatMap(s => blocks(s.index).skipped)
      else {
        val of = StaticLoader.skippedOf(wanted)
        spark.sparkContext.runJob(encoded, of, wanted.map(_._1).toSeq.sorted).flatten
      }
    found.map(StaticLoader.inFile(summaries)).sortBy(p => (p.file, p.line))
  }

  /** Parts that an earlier, broken load had encoded. */
  def resumedParts: Long = encoded match {
    case blocks: ResumableBlocks => blocks.foundParts
    case _ => 0L
  }

  def statements: Long = summaries.map(_.statements.toLong).sum

  /** Whether the quads are in this process. */
  def isHere: Boolean = blocks != null

  /** Graph and predicate of all quads, "g,p,g,p". */
  def pairs: String = counts.keys.toArray.sorted.map { case (g, p) => s"$g,$p" }.mkString(",")

  /** The distinct quads of small files, merged with `existing` tables of the same pairs. */
  def tables(existing: JList[MemoryTable]): Array[MemoryTable] = MemoryTables.of(blocks.map(_.quads), existing.asScala)

  /** Stores the distinct quads, merged with `existing` ones (s, p, o, g; null: none) of the same pairs, which have so many `rows`; see
   *  QuadTables.
   */
  def write(folder: String, existing: DataFrame, rows: Array[Byte]): Array[Array[Long]] = {
    val fresh = if (encoded != null) encoded.map(_.quads) else spark.sparkContext.parallelize(blocks.map(_.quads).toSeq)
    if (existing == null) QuadTables.write(spark, fresh, counts, folder)
    else {
      val all = counts.clone()
      for ((key, n) <- QuadTables.countsOf(rows)) all(key) = all.getOrElse(key, 0L) + n
      QuadTables.write(spark, fresh.union(QuadTables.blocks(existing)), all, folder)
    }
  }

  /** Lets go of the encoded blocks. */
  def close(): Unit = if (encoded != null) encoded.unpersist(blocking = false)
}
