package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

import org.apache.spark.sql.cqels.relations.{IdSet, KeyedRows}

/** Rows on their way: a column for each variable, as far as it is read on, and how often each row counts. */
private[join] final class JoinBuffer(variables: Int) {
  val columns = new Array[Array[Long]](variables)
  val selected = new Array[Int](JoinNodes.Vector)
  var weights: Array[Long] = _
  var weighted = false // else each row counts once
  var rows = 0

  def column(variable: Int): Array[Long] = {
    if (columns(variable) == null) columns(variable) = new Array[Long](JoinNodes.Vector)
    columns(variable)
  }

  /** The weights, from now on told for each of the first `n` rows. */
  def weightsOf(n: Int): Array[Long] = {
    if (weights == null) weights = new Array[Long](JoinNodes.Vector)
    if (!weighted) { java.util.Arrays.fill(weights, 0, n, 1L); weighted = true }
    weights
  }
}

/** One way on from a node. What it met is counted, by run and by sample, and fades: the last evaluation counts as much as all before. */
private[cqels] sealed abstract class JoinStep(val from: JoinNode, val relations: Long, val item: Int) {
  lazy val next: JoinNode = {
    val node = from.graph.node(from.remaining & ~relations, if (item < 0) from.items else from.items & ~(1L << item))
    node.predecessors += from
    node
  }
  // As the table has them; `isMet`: something was met since.
  var keptCost, keptFanOut = 0.0
  var inTable, isMet = false
  /** Steps whose figures come from the same counts, this one among them; null where there are none. */
  def sharers: mutable.ArrayBuffer[JoinStep] = null
  var rowsIn, rowsOut, reads, asks = 0.0
  // Of values read, as far as it was seen which of them pass: they are remembered for longer.
  var tested, passed = 0.0
  var nanos = 0L // of the last evaluation, of its own
  var rowsInNow, rowsOutNow, readsNow = 0L
  private var epoch = 0L

  def name: String
  /** The name as `JoinOrderData.steps` have it. */
  final lazy val unnumbered: String = JoinStep.unnumbered(name)

  /** Nanoseconds for a row that comes in, what follows left out; a guess where nothing was met yet. */
  def ownCost: Double
  /** Rows out for a row in. */
  def fanOut: Double

  /** Notes what rows of now met: how many came and went on, values read, values asked. */
  def note(in: Long, out: Long, read: Long, ask: Long): Unit = {
    begin()
    rowsInNow += in
    rowsOutNow += out
    readsNow += read
    if (rowsOutNow > from.graph.largest) from.graph.largest = rowsOutNow
    count(in, out, read, ask, read, out)
  }

  /** Notes what a sample met; of values `seen` so many were `kept`. */
  def noteSample(in: Double, out: Double, read: Double, ask: Double, seen: Double = 0.0, kept: Double = 0.0): Unit = {
    fade()
    count(in, out, read, ask, seen, kept)
  }

  private def count(in: Double, out: Double, read: Double, ask: Double, seen: Double, kept: Double): Unit = {
    rowsIn += in
    rowsOut += out
    reads += read
    asks += ask
    tested += seen
    passed += kept
    from.graph.table.note(this)
  }

  /** Once an evaluation, before anything is counted: what was met before counts half, and as much as a few rows at most. */
  private def begin(): Unit = if (epoch != from.graph.evaluation) {
    fade()
    epoch = from.graph.evaluation
    rowsInNow = 0
    rowsOutNow = 0
    readsNow = 0
    nanos = 0
  }

  private var fadedAt = 0L
  private def fade(): Unit = if (fadedAt != from.graph.evaluation) {
    fadedAt = from.graph.evaluation
    if (tested > 0) {
      val share = math.min(0.5, JoinNodes.TestedRemembered / tested)
      tested *= share
      passed *= share
    }
    if (rowsIn > 0) {
      val share = math.min(0.5, JoinNodes.Remembered / rowsIn)
      rowsIn *= share
      rowsOut *= share
      reads *= share
      asks *= share
    }
  }

  /** Takes over what another thread has met at this step: in a later evaluation, or of more rows. */
  def learn(other: JoinStep): Unit = if (other.rowsIn > 0 && (fadedAt < other.fadedAt || (fadedAt == other.fadedAt && rowsIn < other.rowsIn))) {
    fadedAt = other.fadedAt
    rowsIn = other.rowsIn
    rowsOut = other.rowsOut
    reads = other.reads
    asks = other.asks
    tested = other.tested
    passed = other.passed
  }

  /** Values that a row has read. */
  def usualRead: Double = reads / rowsIn

  def ranNow: Boolean = epoch == from.graph.evaluation
}

