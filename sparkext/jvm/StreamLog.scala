package org.apache.spark.sql.cqels

import java.util.{TreeMap => JTreeMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.joins.StaticIndex

/** The encoded elements of one stream that some window may still need, in panes by time.
 *
 *  A window is a moving interval (open, close] over the panes: advancing it feeds what came in to its pattern tables and
 *  takes out what fell behind. No content is ever scanned again.
 */
final class StreamLog(val iri: String, private[cqels] val dictionary: Dictionary) {
  private val panes = new JTreeMap[Long, LongTable]() // time -> quads (s, p, o, element graph)
  private val starts = new JTreeMap[Long, ElementStarts]() // time -> where each element of the pane begins
  private val windows = mutable.LinkedHashMap[String, StreamWindow]()
  private val ids = new IdBuffer
  private var quads = 0L

  private var countsSightings = false
  /** Whether indexes of its windows copy what is looked up again and again. */
  private[cqels] var copiesChains = true

  /** Has triples count as often as they are sighted (RSP-QL's counters), once an element. */
  def countSightings(): Unit = countsSightings = true

  def paneCount: Int = panes.size
  def quadCount: Long = quads

  /** Takes a block of elements: a line `@<millis> <graph or -> <n> <m>` each, then n triples of its graph and m of the
   *  default graph (its time triples), one N-Triples line each. All or nothing per element.
   *
   *  With `rdf12`, quoted triples are written as RDF 1.2 has them; with `accepts`, IRIs are taken as they stand. Returns JSON:
   *  `{"accepted": n, "rejected": [[element number, column, message], ...]}`.
   */
  def append(block: String, rdf12: Boolean, accepts: Boolean): String = synchronized {
    val lines = new LineCursor(block)
    val rejected = new StringBuilder
    var accepted = 0
    var number = 0
    while (lines.advance()) {
      val header = ElementHeader.parse(lines.current)
      try {
        add(header, lines, rdf12, accepts)
        accepted += 1
      } catch {
        case e: MalformedLine =>
          if (rejected.nonEmpty) rejected.append(',')
          rejected.append(s"""[$number,${e.column},${Json.quote(e.getMessage)}]""")
      }
      lines.skipTo(header.size)
      number += 1
    }
    s"""{"accepted":$accepted,"rejected":[$rejected]}"""
  }

  def append(block: String, rdf12: Boolean): String = append(block, rdf12, false)
  def append(block: String): String = append(block, false)

  private def add(header: ElementHeader, lines: LineCursor, rdf12: Boolean, accepts: Boolean): Unit = {
    lines.beginElement()
    val scope = dictionary.takeElementScope()
    val reader = new NQuadsReader(scope, true, rdf12, accepts)
    val texts = new Array[String](3 * header.size)
    var n = 0
    var i = 0
    while (i < header.size) {
      if (!lines.advanceInElement()) throw new MalformedLine("the element ends before its last triple", 1)
      if (reader.parse(lines.current)) {
        texts(3 * n) = reader.subject
        texts(3 * n + 1) = reader.predicate
        texts(3 * n + 2) = reader.obj
        if (i >= header.graphTriples && header.timeFrom < 0) header.timeFrom = n
        n += 1
      }
      i += 1
    }
    val graph =
      if (header.graph == "-") 0L
      else if (header.graph.startsWith("_:")) dictionary.encode("_:" + scope + header.graph.substring(2)) // as in its triples
      else dictionary.encode(header.graph)
    val pane = panes.computeIfAbsent(header.time, _ => new LongTable(4, 16))
    starts.computeIfAbsent(header.time, _ => new ElementStarts).add(pane.rowCount)
    val before = pane.rowCount
    // An element is a graph: a line written twice is one triple, which matters only where sightings count.
    val seen = if (countsSightings && n > 1) new WindowTable(4) else null
    val quad = new Array[Long](4)
    ids.reset()
    i = 0
    while (i < n) {
      quad(3) = if (header.timeFrom >= 0 && i >= header.timeFrom) 0L else graph
      var c = 0
      while (c < 3) { quad(c) = dictionary.encode(texts(3 * i + c)); c += 1 }
      val known = seen != null && { seen.insert(quad); seen.rowCount <= pane.rowCount - before }
      if (!known) {
        pane.appendAll(quad, 0, 1)
        c = 0
        while (c < 4) { ids.add(quad(c)); c += 1 }
      }
      i += 1
    }
    // Terms of the pane stay known as long as the pane does.
    dictionary.retain(ids.array, ids.size)
    quads += pane.rowCount - before
    windows.valuesIterator.foreach(_.arriveLate(header.time, pane, before))
  }

  /** The window with this key (its width, slide and start as Python writes them); shared by all queries that ask for it. */
  def window(key: String): StreamWindow = synchronized(windows.getOrElseUpdate(key, new StreamWindow(this, key)))

  /** The window of the last `count` elements with this key. */
  def countedWindow(key: String, count: Int): CountedWindow = synchronized {
    windows.getOrElseUpdate(key, new CountedWindow(this, key, count)).asInstanceOf[CountedWindow]
  }

  def dropWindow(key: String): Unit = synchronized(windows.remove(key))

  /** Moves a window to (open, close]; both never fall. Where a window of the last elements opens is its own affair. */
  private[cqels] def advance(window: StreamWindow, open: Long, close: Long): Unit = synchronized {
    window match {
      case counted: CountedWindow => counted.advanceTo(close, panes, starts)
      case _ => advanceByTime(window, open, close)
    }
  }

  private def advanceByTime(window: StreamWindow, open: Long, close: Long): Unit = {
    if (open < window.open || close < window.close)
      throw new IllegalArgumentException(
        s"window ${window.key} cannot move back from (${window.open}, ${window.close}] to ($open, $close]")
    // Out first: a pane that the move skips altogether never gets in.
    leave(window, open)
    if (close > window.close) {
      val from = math.max(window.close, open)
      if (close > from) panes.subMap(from, false, close, true).forEach((time, pane) => window.enter(pane, 0, time))
    }
    window.moved(open, close)
  }

  /** Moves windows that no query needed meanwhile, "key|open|close" one a line, so that panes can go. */
  def advanceAll(bounds: String): Unit = synchronized {
    bounds.split('\n').filter(_.nonEmpty).foreach { line =>
      val Array(key, open, close) = line.split('|')
      windows.get(key).foreach { w =>
        if (close.toLong >= w.close && (w.isInstanceOf[CountedWindow] || open.toLong >= w.open)) advance(w, open.toLong, close.toLong)
      }
    }
  }

  private def leave(window: StreamWindow, open: Long): Unit = {
    val until = math.min(open, window.close)
    if (until > window.open && !(until == window.close && window.clear()))
      panes.subMap(window.open, false, until, true).values.forEach(p => window.leave(p))
  }

  /** The panes that a window shows, each with its time and the row from which it does. */
  private[cqels] def contentOf(window: StreamWindow): Iterable[(Long, LongTable, Int)] =
    if (window.close <= window.open) Nil
    else
      panes.subMap(window.open, false, window.close, true).asScala.map { case (time, pane) =>
        (time, pane, window.firstRow(starts.get(time), time))
      }

  /** Gives the panes that a window shows and whose time is after `time`, for windows that begin with a pane. */
  private[cqels] def eachAfter(window: StreamWindow, time: Long)(take: (Long, LongTable) => Unit): Unit = synchronized {
    val from = math.max(window.open, time)
    if (window.close > from) panes.subMap(from, false, window.close, true).forEach((t, pane) => take(t, pane))
  }

  /** Drops the panes up to `close` that no window shows or may still show. Returns panes dropped.
   *
   *  `stretches` says which times each window may still show: "key|lo|hi" for (lo, hi], one a line. Without its line it is
   *  all from where the window opens.
   */
  def dropExpired(close: Long, stretches: String): Int = synchronized {
    val awaited = stretches.split('\n').filter(_.nonEmpty).map { line =>
      val Array(key, low, high) = line.split('|')
      key -> (low.toLong, high.toLong)
    }.toMap
    val needed = windows.valuesIterator.flatMap { w =>
      val (low, high) = awaited.getOrElse(w.key, (Long.MinValue, Long.MaxValue))
      // A window takes out what it has taken in, so what it shows must be there, awaited or not.
      Seq((w.open, w.close), (math.max(low, math.min(w.open, w.close)), high))
    }.filter { case (low, high) => low < high }.toSeq.sorted
    // Between the stretches only: what is kept is not gone through.
    var kept = Long.MinValue
    var dropped = 0
    for ((low, high) <- needed) {
      dropped += drop(kept, math.min(low, close))
      kept = math.max(kept, high)
    }
    dropped + drop(kept, close)
  }

  def dropExpired(close: Long): Int = dropExpired(close, "")

  private def drop(after: Long, upTo: Long): Int = {
    if (upTo <= after) return 0
    val gone = panes.subMap(after, false, upTo, true)
    val n = gone.size
    gone.values.forEach { pane =>
      ids.reset()
      val data = pane.data
      var i = 0
      while (i < pane.rowCount * 4) {
        ids.add(data(i))
        // In parts: the stream would keep a copy of its largest pane for as long as it lives.
        if (ids.size == StreamLog.ReleasedAtOnce) releaseIds()
        i += 1
      }
      releaseIds()
      quads -= pane.rowCount
    }
    gone.clear()
    starts.subMap(after, false, upTo, true).clear()
    n
  }

  private def releaseIds(): Unit = {
    dictionary.release(ids.array, ids.size)
    ids.reset()
  }
}

private object StreamLog {
  final val ReleasedAtOnce = 1 << 14
}

/** One window of a stream and the patterns that queries match in it. */
class StreamWindow private[cqels] (stream: StreamLog, val key: String) {
  private var opens = Long.MinValue
  private var closes = Long.MinValue
  private var late = 0L
  private val patterns = mutable.LinkedHashMap[QuadPattern, WindowContent]()
  // By predicate id; patterns with a variable predicate are asked for every quad.
  private val byPredicate = mutable.LongMap[Array[PatternFeed]]()
  private var anyPredicate = Array.empty[PatternFeed]

  def open: Long = opens
  def close: Long = closes
  def rowCount: Long = patterns.valuesIterator.map(_.rowCount).sum

  /** The rows that a pattern finds here, kept up from now on; the same pattern is kept once. */
  def pattern(spec: QuadPattern, name: String): WindowContent = stream.synchronized {
    patterns.getOrElseUpdate(spec, {
      val content = new WindowContent(name, new WindowTable(spec.columns.length, spec.bag))
      feed(spec, content.table, null)
      content
    })
  }

  def dropPattern(spec: QuadPattern): Unit = stream.synchronized {
    patterns.remove(spec).foreach(content => dropFeed(content.table))
  }

  /** Has the rows of a pattern that `known` does not hold go into a table, which may be that of several windows. */
  private[cqels] def feed(spec: QuadPattern, table: WindowTable, known: StaticIndex): Unit = stream.synchronized {
    val feed = new PatternFeed(spec, stream.dictionary, table, known)
    table.copiesChains = stream.copiesChains
    if (spec.predicate == 0) anyPredicate :+= feed
    else byPredicate.update(spec.predicate, byPredicate.getOrElse(spec.predicate, Array.empty[PatternFeed]) :+ feed)
    stream.contentOf(this).foreach { case (time, pane, from) =>
      PatternFeed.each(pane, from, pane.rowCount)((d, at) => feed.insert(d, at, time))
    }
  }

  /** The rows that a pattern finds here, each with the time at which it was sighted last. */
  def timed(spec: QuadPattern, name: String): TimedContent = stream.synchronized {
    val content = pattern(spec, name)
    if (content.table.keepTimes()) {
      val matcher = new QuadMatcher(spec, stream.dictionary)
      stream.contentOf(this).foreach { case (time, pane, from) =>
        PatternFeed.each(pane, from, pane.rowCount)((d, at) => if (matcher.matches(d, at)) content.table.sight(matcher.row, time))
      }
    }
    new TimedContent(content)
  }

  /** The rows that a pattern finds in what came last. */
  def arrived(spec: QuadPattern, name: String): ArrivedRows = new ArrivedRows(stream, this, spec, name)

  private[cqels] def dropFeed(table: WindowTable): Unit = stream.synchronized {
    anyPredicate = anyPredicate.filterNot(_.table eq table)
    byPredicate.mapValuesInPlace((_, feeds) => feeds.filterNot(_.table eq table))
  }

  def patternCount: Int = patterns.size

  def advance(open: Long, close: Long): Unit = stream.advance(this, open, close)

  private[cqels] def moved(open: Long, close: Long): Unit = { opens = open; closes = close }

  private[cqels] def enter(pane: LongTable, from: Int, time: Long): Unit =
    PatternFeed.each(pane, from, pane.rowCount) { (data, at) =>
      byPredicate.getOrNull(data(at + 1)) match {
        case null =>
        case feeds => var i = 0; while (i < feeds.length) { feeds(i).insert(data, at, time); i += 1 }
      }
      var i = 0
      while (i < anyPredicate.length) { anyPredicate(i).insert(data, at, time); i += 1 }
    }

  /** Takes all rows out at once; false where they are few, or a table is that of other windows, too. */
  private[cqels] def clear(): Boolean = {
    val feeds = byPredicate.valuesIterator.map(_.length).sum + anyPredicate.length
    val clears = feeds == patterns.size && rowCount >= StreamWindow.ManyRows
    if (clears) patterns.valuesIterator.foreach(_.table.clear())
    clears
  }

  private[cqels] def leave(pane: LongTable): Unit = leave(pane, 0, pane.rowCount)

  private[cqels] def leave(pane: LongTable, from: Int, until: Int): Unit =
    PatternFeed.each(pane, from, until) { (data, at) =>
      byPredicate.getOrNull(data(at + 1)) match {
        case null =>
        case feeds => var i = 0; while (i < feeds.length) { feeds(i).delete(data, at); i += 1 }
      }
      var i = 0
      while (i < anyPredicate.length) { anyPredicate(i).delete(data, at); i += 1 }
    }

  /** An element arrived for a time that the window already covers. */
  private[cqels] def arriveLate(time: Long, pane: LongTable, from: Int): Unit =
    if (time > opens && time <= closes) {
      late += 1
      enter(pane, from, time)
    }

  /** How many elements came for a time that the window covered already. */
  private[cqels] def lateArrivals: Long = late

  /** The first row of a pane that belongs to the window. */
  private[cqels] def firstRow(starts: ElementStarts, time: Long): Int = 0
}

private object StreamWindow {
  /** Fewer leave one by one: to clear counts of columns touches all their buckets, however few the rows. */
  final val ManyRows = 2048
}

/** Keeps up the rows of one pattern; those that `known` holds are left out (null: none). */
private final class PatternFeed(spec: QuadPattern, dictionary: Dictionary, val table: WindowTable, known: StaticIndex) {
  private val matcher = new QuadMatcher(spec, dictionary)
  private val absent = if (known == null) null else known.asReadOnlyCopy()
  private val key = new IdRow(spec.columns.length)

  def insert(data: Array[Long], at: Int, time: Long): Unit = if (matcher.matches(data, at) && isNew) table.insert(matcher.row, time)
  def delete(data: Array[Long], at: Int): Unit = if (matcher.matches(data, at) && isNew) table.delete(matcher.row)

  private def isNew: Boolean = absent == null || {
    val row = matcher.row
    var c = 0
    while (c < row.length) { key.set(c, row(c)); c += 1 }
    (if (row.length == 1) absent.get(row(0)) else absent.get(key.row)) == null
  }
}

private object PatternFeed {
  @inline def each(pane: LongTable, from: Int, until: Int)(feed: (Array[Long], Int) => Unit): Unit = {
    val data = pane.data
    var at = from * 4
    val end = until * 4
    while (at < end) { feed(data, at); at += 4 }
  }
}

private final class ElementHeader(val time: Long, val graph: String, val graphTriples: Int, val size: Int) {
  /** Where the default graph's triples begin among the statements read; -1: none. */
  var timeFrom: Int = -1
}

private object ElementHeader {
  private val Form = "@(-?[0-9]{1,18}) (\\S+) ([0-9]{1,9}) ([0-9]{1,9})".r

  def parse(line: String): ElementHeader = line match {
    case Form(time, graph, triples, times) => new ElementHeader(time.toLong, graph, triples.toInt, triples.toInt + times.toInt)
    case _ => throw new IllegalArgumentException(s"not an element header: $line")
  }
}

/** Lines of a block without splitting it first. */
private final class LineCursor(text: String) {
  private var at = 0
  private var read = 0
  var current: String = ""

  def advance(): Boolean = {
    if (at >= text.length) return false
    var end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    current = text.substring(at, end)
    at = end + 1
    true
  }

  def beginElement(): Unit = read = 0
  def advanceInElement(): Boolean = { val more = advance(); if (more) read += 1; more }

  /** Passes over what is left of an element of `size` lines. */
  def skipTo(size: Int): Unit = { while (read < size && advanceInElement()) (); read = 0 }
}

private[cqels] final class IdBuffer {
  private var values = new Array[Long](256)
  private var used = 0
  def size: Int = used
  def array: Array[Long] = values
  def reset(): Unit = used = 0
  /** Keeps ids that live in a dictionary; 0 and inline terms hold nothing. */
  def add(id: Long): Unit = if (id != 0 && !TermCodec.isInline(id)) {
    if (used == values.length) values = java.util.Arrays.copyOf(values, used * 2)
    values(used) = id
    used += 1
  }
}

private[cqels] object Json {
  def quote(text: String): String = {
    val out = new StringBuilder("\"")
    text.foreach {
      case '"' => out.append("\\\"")
      case '\\' => out.append("\\\\")
      case c if c < ' ' => out.append(f"\\u${c.toInt}%04x")
      case c => out.append(c)
    }
    out.append('"').toString
  }
}
