package org.apache.spark.sql.cqels
package streams

import scala.collection.mutable

import org.apache.spark.sql.cqels.columns.{ArrowColumns, BatchRows, TermElements, TermRows}
import org.apache.spark.sql.cqels.dictionary.{Dictionary, IdBuffer}
import org.apache.spark.sql.cqels.ingest.{ElementBlock, ElementLines, Handover, Intake, RecordLayout, TimeRules}
import org.apache.spark.sql.cqels.journal.{ElementJournal, RestoredElements, SegmentWriter}
import org.apache.spark.sql.cqels.memory.{Json, LongTable}
import org.apache.spark.sql.cqels.runs.Turn

/** The encoded elements of one stream that some window may still need, in panes by time.
 *
 *  A window is a moving interval (open, close] over the panes: advancing it feeds what came in to its pattern tables and
 *  takes out what fell behind. No content is ever scanned again.
 */
final class StreamLog(val iri: String, private[cqels] val dictionary: Dictionary, handover: Handover) {
  import StreamLog.Unsaid

  private val panes = new Panes
  private val windows = mutable.LinkedHashMap[String, StreamWindow]()
  private val ids = new IdBuffer
  private var latest: Pane = _ // null: look for it
  private var quads = 0L
  private var records = 0L
  private var layout: RecordLayout = _ // null: none
  private var elements = 0L
  private var latestClose = Long.MinValue // of all windows: what comes after it belongs to none of them yet

  private var journal: ElementJournal = _ // null: what comes in is not to outlive the process
  private var countsOccurrences = false
  /** Whether indexes of its windows copy what is looked up again and again. */
  private[cqels] var copiesChains = true
  /** That of its engine: windows are not moved, nor filled, while they are read. */
  private[cqels] var turn = new Turn

  private var goesBack = false

  /** Has late elements be taken in where windows have passed them, and windows be moved back to where queries are evaluated again. */
  def correct(): Unit = goesBack = true

  private var lateTold = StreamLog.LateTold

  /** Has all elements that come too late be told of, not only the newest. */
  def tellAllLate(): Unit = lateTold = Int.MaxValue

  /** Has triples count as often as they are sighted (RSP-QL's counters), once an element. */
  def countOccurrences(): Unit = countsOccurrences = true
  private[streams] def countsOccurrencesOfTriples: Boolean = countsOccurrences

  def paneCount: Int = panes.size
  /** Quads that are kept as such. */
  def quadCount: Long = quads
  /** Records that stand for quads. */
  def recordCount: Long = records

  /** Has records of this layout be taken in from now on, beside quads; a stream has one layout. */
  private[cqels] def takeRecords(layout: RecordLayout): Unit = synchronized {
    require(this.layout == null && panes.size == 0, s"stream $iri has its records already")
    this.layout = layout
  }

  private[cqels] def recordLayout: RecordLayout = layout

  /** The quads of records by subject, as JSON: for each that varies a list of [predicate, object or null, whether it is in the default
   *  graph always], of quads whose predicate does not vary.
   */
  def recordStars: String = synchronized {
    val quads = if (layout == null) Nil else (0 until layout.size).filter(q => layout.column(q, 0) >= 0 && layout.column(q, 1) < 0)
    def text(id: Long) = Json.quote(dictionary.text(id))
    quads.groupBy(layout.column(_, 0)).toSeq.sortBy(_._1).map { case (_, star) =>
      star.map { q =>
        val obj = if (layout.column(q, 2) >= 0) "null" else text(layout.constant(q, 2))
        s"[${text(layout.constant(q, 1))},$obj,${layout.column(q, 3) < 0 && layout.constant(q, 3) == 0}]"
      }.mkString("[", ",", "]")
    }.mkString("[", ",", "]")
  }

  /** Reads elements from the first `length` bytes that were handed over, see [[ElementLines]], and takes them in. */
  def takeText(length: Int, rdf12: Boolean, accepts: Boolean, allOrNothing: Boolean, rules: String): String =
    handover.answer(takeText(handover.read(length), length, rdf12, accepts, allOrNothing, TimeRules.parse(rules)))

  /** Takes in the elements of columns of terms that were handed over, see [[TermElements]]. */
  def takeColumns(length: Int, rdf12: Boolean, accepts: Boolean, allOrNothing: Boolean, rules: String): String = {
    val rows = TermRows.of(ArrowColumns.read(handover, length), rdf12, accepts)
    val block = new TermElements(dictionary, countsOccurrences, numbered = true).read(Array(rows))
    handover.answer(take(block, TimeRules.parse(rules), allOrNothing).json)
  }

