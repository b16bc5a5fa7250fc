package org.apache.spark.sql.cqels
package recordings

import java.util.PriorityQueue
import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.ingest.{ElementBlock, RecordLayout}

/** The elements of recorded streams, and of other sequences, merged by time, encoded by a thread of their own some blocks ahead of who asks for them.
 *
 *  In order of time, those of one time come in the order of the streams and their files. In order of arrival each stream
 *  keeps its own; an element counts as arriving at the greatest time that its stream has shown until then.
 */
private[cqels] final class MergedRecordings(
    dictionary: Dictionary, sources: Seq[RecordedSource], others: Seq[ReplaySequence], layouts: Array[RecordLayout], options: ReplayOptions,
    distinct: Boolean, floors: Array[Long], lateness: Array[Long]) {
  import MergedRecordings._

  private val streams = layouts.length
  private val flaws = mutable.ArrayBuffer[RecordedFlaw]()
  private val encoder = new ElementEncoder(dictionary, distinct)
  private val judge = new TimeJudge(options, floors, lateness)
  private val sequences = {
    def note(source: RecordedSource, line: Int, graph: String, reason: String): Unit =
      flaws += RecordedFlaw(source.stream, source.name, line, graph, reason)
    val ofStreams = sources.groupBy(_.stream)
    val recorded = for {
      stream <- 0 until streams
      known = mutable.ArrayBuffer[ElementAssembler]()
      files = ofStreams.getOrElse(stream, Nil)
      part <- if (options.inTimeOrder) files.map(Seq(_)) else Seq(files)
    } yield new RecordedSequence(stream, part, options, known, note)
    (recorded ++ others).sortBy(_.stream)
  }
  private val ready = new ArrayBlockingQueue[ReplayBlock](Ahead)
  private val order = new PriorityQueue[Turn](math.max(1, sequences.size))
  @volatile private var wanted = options.first
  @volatile private var stopped = false
  private var newest = Long.MinValue
  private val thread = new Thread(() => run(), "cqels-replay")
  thread.setDaemon(true)
  thread.start()

  /** The next block, of about as many elements as the blocks after it are to have; null after the last one. */
  def next(elements: Int): ReplayBlock = {
    wanted = elements
    var block = ready.poll(1, TimeUnit.SECONDS)
    while (block == null && thread.isAlive) block = ready.poll(1, TimeUnit.SECONDS)
    if (block == null) ready.poll() else block
  }

  /** Ends the reading, if it has not ended, and gives back what it holds. */
  def close(): Unit = {
    stopped = true
    thread.interrupt()
    thread.join()
    var block = ready.poll()
    while (block != null) {
      block.release()
      block = ready.poll()
    }
  }

  private def run(): Unit =
    try {
      begin()
      var over = false
      while (!over && !stopped) {
        val block = collect()
        over = block.isLast
        put(block)
      }
    } catch {
      case _: InterruptedException =>
      case problem: Throwable if NonFatal(problem) || problem.isInstanceOf[OutOfMemoryError] =>
        val block = new ReplayBlock(streams)
        block.problem = problem
        try put(block) catch { case _: InterruptedException => }
    } finally sequences.foreach(_.close())

  private def put(block: ReplayBlock): Unit =
    try ready.put(block)
    catch {
      case e: InterruptedException =>
        block.release()
        throw e
    }

  private def begin(): Unit = {
    for ((sequence, place) <- sequences.zipWithIndex) queue(sequence, place)
    if (options.maxAhead != 0) {
      val times = mutable.ArrayBuilder.make[Long]
      sequences.foreach(_.eachTime(times += _))
      val held = times.result()
      java.util.Arrays.sort(held)
      judge.beginAt(TimeJudge.beginOfMost(held, options.maxAhead))
    }
  }

  /** Has a sequence wait for its turn with the element that comes next. */
  private def queue(sequence: ReplaySequence, place: Int): Unit = {
    val element = sequence.head
    if (element != null) {
      sequence.newest = math.max(sequence.newest, element.time)
      order.add(new Turn(sequence, place, if (options.inTimeOrder) element.time else sequence.newest))
    }
  }

  private def collect(): ReplayBlock = {
    val block = new ReplayBlock(streams)
    try collect(block)
    catch {
      case e: Throwable => // an interruption, too
        block.release()
        throw e
    }
    block
  }

  private def collect(block: ReplayBlock): Unit = {
    val most = wanted
    var elements = 0
    var bytes = 0L
    while (elements < most && bytes < MostBytes && !order.isEmpty && !stopped) {
      val turn = order.poll()
      val element = turn.sequence.poll()
      take(block, turn.sequence.stream, element)
      elements += 1
      bytes += element.bytes
      element.done()
      queue(turn.sequence, turn.place)
    }
    block.setAside ++= flaws
    flaws.clear()
    block.newest = newest
    for (sequence <- sequences) {
      val found = sequence.takeFlaws()
      if (found != null) elementsOf(block, sequence.stream).flaws.addAll(found)
      block.ignored(sequence.stream) += sequence.ignored
      block.position += sequence.position
    }
    block.isLast = order.isEmpty
  }

  private def take(block: ReplayBlock, stream: Int, element: ReplayElement): Unit =
    if (judge.isLate(stream, element.time)) {
      val elements = elementsOf(block, stream)
      val before = elements.size
      encode(element, elements)
      if (elements.size > before) elements.markLate()
    } else if (!judge.isBelieved(element.time)) {
      elementsOf(block, stream)
      block.ahead(stream) += element.time
    } else {
      judge.take(stream, element.time)
      newest = math.max(newest, element.time)
      encode(element, elementsOf(block, stream))
    }

  private def encode(element: ReplayElement, elements: ElementBlock): Unit = element match {
    case recorded: RecordedElement => encoder.add(recorded, elements)
    case other: EncodedByItself => other.addTo(elements)
  }

  private def elementsOf(block: ReplayBlock, stream: Int): ElementBlock = {
    if (block.elements(stream) == null) block.elements(stream) = new ElementBlock(dictionary, layouts(stream))
    block.elements(stream)
  }
}

