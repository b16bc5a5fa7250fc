package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

/** What is still to be done in a join: an entry of the table whose relations are those not `remaining`.
 *
 *  Its sub-plans are the ways on from here; the cheapest of these is its cost (CQELS report, Figure 4, from the other end).
 */
private[join] final class JoinNode(val graph: JoinNodes, val remaining: Long, val items: Long) {
  val done: Long = graph.spec.allRelations & ~remaining
  /** Variables that have a value here. */
  val bound: Long = graph.boundBy(done, graph.spec.allItems & ~items)
  /** Those of them that somebody reads from here on. */
  val live: Long = bound & (graph.spec.outputBits | graph.readBy(remaining, items))
  val liveVariables: Array[Int] = JoinSpec.places(live)
  val isEnd: Boolean = remaining == 0L && items == 0L
  private lazy val found = { explored = true; if (isEnd) (Array.empty[JoinStep], Array.empty[JoinStep]) else graph.stepsFrom(this) }
  private var explored = false
  def isExplored: Boolean = explored
  /** The ways on that something else depends on. */
  def steps: Array[JoinStep] = found._1
  /** Those that only add columns, or let rows count more often: they come late, unless they let few rows pass. */
  def late: Array[JoinStep] = found._2

  var buffer: JoinBuffer = _ // of rows that wait here
  var limit = JoinNodes.FirstVector // rows that are waited for
  var chosen: JoinStep = _
  // Cost of the rest for a row from here, in nanoseconds, as of `valuedAt`.
  var cost = 0.0
  var valuedAt = -1L
  var sample: JoinSample = _
  var sampledAt = -1L
}

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
private[join] sealed abstract class JoinStep(val from: JoinNode, val relations: Long, val item: Int) {
  lazy val next: JoinNode = from.graph.node(from.remaining & ~relations, if (item < 0) from.items else from.items & ~(1L << item))
  var rowsIn, rowsOut, reads, asks = 0.0
  // Of values read, as far as it was seen which of them pass: they are remembered for longer.
  var tested, passed = 0.0
  var nanos = 0L // of the last evaluation, of its own
  var rowsInNow, rowsOutNow, readsNow = 0L
  private var epoch = 0L

  def name: String

  /** Nanoseconds for a row that comes in, what follows left out; a guess where nothing was met yet. */
  def ownCost: Double
  /** Rows out for a row in. */
  def fanOut: Double

  def note(in: Long, out: Long, read: Long, ask: Long): Unit = {
    begin()
    rowsIn += in
    rowsOut += out
    reads += read
    asks += ask
    tested += read
    passed += out
    rowsInNow += in
    rowsOutNow += out
    readsNow += read
    if (rowsOutNow > from.graph.largest) from.graph.largest = rowsOutNow
  }

  def noteSample(in: Double, out: Double, read: Double, ask: Double, seen: Double = 0.0, kept: Double = 0.0): Unit = {
    fade()
    tested += seen
    passed += kept
    rowsIn += in
    rowsOut += out
    reads += read
    asks += ask
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

  def learn(other: JoinStep): Unit = if (rowsIn == 0 || rowsIn < other.rowsIn) {
    rowsIn = other.rowsIn
    rowsOut = other.rowsOut
    reads = other.reads
    asks = other.asks
    tested = other.tested
    passed = other.passed
  }

  def ranNow: Boolean = epoch == from.graph.evaluation
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
  private lazy val everywhere: Passing = from.graph.passing(JoinSpec.bits(parts.map(_.relation)) , binds(0))

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
  } else parts.map(_.usualLength).min / (if (parts.length > 1) 4 else 1)
  override def ownCost: Double = {
    val (read, ask) = if (rowsIn > 0) (reads / rowsIn, asks / rowsIn) else { val l = parts.map(_.usualLength).min; (l, l * (parts.length - 1)) }
    parts.map(p => p.findNanos + p.makingNanos).sum + read * JoinNodes.ReadNanos + ask * JoinNodes.AskNanos + (if (dead) 0 else fanOut * JoinNodes.WriteNanos * next.liveVariables.length)
  }
}

/** How many values of one relation others had, too: the last few thousand that were read count. */
private[join] final class Passing {
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
  def usualLength: Double = {
    val parts = if (knownAt == graph.evaluation) known else null
    val keys = if (parts == null) 0 else parts.map(_.keyCount).sum
    val count = graph.rowCount(relation).toDouble
    if (keys > 0) count / keys else math.sqrt(count)
  }
  /** What it would cost a row to make the index first: that is put off as long as there is another way. */
  def makingNanos: Double = {
    if (!ready) ready = graph.isReady(relation, keys)
    if (ready) 0.0 else graph.rowCount(relation) * JoinNodes.MakingShare
  }
  private var ready = false
  def findNanos: Double = if (graph.rowCount(relation) > JoinNodes.CachedRows) 2 * JoinNodes.FindNanos else JoinNodes.FindNanos
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
  def took(nanos: Long, rows: Int): Unit = { this.nanos = this.nanos / 2 + nanos; this.rows = this.rows / 2 + rows }
}