  /** Takes in the elements of a batch of rows that tasks have read. */
  def takeBatch(batch: BatchRows, allOrNothing: Boolean, rules: String): String =
    handover.answer(take(batch.elements(dictionary, countsOccurrences), TimeRules.parse(rules), allOrNothing).json)

  /** Reads elements from text, see [[ElementLines]], and takes in all that are sound. */
  def append(text: String): String = {
    val bytes = text.getBytes(java.nio.charset.StandardCharsets.UTF_8)
    takeText(bytes, bytes.length, rdf12 = false, accepts = false, allOrNothing = false, TimeRules.none)
  }

  private def takeText(
      bytes: Array[Byte], length: Int, rdf12: Boolean, accepts: Boolean, allOrNothing: Boolean, rules: TimeRules): String = {
    val lines = new ElementLines(dictionary, rdf12, accepts, countsOccurrences)
    take(lines.read(bytes, length), rules, allOrNothing).json
  }

  /** Takes in the elements of a block whose time is neither too late nor beyond belief, and with them what they hold in the dictionary.
   *
   *  What is malformed is so also if it comes too late. They are judged in order of time: all that come after the first whose time is not believed are not, either. With
   *  `allOrNothing` none is taken in where one was set aside as malformed.
   */
  private[cqels] def take(block: ElementBlock, rules: TimeRules, allOrNothing: Boolean): Intake = turn(synchronized {
    if (rules.settling.nonEmpty) settle(rules.settling)
    val order = block.order
    val refused = allOrNothing && block.flaws.count > 0
    val intake = new Intake(block.flaws, lateTold)
    var believed = true
    val places = new Array[Int](block.size)
    var kept = 0
    var i = 0
    val beyond = mutable.ArrayBuffer[Long]()
    while (i < block.size) {
      val element = if (order == null) i else order(i)
      val time = block.time(element)
      if (refused) block.release(element)
      else if (block.isLate(element) || rules.isLate(time)) {
        intake.tooLate(block, element)
        block.release(element)
      }
      else {
        believed &&= rules.believes(time)
        if (believed) { places(kept) = element; kept += 1 }
        else { beyond += time; block.release(element) }
      }
      i += 1
    }
    beyond.foreach(intake.notBelieved)
    i = 0
    while (i < kept) {
      enter(block, places(i))
      intake.take(block.time(places(i)))
      i += 1
    }
    intake.panes = panes.size
    intake
  })

  private def enter(block: ElementBlock, element: Int): Unit = {
    enter(block, element, elements)
    if (journal != null) journal.note(block, element, elements)
    elements += 1
  }

  private def enter(block: ElementBlock, element: Int, number: Long): Unit = {
    val time = block.time(element)
    // Elements of one time come one after the other.
    if (latest == null || latest.time != time) latest = panes.getOrAdd(time, block.end(element) - block.begin(element), layout)
    val pane = latest
    // Before it is there: a window takes out what it has taken in.
    if (goesBack && time <= latestClose) windows.valuesIterator.foreach(w => if (w.changesBy(time)) w.empty(panes))
    pane.add(block, element, number)
    quads += block.end(element) - block.begin(element)
    if (block.records != null) records += block.recordEnd(element) - block.recordBegin(element)
    if (time <= latestClose) windows.valuesIterator.foreach(_.arriveLate(time, pane, pane.size - 1))
  }

  /** Has what comes in from now on be noted for segments of a checkpoint. */
  def keepJournal(): Unit = synchronized(if (journal == null) journal = new ElementJournal(iri, if (layout == null) 0 else layout.width))

  /** Writes what has come in since `forgetJournal` into a segment, so far as it is still there. */
  def cutJournal(to: SegmentWriter): Unit = synchronized { if (journal != null && journal.size > 0) journal.cut(to, panes.get(_) != null) }

  /** Says that all that came in until now is in a segment. */
  def forgetJournal(): Unit = synchronized { if (journal != null) journal.forget() }

  /** Takes in what the log of this stream had in a process before, of which `next` was the number of elements. */
  def restore(from: RestoredElements, next: Long): Unit = synchronized {
    require(panes.size == 0 && elements == 0, s"stream $iri has elements already")
    val before = from.take(iri)
    if (before != null) {
      val width = if (layout == null) 0 else layout.width
      if (before.width != width) throw new IllegalArgumentException(s"records of ${before.width} columns, not of $width: another mapping")
      val block = before.block(dictionary, layout)
      var i = 0
      while (i < before.size) { enter(block, i, before.number(i)); i += 1 }
    }
    elements = next
  }

