package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.cqels.memory.TimeOrder

/** Patterns evaluated by their definitions (RSEP-QL, section 4), over the mappings of single events that are there.
 *
 *  `low` and `high` are the scope, the times of the elements that take part; `fixed` has the values that mappings must be
 *  compatible with, 0 where there is none. Under them each operator chooses among what is left.
 */
private[events] final class PatternEvaluator(shape: MappingShape, times: Long => Long, room: () => Long, selection: Int,
    stores: Array[EventStore], reasons: Justifications) {
  private val variables = shape.variables
  private val all = Array.range(0, variables)
  private val mapping = Array.range(0, variables + 2)

  def find(pattern: EventPattern, low: Long, high: Long, fixed: Array[Long]): FoundMappings = pattern match {
    case SingleEvent(number, _, _) =>
      val range = stores(number).range(low, high, fixed)
      val found = new FoundMappings(variables)
      var i = range.next(range.from)
      while (i < range.until) { add(found, number, range.row(i)); i = range.next(i + 1) }
      found
    case First(SingleEvent(number, _, _)) => earliest(number, low, high, fixed)
    case Last(SingleEvent(number, _, _)) => latest(number, low, high, fixed)
    case First(input) => find(input, low, high, fixed).chosen(latest = false)
    case Last(input) => find(input, low, high, fixed).chosen(latest = true)
    case Within(input, millis) =>
      val inner = find(input, low, high, fixed)
      val found = new FoundMappings(variables)
      each(inner) { r => if (inner.end(r) - inner.start(r) <= millis) found.addRow(inner, r) }
      found
    case Timed(input, start, end) => timed(find(input, low, high, fixed), start, end, fixed)
    case Disjunction(left, right) =>
      val found = find(left, low, high, fixed)
      val others = find(right, low, high, fixed)
      each(others) { r => found.addRow(others, r) }
      found
    case Conjunction(left, right) => both(-1, left, right, low, high, fixed)
    case Related(relation, left, right) => both(relation, left, right, low, high, fixed)
    case sequence: Sequence =>
      if (selection == Selection.Naive) naive(sequence, low, high, fixed)
      else if (selection != Selection.Unrestricted) selected(sequence, low, high, fixed, recent = selection == Selection.Recent)
      else if (sequence.right.isRun) runAfter(sequence, low, high, fixed)
      else unrestricted(sequence, low, high, fixed)
    case repetition: Repetition => runs(repetition, low, high, fixed)
  }

  /** Whether there is any mapping. */
  private def exists(pattern: EventPattern, low: Long, high: Long, fixed: Array[Long]): Boolean = low <= high && (pattern match {
    case SingleEvent(number, _, _) => !stores(number).range(low, high, fixed).isEmpty
    case First(input) => exists(input, low, high, fixed)
    case Last(input) => exists(input, low, high, fixed)
    case Disjunction(left, right) => exists(left, low, high, fixed) || exists(right, low, high, fixed)
    case other => !find(other, low, high, fixed).isEmpty
  })

  // -- single events --------------------------------------------------------------------------------------------

  private def add(found: FoundMappings, event: Int, row: Int): Unit = {
    val to = found.add(reasons.of(row * shape.events + event))
    stores(event).write(row, found.data, to)
  }

  private def earliest(event: Int, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val range = stores(event).range(low, high, fixed)
    val found = new FoundMappings(variables)
    var i = range.next(range.from)
    if (i < range.until) {
      val time = range.time(i)
      while (i < range.until && range.time(i) == time) { add(found, event, range.row(i)); i = range.next(i + 1) }
    }
    found
  }

  private def latest(event: Int, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val range = stores(event).range(low, high, fixed)
    val found = new FoundMappings(variables)
    var i = range.previous(range.until - 1)
    if (i >= range.from) {
      val time = range.time(i)
      while (i >= range.from && range.time(i) == time) { add(found, event, range.row(i)); i = range.previous(i - 1) }
    }
    found
  }

  // -- two patterns ---------------------------------------------------------------------------------------------

  private def both(relation: Int, left: EventPattern, right: EventPattern, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val lefts = find(left, low, high, fixed)
    val found = new FoundMappings(variables)
    if (lefts.isEmpty) return found
    // What a mapping of the left side binds may be said beforehand only where the right side does not choose.
    val inner = new Array[Long](variables)
    val plain = right.isPlain && (selection == Selection.Unrestricted || !right.hasSequence)
    var rights = if (plain) null else find(right, low, high, fixed)
    each(lefts) { l =>
      if (plain) {
        lefts.merge(l, fixed, inner)
        rights = find(right, low, high, inner)
      }
      each(rights) { r =>
        if (relation < 0 || Relations.hold(relation, lefts.start(l), lefts.end(l), rights.start(r), rights.end(r))) join(found, lefts, l, rights, r)
      }
    }
    found
  }

  /** Adds what two mappings are together, if they are compatible. */
  private def join(found: FoundMappings, lefts: FoundMappings, l: Int, rights: FoundMappings, r: Int): Unit = {
    val to = found.add(reasons.both(lefts.why(l), rights.why(r)))
    if (unite(lefts, l, rights, r, found.data, to)) {
      found.data(to + shape.start) = math.min(lefts.start(l), rights.start(r))
      found.data(to + shape.end) = math.max(lefts.end(l), rights.end(r))
    } else found.removeLast()
  }

  private def unite(lefts: FoundMappings, l: Int, rights: FoundMappings, r: Int, to: Array[Long], at: Int): Boolean = {
    var v = 0
    while (v < variables) {
      val (a, b) = (lefts.value(l, v), rights.value(r, v))
      if (a != 0 && b != 0 && a != b) return false
      to(at + v) = if (a != 0) a else b
      v += 1
    }
    true
  }

  private def before(high: Long, start: Long): Long = math.min(high, start - 1)

  /** Whether nothing that is to be absent lies between two compatible mappings. */
  private def isPair(sequence: Sequence, lefts: FoundMappings, l: Int, rights: FoundMappings, r: Int, low: Long, high: Long): Boolean =
    sequence.absent.forall { absent =>
      val united = new Array[Long](variables)
      unite(lefts, l, rights, r, united, 0) &&
        !exists(absent, math.max(low, lefts.end(l) + 1), before(high, rights.start(r)), united)
    }

  private def unrestricted(sequence: Sequence, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val rights = find(sequence.right, low, high, fixed)
    val found = new FoundMappings(variables)
    val inner = new Array[Long](variables)
    each(rights) { r =>
      rights.merge(r, fixed, inner)
      val lefts = partners(sequence, sequence.left, rights, r, low, high, inner)
      each(lefts) { l => join(found, lefts, l, rights, r) }
    }
    found
  }

  /** A repetition on the right: the run of what comes after each mapping of the left side. */
  private def runAfter(sequence: Sequence, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val lefts = find(sequence.left, low, high, fixed)
    val found = new FoundMappings(variables)
    val inner = new Array[Long](variables)
    each(lefts) { l =>
      lefts.merge(l, fixed, inner)
      val rights = find(sequence.right, math.max(low, lefts.end(l) + 1), high, inner)
      each(rights) { r => if (isPair(sequence, lefts, l, rights, r, low, high)) join(found, lefts, l, rights, r) }
    }
    found
  }

  /** SEQ^n (9): the last ones of each side, over all bindings. */
  private def naive(sequence: Sequence, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val lefts = find(sequence.lastLeft, low, high, fixed)
    val rights = find(sequence.lastRight, low, high, fixed)
    val found = new FoundMappings(variables)
    each(lefts) { l =>
      each(rights) { r =>
        if (lefts.end(l) < rights.start(r) && isPair(sequence, lefts, l, rights, r, low, high)) join(found, lefts, l, rights, r)
      }
    }
    found
  }

  /** SEQ^c (10) and SEQ^r (11): for each binding of the shared variables. */
  private def selected(sequence: Sequence, low: Long, high: Long, fixed: Array[Long], recent: Boolean): FoundMappings = {
    val rights = if (isOneGroup(sequence, fixed)) candidates(sequence, low, high, fixed, recent) else find(sequence.right, low, high, fixed)
    val found = new FoundMappings(variables)
    if (rights.isEmpty) return found
    val groups = rights.groups(sequence.shared)
    val order = TimeOrder.of(rights.size, if (recent) r => -rights.start(r) else rights.end(_))
    // By group the end of the earliest, or the start of the latest that has a partner: in this order it is that of the first one.
    val bounds = new Array[Long](rights.size)
    java.util.Arrays.fill(bounds, if (recent) Long.MinValue else Long.MaxValue)
    val inner = new Array[Long](variables)
    var i = 0
    while (i < order.length) {
      val r = order(i)
      val group = groups(r)
      if (if (recent) rights.end(r) >= bounds(group) else rights.start(r) <= bounds(group)) {
        rights.merge(r, fixed, inner)
        val lefts = partners(sequence, if (recent) sequence.lastLeft else sequence.firstLeft, rights, r, low, high, inner)
        if (!lefts.isEmpty) {
          bounds(group) = if (recent) math.max(bounds(group), rights.start(r)) else math.min(bounds(group), rights.end(r))
          each(lefts) { l => join(found, lefts, l, rights, r) }
        }
      }
      i += 1
    }
    found
  }

  /** What there is before a mapping of the right side: the left side, or the FIRST or LAST of it, with nothing absent between;
   *  `inner` has what `fixed` and the right side bind.
   */
  private def partners(sequence: Sequence, left: EventPattern, rights: FoundMappings, r: Int, low: Long, high: Long, inner: Array[Long]): FoundMappings = {
    val until = before(high, rights.start(r))
    if (sequence.absent.isEmpty) find(left, low, until, inner)
    else if (isTold(sequence, rights, r, inner)) {
      // The absent event is the same for all of the left side: what comes before its last mapping is no partner.
      val last = latest(sequence.absent.get.events(0), low, until, told)
      find(left, if (last.isEmpty) low else last.end(0), until, inner)
    } else {
      val lefts = find(sequence.left, low, until, inner)
      val pairs = new FoundMappings(variables)
      each(lefts) { l => if (isPair(sequence, lefts, l, rights, r, low, high)) pairs.addRow(lefts, l) }
      left match {
        case First(_) if left ne sequence.left => pairs.chosen(latest = false)
        case Last(_) if left ne sequence.left => pairs.chosen(latest = true)
        case _ => pairs
      }
    }
  }

  private val told = new Array[Long](variables)

  /** Whether what is absent is an event whose mappings are constrained by the right side and `inner` as by every pair with an
   *  event on the left; `told` is how, then.
   */
  private def isTold(sequence: Sequence, rights: FoundMappings, r: Int, inner: Array[Long]): Boolean = sequence.isOfEvents && {
    val absent = sequence.absent.get.variables
    java.util.Arrays.fill(told, 0L)
    var isSo = true
    var i = 0
    while (i < absent.length) {
      val v = absent(i)
      if (rights.value(r, v) != 0) told(v) = rights.value(r, v)
      else if (sequence.left.variables.contains(v)) {
        if (sequence.left.certain.contains(v) && inner(v) != 0) told(v) = inner(v) else isSo = false
      }
      i += 1
    }
    isSo
  }

  /** Whether both sides are events all of whose shared variables have one value each. */
  private def isOneGroup(sequence: Sequence, fixed: Array[Long]): Boolean = sequence.areEvents && {
    var i = 0
    while (i < sequence.shared.length && fixed(sequence.shared(i)) != 0) i += 1
    i == sequence.shared.length
  }

  /** The right sides that are chosen in one group: the first after the earliest left one, or the last if it is after that. */
  private def candidates(sequence: Sequence, low: Long, high: Long, fixed: Array[Long], recent: Boolean): FoundMappings = {
    val lefts = find(sequence.firstLeft, low, high, fixed)
    if (lefts.isEmpty) lefts
    else find(if (recent) sequence.lastRight else sequence.firstRight, math.max(low, lefts.end(0) + 1), high, fixed)
  }

  // -- one pattern ----------------------------------------------------------------------------------------------

  private def timed(inner: FoundMappings, start: Int, end: Int, fixed: Array[Long]): FoundMappings = {
    val found = new FoundMappings(variables)
    each(inner) { r =>
      val to = found.addRow(inner, r)
      if (!put(found, to, start, inner.start(r), fixed) || !put(found, to, end, inner.end(r), fixed)) found.removeLast()
    }
    found
  }

  private def put(found: FoundMappings, at: Int, variable: Int, time: Long, fixed: Array[Long]): Boolean = variable < 0 || {
    val value = times(time)
    val before = found.data(at + variable)
    found.data(at + variable) = value
    (before == 0 || before == value) && (fixed(variable) == 0 || fixed(variable) == value)
  }

  /** All mappings of each binding of the keys as one. */
  private def runs(repetition: Repetition, low: Long, high: Long, fixed: Array[Long]): FoundMappings = {
    val inner = new Array[Long](variables)
    repetition.keys.foreach(key => inner(key) = fixed(key))
    val mappings = find(repetition.input, low, high, inner)
    val found = new FoundMappings(variables)
    if (mappings.isEmpty) return found
    val groups = mappings.groups(repetition.keys)
    val once = mappings.groups(mapping) // a mapping is one solution, however it is derived
    var seen = 0
    val firsts = Array.range(0, mappings.size).filter { r => val isNew = once(r) == seen; if (isNew) seen += 1; isNew }
    val order = TimeOrder.of(mappings.size, groups(_))
    var i = 0
    while (i < order.length) {
      val group = groups(order(i))
      var until = i + 1
      var why = mappings.why(order(i))
      var (start, end) = (mappings.start(order(i)), mappings.end(order(i)))
      while (until < order.length && groups(order(until)) == group) {
        val r = order(until)
        why = reasons.both(why, mappings.why(r))
        start = math.min(start, mappings.start(r))
        end = math.max(end, mappings.end(r))
        until += 1
      }
      val to = found.add(why)
      repetition.keys.foreach(key => found.data(to + key) = mappings.value(order(i), key))
      found.data(to + shape.start) = start
      found.data(to + shape.end) = end
      val rows = if (repetition.aggregates.isEmpty) null else order.slice(i, until).filter(java.util.Arrays.binarySearch(firsts, _) >= 0)
      val fits = repetition.aggregates.forall { aggregate =>
        val value = aggregate.value(room(), mappings, rows, all)
        found.data(to + aggregate.variable) = value
        value == 0 || fixed(aggregate.variable) == 0 || fixed(aggregate.variable) == value
      }
      if (!fits) found.removeLast()
      i = until
    }
    found
  }

  @inline private def each(found: FoundMappings)(row: Int => Unit): Unit = {
    var r = 0
    while (r < found.size) { row(r); r += 1 }
  }
}
