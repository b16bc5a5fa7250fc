package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

import org.apache.spark.sql.cqels.relations.{KeyedRows, RelationContent, StaticContent}
import org.apache.spark.sql.cqels.streams.MergedContent

/** What is still to be done in a join: an entry of the table whose relations are those not `remaining`.
 *
 *  Its sub-plans are the ways on from here; the cheapest of these is its cost (CQELS report, Figure 4, from the other end).
 */
private[cqels] final class JoinNode(val graph: JoinNodes, val remaining: Long, val items: Long) {
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
  // Its entry in the table: what the rest costs for a row from here, in nanoseconds, and by which step.
  var cost = 0.0
  var chosen: JoinStep = _
  var isValued = false
  var isTouched = false
  /** How much is left to do. */
  val level: Int = java.lang.Long.bitCount(remaining) + java.lang.Long.bitCount(items)
  /** Nodes from which a step leads here. */
  val predecessors = mutable.ArrayBuffer[JoinNode]()
  var sample: JoinSample = _
  var sampledAt = -1L
}

/** The nodes of a join as one thread meets them, and what relations hold in the evaluation of now. */
private[cqels] final class JoinNodes(val spec: JoinSpec) {
  import JoinNodes._

  private val nodes = mutable.LongMap[mutable.LongMap[JoinNode]]()
  private val found = mutable.ArrayBuffer[JoinNode]()
  val table = new JoinTable(this)
  private var contents: Array[RelationContent] = _
  private var order: JoinOrderData = _
  /** Numbers evaluations: what was read of an index belongs to one. */
  var evaluation = 0L
  /** Rows that the largest step of the evaluation has given. */
  var largest = 0L

  val times: Array[ItemTime] = Array.fill(spec.items.length)(new ItemTime)

  private val passings = mutable.Map[(Long, Int), Passing]()
  def passing(relations: Long, variable: Int): Passing = passings.getOrElseUpdate((relations, variable), new Passing)

  /** Relations that are done with when one is joined: those that it covers, and that cover it. */
  val spent: Array[Long] = Array.range(0, spec.relations.length).map(1L << _)

  /** Begins an evaluation, or takes part in the one that another thread has begun under this number: whether the nodes are those of
   *  the one before.
   */
  def begin(contents: Array[RelationContent], order: JoinOrderData, number: Long = evaluation + 1): Boolean = {
    evaluation = number
    largest = 0
    this.contents = contents
    val same = this.order == order
    if (!same) {
      nodes.clear()
      found.clear()
      table.clear()
      times.foreach(_.readers.clear())
      passings.values.foreach(_.readers.clear())
    }
    this.order = order
    var i = 0
    while (i < found.length) { found(i).limit = FirstVector; i += 1 }
    table.begin()
    same
  }

  /** Takes over what these nodes of another thread have found out. */
  def learn(others: Array[JoinNode]): Unit = {
    for (first <- others.headOption; i <- times.indices) times(i).learn(first.graph.times(i))
    for (theirs <- others) {
      val ours = node(theirs.remaining, theirs.items)
      learn(ours.steps, theirs.steps)
      learn(ours.late, theirs.late)
    }
    table.begin()
  }

  private def learn(ours: Array[JoinStep], theirs: Array[JoinStep]): Unit = {
    var i = 0
    while (i < theirs.length) { ours(i).learn(theirs(i)); i += 1 }
  }

  def all: Seq[JoinNode] = found.toSeq
  def size: Int = found.length
  /** Nodes of which a step has met something. */
  def explored: Array[JoinNode] = {
    val known = mutable.ArrayBuilder.make[JoinNode]
    var i = 0
    while (i < found.length) { if (found(i).isExplored && (found(i).steps.exists(_.rowsIn > 0) || found(i).late.exists(_.rowsIn > 0))) known += found(i); i += 1 }
    known.result()
  }
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

  def node(remaining: Long, items: Long): JoinNode =
    nodes.getOrElseUpdate(remaining, mutable.LongMap[JoinNode]()).getOrElseUpdate(items, {
      val made = new JoinNode(this, remaining, items)
      found += made
      made
    })

  /** Where the rows of a relation begin. */
  def start(relation: Int): JoinNode = node(spec.allRelations & ~spent(relation), spec.usefulItems)

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

  /** Whether nobody but the answer reads what a step binds: it comes late (late materialization). */
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

  /** The step that rows at a node take: the cheapest by what the table knew when it was brought up to date, or the one asked for. */
  def choose(node: JoinNode): JoinStep =
    if (order.steps != null) {
      val ways = node.steps ++ node.late
      order.steps.iterator.flatMap(name => ways.find(_.unnumbered == name)).nextOption().getOrElse(ways.head)
    } else if (node.steps.length == 1 && node.late.length == 0) node.steps(0) else table.choice(node)
}

private[cqels] object JoinNodes {
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
  final val FindNanos = 25.0
  final val ReadNanos = 1.2
  final val AskNanos = 3.5
  final val WriteNanos = 4.0
  final val OutNanos = 15.0
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