  /** How many elements have come, and the time of the oldest that is kept, `Long.MaxValue` where none is. */
  def standing: String = synchronized {
    val first = panes.next(Long.MinValue)
    s"$elements ${if (first == null) Long.MaxValue else first.time}"
  }

  /** What it holds, as JSON: {"panes":, "quads":, "records":, "windows": [[key, open, close, elements, rows of its patterns], ..]}. */
  def held: String = synchronized {
    val shown = windows.values.map { w =>
      var elements = 0L
      if (w.close > w.open) panes.each(w.open, w.close)(pane => elements += pane.size - w.firstElement(pane.time))
      s"[${Json.quote(w.key)},${w.open},${w.close},$elements,${w.rowCount}]"
    }
    s"""{"panes":${panes.size},"quads":$quads,"records":$records,"windows":${shown.mkString("[", ",", "]")}}"""
  }

  /** Predicates of the newest elements that it holds, one a line: at most so many, of the last few thousand quads. */
  def predicates(most: Int): String = synchronized {
    val found = mutable.LinkedHashSet[Long]()
    var looked = 0
    panes.eachBackwards(Long.MinValue, Long.MaxValue) { pane =>
      pane.each { (data, at) => looked += 1; if (found.size < most) found += data(at + 1) }
      found.size < most && looked < StreamLog.Looked
    }
    found.map(dictionary.text).mkString("\n")
  }

  /** The window with this key (its width, slide and start as Python writes them); shared by all queries that ask for it. */
  def window(key: String): StreamWindow = synchronized(windows.getOrElseUpdate(key, new StreamWindow(this, key)))

  /** The window of the last `count` elements with this key. */
  def countedWindow(key: String, count: Int): CountedWindow = synchronized {
    windows.getOrElseUpdate(key, new CountedWindow(this, key, count)).asInstanceOf[CountedWindow]
  }

  def dropWindow(key: String): Unit = synchronized(windows.remove(key))

  /** Moves a window to (open, close]; both never fall, unless late elements correct. Where a window of the last elements opens is its own affair. */
  private[cqels] def advance(window: StreamWindow, open: Long, close: Long): Unit = turn(synchronized {
    latestClose = math.max(latestClose, close)
    if (goesBack && (close < window.close || open < window.open && !window.isInstanceOf[CountedWindow])) window.empty(panes)
    window match {
      case counted: CountedWindow => counted.advanceTo(close, panes)
      case _ => advanceByTime(window, open, close)
    }
  })

  private def advanceByTime(window: StreamWindow, open: Long, close: Long): Unit = {
    if (open < window.open || close < window.close)
      throw new IllegalArgumentException(
        s"window ${window.key} cannot move back from (${window.open}, ${window.close}] to ($open, $close]")
    // Out first: a pane that the move skips altogether never gets in.
    leave(window, open)
    if (close > window.close) {
      val from = math.max(window.close, open)
      panes.each(from, close)(pane => window.enter(pane, 0, pane.time))
    }
    window.moved(open, close)
  }

  /** Moves windows that no query needed meanwhile, so that panes can go, and drops these.
   *
   *  In parts behind `\f`: where windows stand, "key|open|close" one a line; up to which time panes go; and which times windows may still
   *  show, as for `dropExpired`. The last two may be missing. Several such texts, one after the other, behind `\v`.
   */
  def settle(bounds: String): Unit = turn(synchronized(bounds.split(0x0b.toChar).foreach(settleOnce)))

  private def settleOnce(bounds: String): Unit = {
    val parts = bounds.split("\f", -1)
    parts(0).split('\n').filter(_.nonEmpty).foreach { line =>
      val Array(key, open, close) = line.split('|')
      windows.get(key).foreach { w =>
        if (close.toLong >= w.close && (w.isInstanceOf[CountedWindow] || open.toLong >= w.open)) advance(w, open.toLong, close.toLong)
      }
    }
    if (parts.length > 1) dropExpired(parts(1).toLong, parts(2))
  }

  private def leave(window: StreamWindow, open: Long): Unit = {
    val until = math.min(open, window.close)
    if (until > window.open && !(until == window.close && window.clear()))
      panes.each(window.open, until)(pane => window.leave(pane))
  }

  /** Takes out all that a window by time shows. */
  private[streams] def leaveAll(window: StreamWindow): Unit = leave(window, window.close)

