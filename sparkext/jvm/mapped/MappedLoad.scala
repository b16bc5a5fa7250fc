package org.apache.spark.sql.cqels
package mapped

import java.util.{ArrayDeque, TreeSet => JTreeSet}
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, Future}

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.cqels.columns.{ArrowColumns, FrameRows, LongColumn, RowColumns}
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.Handover
import org.apache.spark.sql.cqels.loading.{EncodedBlock, StaticLoad, StaticLoader}
import org.apache.spark.sql.cqels.runs.Workers

/** Rows that a mapping makes static data of: those of DataFrames in tasks, blocks of others on threads of this process.
 *
 *  `blankScope` is the prefix of blank nodes, `graph` the canonical text of the graph of quads that name none, null for the default
 *  graph; `onError` as `StaticLoader.load` has it. One round is `begin`, then for each input `input` and any number of blocks of it,
 *  or a frame, and `end`; where `end` gives null, texts had the same id, and the same rows are to come again. `release` is called last.
 */
final class MappedLoad(spark: SparkSession, dictionary: Dictionary, blankScope: String, graph: String, onError: String) {
  private val held = new mutable.ArrayBuffer[Long]
  private val blocks = new mutable.ArrayBuffer[EncodedBlock]
  private val frames = new mutable.ArrayBuffer[RDD[EncodedBlock]]
  private val running = new ArrayDeque[Future[EncodedBlock]]
  private var programs = new mutable.ArrayBuffer[MappedInput]
  private var load: RowLoad = _

  def begin(): Unit = {
    settle(0)
    blocks.clear()
    frames.clear()
    programs.clear()
    load = RowLoad(blankScope, graph, dictionary.hasher(), onError)
  }

  /** Begins another input, whose rows are counted from 1 again; `program`: see [[MappedProgram]]. */
  def input(program: String): Unit = programs += new MappedInput(programs.length, program, load)

  /** Takes in rows of the input begun last that were handed over as an Arrow stream: the columns that the program reads, where
   *  rows could not be read what is wrong with each ("flaw"), then the number of the row that each belongs to, from 0 in its input.
   */
  def take(handover: Handover, length: Int): Unit = takeRows(ArrowColumns.read(handover, length))

  /** Takes in JSON Lines that were handed over, whose rows are counted from `first`; gives how many rows there were, -1 where they have to
   *  be handed over as columns: Python then says what is wrong.
   */
  def takeJson(handover: Handover, length: Int, first: Long): Int = {
    val rows = programs.last.json.read(handover.read(length), length, first)
    if (rows == null) return -1
    takeRows(rows)
    if (rows.rows == 0) 0 else (rows.columns.last.asInstanceOf[LongColumn].values.last - first + 1).toInt
  }

  /** Whether a row has ended the load. */
  def isEnded: Boolean = blocks.exists(_.problem != null)

  private def takeRows(rows: RowColumns): Unit =
    if (rows.rows > 0) {
      val into = programs.last
      val read = new RowColumns(rows.rows, rows.columns.dropRight(1))
      val elements = rows.columns.last.asInstanceOf[LongColumn].values
      running.add(Workers.submit(() => into.encoded(read, elements)))
      settle(MappedLoad.MostRunning)
    }

  /** Takes in the rows of a DataFrame, whose columns are those that the program of the input begun last reads. */
  def takeFrame(frame: DataFrame): Unit = {
    val (input, program, how) = (programs.length - 1, programs.last.program, load)
    val schema = frame.schema
    frames += frame.asInstanceOf[Dataset[_]].queryExecution.toRdd.mapPartitionsWithIndex { (part, rows) =>
      MappedLoad.encoded(new RowEncoder(input, program, how), part, new FrameRows(rows, schema))
    }
  }

  /** Puts the new terms into the dictionary. */
  def end(): StaticLoad = {
    settle(0)
    val colliding = new JTreeSet[String]
    val done =
      if (frames.isEmpty || blocks.exists(_.problem != null)) StaticLoader.roundHere(spark, dictionary, blocks.toArray, colliding)
      else {
        if (blocks.nonEmpty) frames += spark.sparkContext.parallelize(blocks.toSeq)
        StaticLoader.round(spark, dictionary, spark.sparkContext.union(frames.toSeq), colliding)
      }
    // As in StaticLoader: in the order of their texts.
    colliding.forEach(text => held += dictionary.encodeRetained(text))
    done
  }

  def release(): Unit = {
    settle(0)
    dictionary.release(held.toArray, held.length)
  }

  /** Waits until so many blocks are being encoded at most. */
  private def settle(most: Int): Unit =
    while (running.size > most)
      try blocks += running.poll().get()
      catch { case e: ExecutionException => throw e.getCause }
}

/** A program, and who runs it: each thread has an encoder of its own. */
private[mapped] final class MappedInput(number: Int, val program: String, load: RowLoad) {
  lazy val json: JsonLineRows = MappedProgram.jsonOf(program)
  private val idle = new ConcurrentLinkedQueue[RowEncoder]

  def encoded(rows: RowColumns, elements: Array[Long]): EncodedBlock = {
    val free = idle.poll()
    val encoder = if (free == null) new RowEncoder(number, program, load) else free
    encoder.beginAt(elements(0))
    encoder.add(rows, elements, 0L)
    val block = encoder.takeBlock()
    if (block.problem == null) idle.add(encoder)
    block
  }
}

private[mapped] object MappedLoad {
  val MostRunning: Int = 2 * math.max(1, Runtime.getRuntime.availableProcessors)

  /** The blocks of the rows of one partition, up to the first that ends the load. */
  def encoded(encoder: RowEncoder, part: Int, batches: Iterator[RowColumns]): Iterator[EncodedBlock] = new Iterator[EncodedBlock] {
    private var before = 0L
    encoder.beginAt(part)

    override def hasNext: Boolean = !encoder.isEnded && batches.hasNext

    override def next(): EncodedBlock = {
      while (!encoder.isFull && batches.hasNext) {
        val rows = batches.next()
        encoder.add(rows, null, before)
        before += rows.rows
      }
      encoder.takeBlock()
    }
  }
}