private object MergedRecordings {
  /** Blocks that wait. */
  final val Ahead = 4
  /** Of texts in a block. */
  final val MostBytes = 4L << 20

  final class Turn(val sequence: ReplaySequence, val place: Int, time: Long) extends Comparable[Turn] {
    private val at = time
    override def compareTo(other: Turn): Int = {
      val byTime = java.lang.Long.compare(at, other.at)
      if (byTime != 0) byTime else Integer.compare(place, other.place)
    }
  }
}

/** What comes next of a replay: elements by stream, and what was found on the way to them. */
private[cqels] final class ReplayBlock(streams: Int) {
  /** Null where a stream has none. */
  val elements = new Array[ElementBlock](streams)
  /** Times that are not believed, by stream. */
  val ahead = Array.fill(streams)(mutable.ArrayBuffer[Long]())
  val setAside = mutable.ArrayBuffer[RecordedFlaw]()
  /** The newest time taken so far. */
  var newest = Long.MinValue
  /** How many triples about no element there were so far, by stream. */
  var ignored = new Array[Long](streams)
  /** How many bytes of the files have been read so far. */
  var position = 0L
  var isLast = false
  /** What ends the replay before its end; null: nothing. */
  var problem: Throwable = _

  def isEmpty: Boolean = elements.forall(_ == null) && ahead.forall(_.isEmpty) && setAside.isEmpty

  def release(): Unit = elements.foreach(block => if (block != null) (0 until block.size).foreach(block.release))
}

/** What could not be used of a file, 0 and null where the line or the graph is not known. */
private[cqels] final case class RecordedFlaw(stream: Int, file: String, line: Int, graph: String, reason: String)