  /** The panes that a window shows, each with its time and the element from which it does. */
  private[cqels] def contentOf(window: StreamWindow): Iterable[(Long, Pane, Int)] =
    if (window.close <= window.open) Nil
    else {
      val shown = mutable.ArrayBuffer[(Long, Pane, Int)]()
      panes.each(window.open, window.close)(pane => shown += ((pane.time, pane, window.firstElement(pane.time))))
      shown
    }

  /** Gives the panes that a window shows and whose time is after `time`, for windows that begin with a pane. */
  private[cqels] def eachAfter(window: StreamWindow, time: Long)(take: (Long, Pane) => Unit): Unit = synchronized {
    panes.each(math.max(window.open, time), window.close)(pane => take(pane.time, pane))
  }

  /** Gives the elements that a window shows and whose time is after `time`, in order: time, number in the stream, and their quads
   *  as rows of a table, from and until, which are not to be kept.
   */
  private[cqels] def eachElementAfter(window: StreamWindow, time: Long)(take: (Long, Long, LongTable, Int, Int) => Unit): Unit = synchronized {
    panes.each(math.max(window.open, time), window.close) { pane =>
      val made = if (pane.layout == null) null else new LongTable(4)
      var e = window.firstElement(pane.time)
      while (e < pane.size) {
        if (made == null) take(pane.time, pane.number(e), pane.quads, pane.quad(e), pane.quad(e + 1))
        else {
          made.clear()
          pane.write(e, made)
          take(pane.time, pane.number(e), made, 0, made.rowCount)
        }
        e += 1
      }
    }
  }

  /** The positions of a window's elements up to which none is in the window any more. */
  private[cqels] def leftBehind(window: StreamWindow): Long = synchronized(window.leftBehind)

  /** Drops the panes up to `close` that no window shows or may still show. Returns panes dropped.
   *
   *  `stretches` says which times each window may still show: "key|lo|hi" for (lo, hi], one a line, perhaps several of a window; for one of the
   *  last elements, lo is an instant from which it is counted back. Without its line it is all from where the window opens. Where late elements
   *  correct, windows may be moved back to lo.
   */
  def dropExpired(close: Long, stretches: String): Int = turn(synchronized {
    val awaited = stretches.split('\n').filter(_.nonEmpty).map { line =>
      val Array(key, low, high) = line.split('|')
      key -> (low.toLong, high.toLong)
    }.groupMap(_._1)(_._2)
    val needed = windows.valuesIterator.flatMap { w =>
      // A window takes out what it has taken in, so what it shows must be there, awaited or not.
      (w.open, w.close) +: awaited.getOrElse(w.key, Array((Long.MinValue, Long.MaxValue))).toSeq.map { case (low, high) =>
        val from = w.opensAt(low, panes)
        (if (goesBack && from > Unsaid) from else math.max(from, math.min(w.open, w.close)), high)
      }
    }.filter { case (low, high) => low < high }.toSeq.sorted
    // Between the stretches only: what is kept is not gone through.
    var kept = Long.MinValue
    var dropped = 0
    for ((low, high) <- needed) {
      dropped += drop(kept, math.min(low, close))
      kept = math.max(kept, high)
    }
    dropped + drop(kept, close)
  })

  def dropExpired(close: Long): Int = dropExpired(close, "")

  private def drop(after: Long, upTo: Long): Int = {
    latest = null
    val dropped = panes.remove(after, upTo) { pane =>
      letGo(pane.quads)
      quads -= pane.quads.rowCount
      if (pane.records != null) {
        letGo(pane.records)
        records -= pane.records.rowCount
      }
    }
    releaseIds()
    dropped
  }

  /** Lets go of all that it holds; it takes in nothing any more. */
  private[cqels] def close(): Unit = synchronized {
    windows.clear()
    drop(Long.MinValue, Long.MaxValue)
    journal = null
  }

  /** Adds ids to those that are to be released. */
  private def letGo(rows: LongTable): Unit = {
    val data = rows.data
    var i = 0
    while (i < rows.rowCount * rows.arity) {
      ids.add(data(i))
      // In parts: the stream would keep a copy of all of them for as long as it lives.
      if (ids.size == StreamLog.ReleasedAtOnce) releaseIds()
      i += 1
    }
  }

  private def releaseIds(): Unit = {
    dictionary.release(ids.array, ids.size)
    ids.reset()
  }
}

private[cqels] object StreamLog {
  /** Up to here no time is meant: NEVER, as Python says it. */
  final val Unsaid = -(1L << 62)
  final val ReleasedAtOnce = 1 << 14
  /** Elements of a block that come too late and are told of. */
  final val LateTold = 100
  /** Quads that are looked at for predicates. */
  final val Looked = 10000
}
