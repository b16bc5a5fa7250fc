package org.apache.spark.sql.cqels
package events

/** Which sequences are chosen: SEQ, SEQ^n, SEQ^c, SEQ^r (RSEP-QL, section 4.3). */
private[events] object Selection {
  final val Unrestricted = 0
  final val Naive = 1
  final val Chronological = 2
  final val Recent = 3

  def of(name: String): Int = {
    val at = Array("unrestricted", "naive", "chronological", "recent").indexOf(name)
    if (at < 0) throw new IllegalArgumentException(s"sequences are not selected by '$name'")
    at
  }
}

/** Matches that are evaluated again, for each key of which a mapping has come, left or been consumed. */
private[events] final class EvaluatedMatch(shape: MappingShape, clock: MatchClock, found: MatchTable, times: Long => Long,
    room: () => Long, pattern: EventPattern, selection: Int, override val consumes: Boolean) extends MatchEngine {
  private val stores = new Array[EventStore](shape.events)
  events(pattern).foreach(e => stores(e.number) = new EventStore(shape, e, consumes))
  private val reasons = new Justifications(consumes)
  private val evaluator = new PatternEvaluator(shape, times, room, selection, stores, reasons)
  private val keys = new MatchKeys(MatchKeys.of(pattern, selection))
  private val uses = new OccurrenceUses
  private val gone = new ConsumedOccurrences
  private val fixed = new Array[Long](shape.variables)
  private val row = shape.empty()
  // Justifications of the matches of this evaluation.
  private var results = new Array[Int](64)
  private var resultCount = 0

  override def insert(event: Int, mapping: Array[Long], occurrences: Array[Long]): Unit = {
    val store = stores(event)
    if (store != null && !(consumes && occurrences.exists(gone.holds))) {
      val at = store.add(mapping, occurrences)
      if (consumes) occurrences.foreach(uses.add(_, at * shape.events + event))
      keys.change(keys.of(mapping(_)), 1)
    }
  }

  override def evaluate(least: Array[Long]): Unit = {
    expire(least)
    var i = 0
    while (i < keys.touchedCount) { evaluateKey(keys.touchedKey(i)); i += 1 }
    keys.settle()
    if (consumes) consume()
  }

  private def expire(least: Array[Long]): Unit = {
    var e = 0
    while (e < stores.length) {
      val opens = clock.opens(e)
      if (stores(e) != null && opens >= least(e)) {
        var leaving = stores(e).nextToLeave(opens)
        while (leaving >= 0) {
          remove(e, leaving)
          leaving = stores(e).nextToLeave(opens)
        }
      }
      e += 1
    }
  }

  private def remove(event: Int, at: Int): Unit = {
    val store = stores(event)
    keys.change(keys.of(store.value(at, _)), -1)
    if (consumes) store.occurrences(at).foreach(uses.remove(_, at * shape.events + event))
    store.remove(at)
  }

  private def evaluateKey(number: Int): Unit = {
    keys.write(number, fixed)
    val before = keys.matches(number)
    val after = if (keys.hasMappings(number)) evaluator.find(pattern, Long.MinValue, Long.MaxValue, fixed) else null
    val rows = if (after == null || after.isEmpty) null else after.toArray
    if (!java.util.Arrays.equals(before, rows)) {
      each(rows)(found.add(_, Long.MinValue))
      each(before)(found.remove)
      keys.setMatches(number, rows)
    }
    if (consumes && rows != null) {
      var r = 0
      while (r < after.size) { note(after.why(r)); r += 1 }
    }
  }

  private def each(rows: Array[Long])(row: Array[Long] => Unit): Unit = if (rows != null) {
    var at = 0
    while (at < rows.length) {
      System.arraycopy(rows, at, this.row, 0, shape.positions)
      row(this.row)
      at += shape.positions
    }
  }

  private def note(why: Int): Unit = {
    if (resultCount == results.length) results = java.util.Arrays.copyOf(results, resultCount * 2)
    results(resultCount) = why
    resultCount += 1
  }

  // After the evaluation: within an instant, matches may share what they use.
  private def consume(): Unit = {
    val from = gone.size
    var i = 0
    while (i < resultCount) {
      reasons.each(results(i)) { mapping =>
        val store = stores(mapping % shape.events)
        val time = store.time(mapping / shape.events)
        store.occurrences(mapping / shape.events).foreach(gone.add(_, time))
      }
      i += 1
    }
    resultCount = 0
    if (results.length > 4096) results = new Array[Int](64)
    reasons.clear()
    gone.eachFrom(from) { occurrence =>
      var mapping = uses.any(occurrence)
      while (mapping >= 0) {
        remove(mapping % shape.events, mapping / shape.events)
        mapping = uses.any(occurrence)
      }
    }
  }

  override def clear(): Unit = {
    stores.foreach(store => if (store != null) store.clear())
    keys.clear()
    uses.clear()
    found.clear()
    // Left by an evaluation that failed.
    resultCount = 0
    reasons.clear()
  }

  override def kept: Long = stores.iterator.filter(_ != null).map(_.size.toLong).sum
  override def matches: Long = found.size
  override def consumed: Long = gone.size
  override def consumedUses: String = gone.written
  override def takeBackUses(from: Int): Unit = gone.takeBack(from)
  override def forgetUses(upTo: Long): Int = gone.forget(upTo)
  override def restoreUses(written: String): Unit = gone.addAll(written)
  override def memoryBytes: Long = stores.iterator.filter(_ != null).map(_.memoryBytes).sum + keys.memoryBytes +
    (if (consumes) uses.memoryBytes + gone.memoryBytes else 0L) + found.memoryBytes

  private def events(pattern: EventPattern): Seq[SingleEvent] = pattern match {
    case event: SingleEvent => Seq(event)
    case other => other.parts.flatMap(events)
  }
}