/** The nodes of a join as one thread meets them, and what relations hold in the evaluation of now. */
private[join] final class JoinNodes(val spec: JoinSpec) {
  import JoinNodes._

  private val nodes = mutable.LongMap[mutable.LongMap[JoinNode]]()
  private var contents: Array[RelationContent] = _
  private var order: JoinOrderData = _
  /** Numbers evaluations: what was read of an index belongs to one. */
  var evaluation = 0L
  /** Increases whenever what was counted may change what is cheapest. */
  var knowledge = 0L
  /** Rows that the largest step of the evaluation has given. */
  var largest = 0L

  val times: Array[ItemTime] = Array.fill(spec.items.length)(new ItemTime)

  private val passings = mutable.Map[(Long, Int), Passing]()
  def passing(relations: Long, variable: Int): Passing = passings.getOrElseUpdate((relations, variable), new Passing)

  /** Relations that are done with when one is joined: those that it covers, and that cover it. */
  val spent: Array[Long] = Array.range(0, spec.relations.length).map(1L << _)

  /** Begins an evaluation: whether the nodes are those of the one before. */
  def begin(contents: Array[RelationContent], order: JoinOrderData): Boolean = {
    evaluation += 1
    knowledge += 1
    largest = 0
    this.contents = contents
    val same = this.order == order
    if (!same) { nodes.clear(); nodeCount = 0 }
    this.order = order
    nodes.values.foreach(_.values.foreach { node => node.limit = FirstVector; node.chosen = null })
    same
  }

  /** Takes over what these nodes of another thread have found out. */
  def learn(others: Seq[JoinNode]): Unit = {
    for (theirs <- others) {
      val ours = node(theirs.remaining, theirs.items)
      ours.steps.zip(theirs.steps).foreach { case (o, t) => o.learn(t) }
      ours.late.zip(theirs.late).foreach { case (o, t) => o.learn(t) }
    }
    knowledge += 1
  }

  def all: Seq[JoinNode] = nodes.values.flatMap(_.values).toSeq
  def explored: Seq[JoinNode] = all.filter(_.isExplored)
  def content(relation: Int): RelationContent = contents(relation)
  def rowCount(relation: Int): Long = contents(relation).rowCount
  private final class Keyed(val keys: Array[Int]) { var rows: Array[KeyedRows] = _; var at = -1L }
  private val keyedOf = Array.fill(spec.relations.length)(mutable.ArrayBuffer[Keyed]())

  /** The rows of a relation by some of its columns; asked for once an evaluation. */
  def keyed(relation: Int, keys: Array[Int]): Array[KeyedRows] = {
    val all = keyedOf(relation)
    var i = 0
    while (i < all.length && !java.util.Arrays.equals(all(i).keys, keys)) i += 1
    if (i == all.length) all += new Keyed(keys)
    val found = all(i)
    if (found.at != evaluation) { found.rows = contents(relation).keyed(keys); found.at = evaluation }
    found.rows
  }
  /** Whether rows can be looked up by these columns at once. */
  def isReady(relation: Int, keys: Array[Int]): Boolean = contents(relation) match {
    case s: StaticContent => s.rowCount < SmallRelation || s.isKeyed(keys)
    case m: MergedContent => m.staticRows.rowCount < SmallRelation || m.staticRows.isKeyed(keys)
    case _ => true
  }
  def isKeyed(relation: Int, keys: Array[Int]): Boolean = contents(relation) match { case s: StaticContent => s.isKeyed(keys); case _ => false }

  private var nodeCount = 0
  def node(remaining: Long, items: Long): JoinNode =
    nodes.getOrElseUpdate(remaining, mutable.LongMap[JoinNode]()).getOrElseUpdate(items, { nodeCount += 1; new JoinNode(this, remaining, items) })

  /** Where the rows of a relation begin. */
  def start(relation: Int): JoinNode = node(spec.allRelations & ~spent(relation), spec.allItems)

  def boundBy(done: Long, applied: Long): Long = {
    var set = 0L
    for (r <- spec.relations.indices if (done & 1L << r) != 0) set |= spec.relations(r).bits
    for (i <- spec.items.indices if (applied & 1L << i) != 0 && spec.items(i).binds >= 0) set |= 1L << spec.items(i).binds
    set
  }

  def readBy(relations: Long, items: Long): Long = {
    var set = 0L
    for (r <- spec.relations.indices if (relations & 1L << r) != 0) set |= spec.relations(r).bits
    for (i <- spec.items.indices if (items & 1L << i) != 0) set |= spec.items(i).reads
    set
  }

  def stepsFrom(node: JoinNode): (Array[JoinStep], Array[JoinStep]) = {
    val ready = spec.items.indices.filter { i =>
      (node.items & 1L << i) != 0 && (spec.items(i).reads & ~node.bound) == 0 && (order.after(i) & node.remaining) == 0
    }.map(new Apply(node, _))
    val cheap = ready.filter(a => !a.what.expensive)
    if (cheap.nonEmpty) (Array(cheap.head), Array.empty) // nothing is won by letting it wait
    else {
      val open = spec.relations.indices.filter(r => (node.remaining & 1L << r) != 0)
      val joins = if (order.sequence == null) freeSteps(node, open) else order.sequence.find(open.contains(_)).map(step(node, _)).toSeq
      val (late, early) = joins.partition { case e: Extend if order.sequence == null => isLate(node, e); case _ => false }
      ((ready ++ early).toArray, late.toArray)
    }
  }

  /** Whether nobody but the answer reads what a step binds. */
  private def isLate(node: JoinNode, step: Extend): Boolean =
    (JoinSpec.bits(step.binds) & readBy(node.remaining & ~step.relations, node.items)) == 0

  private def step(node: JoinNode, relation: Int): JoinStep = {
    val unbound = spec.relations(relation).bits & ~node.bound
    if (unbound == 0) new Check(node, relation)
    else { val part = new ExtendPart(this, relation, node.bound); new Extend(node, part.others, Array(part)) }
  }

  private def freeSteps(node: JoinNode, open: Seq[Int]): Seq[JoinStep] = {
    val checks = open.filter(r => (spec.relations(r).bits & ~node.bound) == 0)
    if (checks.nonEmpty) checks.map(new Check(node, _)) // a row is spared whatever follows
    else {
      val connected = open.filter(r => (spec.relations(r).bits & node.bound) != 0)
      if (connected.isEmpty) open.map(step(node, _))
      else connected.groupBy(r => spec.relations(r).bits & ~node.bound).toSeq.sortBy(_._1).flatMap { case (unbound, together) =>
        if (java.lang.Long.bitCount(unbound) > 1) together.map(step(node, _))
        else Seq(new Extend(node, JoinSpec.places(unbound), together.map(new ExtendPart(this, _, node.bound)).toArray))
      }
    }
  }

  /** The cost of what is left for one row at a node, and the step that it takes. */
  def value(node: JoinNode): Double = {
    if (node.valuedAt != knowledge) {
      node.valuedAt = knowledge
      node.cost = 0.0
      if (node.isEnd) node.cost = OutNanos
      else {
        node.cost = Double.MaxValue
        var i = 0
        while (i < node.steps.length) { consider(node, node.steps(i)); i += 1 }
        if (i == 0) {
          node.chosen = leastFanOut(node.late)
          node.cost = node.chosen.ownCost + node.chosen.fanOut * value(node.chosen.next)
        } else {
          i = 0
          while (i < node.late.length) { if (node.late(i).fanOut < Selective) consider(node, node.late(i)); i += 1 }
        }
      }
    }
    node.cost
  }

  private def consider(node: JoinNode, step: JoinStep): Unit = {
    val own = step.ownCost
    if (own < node.cost) {
      val all = own + step.fanOut * (if (nodeCount > MostNodes) UnknownNanos else value(step.next))
      if (all < node.cost) { node.cost = all; node.chosen = step }
    }
  }

  private def leastFanOut(steps: Array[JoinStep]): JoinStep = {
    var least = steps(0)
    var i = 1
    while (i < steps.length) { if (steps(i).fanOut < least.fanOut) least = steps(i); i += 1 }
    least
  }

  def choose(node: JoinNode): JoinStep =
    if (order.steps != null) {
      val ways = node.steps ++ node.late
      order.steps.iterator.flatMap(name => ways.find(_.name == name)).nextOption().getOrElse(ways.head)
    } else if (node.steps.length == 1 && node.late.length == 0) node.steps(0) else { value(node); node.chosen }
}