private[cqels] object JoinStep {
  /** The same for all names of a step: plans number variables and relations, in whose order a name has them, as they were made. */
  def unnumbered(name: String): String = name.split(", | from | and ").sorted.mkString(" ")
}

/** Binds variables by relations that know all other variables of theirs: each row reads the shortest list, the others are asked. */
private[join] final class Extend(from: JoinNode, val binds: Array[Int], val parts: Array[ExtendPart])
    extends JoinStep(from, parts.foldLeft(0L)((set, p) => set | from.graph.spent(p.relation)), -1) {
  /** Whether nobody reads what is bound: rows only count more often, or less. */
  lazy val dead: Boolean = (next.live & JoinSpec.bits(binds)) == 0
  // By relation and part, where the rows of each key of a vector are; by relation, their number.
  lazy val places: Array[Array[Int]] = Array.fill(2 * parts.length)(new Array[Int](JoinNodes.Vector))
  lazy val lengths: Array[Array[Int]] = Array.fill(parts.length)(new Array[Int](JoinNodes.Vector))
  val sets = new Array[IdSet](2 * parts.length)

  /** Whether all indexes that it reads are there. */
  def isReady: Boolean = { var k = 0; while (k < parts.length) { if (parts(k).makingNanos > 0) return false; k += 1 }; true }

  override lazy val name: String =
    s"${binds.map("?" + from.graph.spec.names(_)).mkString(", ")} from ${parts.map(p => from.graph.spec.relations(p.relation).name).mkString(" and ")}"

  /** What these relations let pass of each other's values wherever they met. */
  private lazy val everywhere: Passing = from.graph.passing(JoinSpec.bits(parts.map(_.relation)), binds(0))
  override def sharers: mutable.ArrayBuffer[JoinStep] = if (parts.length > 1) everywhere.readers else null

  /** The share of values read that all relations have: as seen here, and as seen elsewhere where little was. */
  private def passing: Double = {
    val elsewhere = everywhere.share
    math.min(1.0, (passed + elsewhere * JoinNodes.TestedElsewhere) / (tested + JoinNodes.TestedElsewhere))
  }

  override def note(in: Long, out: Long, read: Long, ask: Long): Unit = {
    super.note(in, out, read, ask)
    if (parts.length > 1) everywhere.add(read, out)
  }

  override def noteSample(in: Double, out: Double, read: Double, ask: Double, seen: Double, kept: Double): Unit = {
    super.noteSample(in, out, read, ask, seen, kept)
    if (parts.length > 1) everywhere.add(seen, kept)
  }

  override def fanOut: Double = if (rowsIn > 0) {
    if (parts.length > 1) reads / rowsIn * passing else rowsOut / rowsIn
  } else usual / (if (parts.length > 1) 4 else 1)

  override def ownCost: Double = {
    var cost = 0.0
    var k = 0
    while (k < parts.length) { cost += parts(k).findNanos + parts(k).makingNanos; k += 1 }
    if (rowsIn > 0) cost += (reads * JoinNodes.ReadNanos + asks * JoinNodes.AskNanos) / rowsIn
    else cost += usual * (JoinNodes.ReadNanos + (parts.length - 1) * JoinNodes.AskNanos)
    if (!dead) cost += fanOut * JoinNodes.WriteNanos * next.liveVariables.length
    cost
  }

  /** Values that a row may be expected to read where nothing was met yet. */
  private def usual: Double = {
    var least = Double.MaxValue
    var k = 0
    while (k < parts.length) { least = math.min(least, parts(k).usualLength); k += 1 }
    least
  }
}

/** How many values of one relation others had, too: the last few thousand that were read count. */
private[join] final class Passing {
  val readers = mutable.ArrayBuffer[JoinStep]()
  private var tested, passed = 0.0
  def add(seen: Double, kept: Double): Unit = {
    val share = if (tested > JoinNodes.TestedRemembered) JoinNodes.TestedRemembered / tested else 1.0
    tested = tested * share + seen
    passed = passed * share + kept
  }
  def share: Double = (passed + JoinNodes.Seldom) / (tested + JoinNodes.Few)
}