private[join] object JoinNodes {
  final val Vector = 1024
  /** The first vectors of an evaluation are short: what they count corrects the rest. */
  final val FirstVector = 64
  /** Rows of earlier evaluations that count as much as those of now. */
  final val Remembered = 256.0
  final val TestedRemembered = 4096.0
  // What passes seldom is hardly met in a few tries: it is taken to have passed a little, of a few.
  final val Seldom = 0.1
  final val Few = 1.0
  final val TestedElsewhere = 1024.0
  final val CachedRows = 1L << 15

  // What steps take, in nanoseconds.
  final val FindNanos = 12.0
  final val ReadNanos = 1.2
  final val AskNanos = 3.5
  final val WriteNanos = 1.2
  final val OutNanos = 10.0
  final val FilterNanos = 25.0
  final val ExpensiveNanos = 50000.0
  /** A static relation of so many rows has an index made where it is asked for; of a larger one each row costs so much. */
  final val SmallRelation = 20000L
  final val MakingShare = 0.1
  final val UnknownNanos = 100.0

  /** More ways on than these are not looked through to their ends. */
  final val MostNodes = 4096
  /** What lets so few rows pass does not come late. */
  final val Selective = 0.7
}

/** A few rows of what reaches a node, as columns. */
private[join] final class JoinSample(variables: Int) {
  val columns = Array.ofDim[Long](variables, JoinSample.Most)
  var size = 0
  def isFull: Boolean = size == JoinSample.Most
}

private[join] object JoinSample { final val Most = 32 }