/** A relation of which all but the variables of now are bound. */
private[join] final class ExtendPart(graph: JoinNodes, val relation: Int, bound: Long) {
  private val columns = graph.spec.relations(relation).variables
  val keys: Array[Int] = columns.indices.filter(c => (bound & 1L << columns(c)) != 0).toArray
  val keyVariables: Array[Int] = keys.map(columns(_))
  /** What the other columns bind, in their order. */
  val others: Array[Int] = columns.indices.filterNot(keys.contains(_)).map(columns(_)).toArray
  private var known: Array[KeyedRows] = _
  private var knownAt = -1L

  def rows: Array[KeyedRows] = {
    if (knownAt != graph.evaluation) { known = graph.keyed(relation, keys); knownAt = graph.evaluation }
    known
  }
  /** Rows that a key may be expected to have: where an index is known, as its keys have on average. */
  def usualLength: Double = {
    var keys = 0
    var p = 0
    while (known != null && p < known.length) { keys += known(p).keyCount; p += 1 }
    val count = graph.rowCount(relation).toDouble
    if (keys > 0) count / keys else math.sqrt(count)
  }
  /** What it would cost a row to make the index first: that is put off as long as there is another way. */
  def makingNanos: Double = {
    if (!ready) ready = graph.isReady(relation, keys)
    if (ready) 0.0 else graph.rowCount(relation) * JoinNodes.MakingShare
  }
  private var ready = false
  def findNanos: Double = if (graph.rowCount(relation) > JoinNodes.CachedRows) 1.6 * JoinNodes.FindNanos else JoinNodes.FindNanos
}

/** Asks a relation of which all variables are bound. */
private[join] final class Check(from: JoinNode, val relation: Int) extends JoinStep(from, from.graph.spent(relation), -1) {
  private val graph = from.graph
  private val columns = graph.spec.relations(relation).variables
  // Looked up by all columns but one, whose value is looked for in the list: what extends the join has made that index, too.
  private var known: Array[KeyedRows] = _
  private var knownAt = -1L
  private var keys: Array[Int] = _
  var keyVariables: Array[Int] = _
  var last: Int = -1 // the variable looked for; -1: all are in the key

  def rows: Array[KeyedRows] = {
    if (knownAt != graph.evaluation) {
      if (keys == null) {
        keys = if (columns.length != 2) columns.indices.toArray else if (graph.isKeyed(relation, Array(1)) && !graph.isKeyed(relation, Array(0))) Array(1) else Array(0)
        keyVariables = keys.map(columns(_))
        last = if (columns.length == 2) columns(1 - keys(0)) else -1
      }
      known = graph.keyed(relation, keys)
      knownAt = graph.evaluation
    }
    known
  }
  override lazy val name: String = s"there is ${graph.spec.relations(relation).name}"
  override def fanOut: Double = if (rowsIn > 0) rowsOut / rowsIn else 0.5
  override def ownCost: Double = JoinNodes.FindNanos + JoinNodes.AskNanos
}

/** Applies a filter, or computes a BIND. */
private[join] final class Apply(from: JoinNode, item: Int) extends JoinStep(from, 0L, item) {
  val what: JoinItem = from.graph.spec.items(item)
  private val time = from.graph.times(item)
  override def sharers: mutable.ArrayBuffer[JoinStep] = time.readers
  def took(nanos: Long, rows: Int): Unit = time.took(nanos, rows)
  override def name: String = what.name
  // What it lets pass here, if it was asked here in this evaluation; else what it lets pass wherever it stood.
  override def fanOut: Double =
    if (what.binds >= 0) 1.0
    else if (rowsInNow >= JoinNodes.FirstVector && ranNow) rowsOutNow.toDouble / rowsInNow
    else time.share
  override def note(in: Long, out: Long, read: Long, ask: Long): Unit = { super.note(in, out, read, ask); time.add(in, out, from.graph.evaluation) }
  override def noteSample(in: Double, out: Double, read: Double, ask: Double, seen: Double, kept: Double): Unit = {
    super.noteSample(in, out, read, ask, seen, kept)
    time.add(in, out, from.graph.evaluation)
  }
  override def ownCost: Double =
    if (time.rows > 0) time.nanos / time.rows else if (what.expensive) JoinNodes.ExpensiveNanos else JoinNodes.FilterNanos
}

/** What a filter or BIND has taken and let pass lately, wherever it stood: code that was cold in one place is warm in all, and
 *  one that comes late, behind another, still tells what it would do first.
 */
private[join] final class ItemTime {
  val readers = mutable.ArrayBuffer[JoinStep]()
  var nanos, rows = 0.0
  private var asked, passed = 0.0
  private var evaluation = 0L
  def add(in: Double, out: Double, evaluation: Long): Unit = {
    if (this.evaluation != evaluation && asked > 0) {
      val share = math.min(0.5, JoinNodes.Remembered / asked)
      asked *= share
      passed *= share
    }
    this.evaluation = evaluation
    asked += in
    passed += out
  }
  def share: Double = (passed + 0.5) / (asked + 1.0)
  /** Takes over what another thread has met lately. */
  def learn(other: ItemTime): Unit = if (evaluation < other.evaluation || (evaluation == other.evaluation && asked < other.asked)) {
    evaluation = other.evaluation
    asked = other.asked
    passed = other.passed
    nanos = other.nanos
    rows = other.rows
  }
  def took(nanos: Long, rows: Int): Unit = { this.nanos = this.nanos / 2 + nanos; this.rows = this.rows / 2 + rows }
}
