package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

/** Walks a few rows of the driving relation through the ways that a join may take, and notes what each step meets.
 *
 *  The sample of a node is the sample of the node before it, walked one step on (index-based join sampling: Leis and others,
 *  Cardinality estimation done right, CIDR 2017). Lists are not read but for a few of their values.
 */
private[join] final class JoinProbe(run: JoinRun) {
  import JoinProbe._

  private val nodes = run.nodes
  private val spec = run.spec
  private var random = new java.util.SplittableRandom(1)
  private var spent = 0L
  private var allowance = 0L
  private val totals = new Array[Double](JoinSample.Most)
  // Of each row of a sample, some of the values that a step gives it.
  private val picked = Array.ofDim[Long](JoinSample.Most, Picked)
  private val pickedCount = new Array[Int](JoinSample.Most)

  /** Explores from a relation, of which `n` rows are given, for about so many look-ups; the look-ups made. */
  def explore(relation: Int, cells: Array[Long], n: Int, budget: Long): Long = {
    spent = 0
    allowance = budget
    random = new java.util.SplittableRandom(nodes.evaluation)
    val start = nodes.start(relation)
    val columns = spec.relations(relation).variables
    val sample = fresh(start)
    sample.size = math.min(n, JoinSample.Most)
    for (r <- 0 until sample.size; c <- columns.indices) sample.columns(columns(c))(r) = cells(r * columns.length + c)
    val queue = mutable.Queue(start)
    while (queue.nonEmpty && spent < budget) {
      val node = queue.dequeue()
      if (node.sample.size > 0) for (step <- node.steps ++ node.late if spent < budget) {
        val isNew = step.next.sampledAt != nodes.evaluation
        walk(step, node.sample)
        if (isNew && !step.next.isEnd) queue += step.next
      }
    }
    nodes.knowledge += 1
    spent
  }

  private def fresh(node: JoinNode): JoinSample = {
    if (node.sample == null) node.sample = new JoinSample(spec.variables)
    node.sampledAt = nodes.evaluation
    node.sample.size = 0
    node.sample
  }

  private def walk(step: JoinStep, sample: JoinSample): Unit = {
    val target = if (step.next.sampledAt == nodes.evaluation) null else fresh(step.next)
    step match {
      case apply: Apply =>
        var passed = 0
        for (r <- 0 until sample.size) if (apply.what.expensive || apply.what.binds >= 0 || run.passes(apply.item, sample.columns, r)) {
          passed += 1
          if (target != null) keep(sample, r, target)
        }
        spent += sample.size
        if (!apply.what.expensive && apply.what.binds < 0) apply.noteSample(sample.size, passed, 0, 0)
      case check: Check =>
        val parts = check.rows
        val keys = check.keyVariables.map(sample.columns(_))
        var passed = 0
        for (r <- 0 until sample.size) {
          val found = parts.exists { rows =>
            val at = rows.find(keys, r)
            at >= 0 && rows.length(at) > 0 && (check.last < 0 || has(rows, at, sample.columns(check.last)(r)))
          }
          if (found) { passed += 1; if (target != null) keep(sample, r, target) }
        }
        spent += 2 * sample.size
        check.noteSample(sample.size, passed, 0, sample.size)
      case extend: Extend if extend.parts.forall(_.makingNanos == 0.0) => walkExtend(extend, sample, target)
      case _ =>
    }
  }

  private def has(rows: KeyedRows, at: Int, value: Long): Boolean = {
    val set = rows.set(at, 1)
    if (set != null) set.times(value) > 0 else rows.search(at, value) > 0
  }

  private def keep(from: JoinSample, r: Int, to: JoinSample): Unit = if (!to.isFull) {
    var v = 0
    while (v < from.columns.length) { to.columns(v)(to.size) = from.columns(v)(r); v += 1 }
    to.size += 1
  }

  private def walkExtend(step: Extend, sample: JoinSample, target: JoinSample): Unit = {
    val parts = step.parts
    val rowsOf = parts.map(_.rows)
    val keysOf = parts.map(_.keyVariables.map(sample.columns(_)))
    val width = step.binds.length
    var (reads, asks, total) = (0.0, 0.0, 0.0)
    var tried, passes = 0
    // Values that pass seldom are met only where many are looked at, which is cheap where lists lie in one piece.
    val most = if (parts.length > 1) math.max(Picked.toLong, (allowance - spent) / (8L * math.max(1, sample.size))) else Picked.toLong
    for (r <- 0 until sample.size) {
      val places = rowsOf.indices.map(k => rowsOf(k).map(_.find(keysOf(k), r)))
      val lengths = rowsOf.indices.map(k => rowsOf(k).indices.map(p => rowsOf(k)(p).length(places(k)(p)).toLong).sum)
      spent += parts.length
      val shortest = lengths.indices.minBy(lengths(_))
      val least = lengths(shortest)
      pickedCount(r) = 0
      totals(r) = 0
      if (least > 0) {
        val tries = math.min(least, most).toInt
        var (passed, asked) = (0, 0)
        for (t <- 0 until tries) {
          // At equal steps what every tenth row has would be found everywhere or nowhere.
          var at = least * t / tries + random.nextLong(math.max(1L, least * (t + 1) / tries - least * t / tries))
          var p = 0
          while (at >= rowsOf(shortest)(p).length(places(shortest)(p))) { at -= rowsOf(shortest)(p).length(places(shortest)(p)); p += 1 }
          val rows = rowsOf(shortest)(p)
          val cell = rows.first(places(shortest)(p)) + at.toInt * width
          val value = rows.cells(cell)
          var ok = true
          var k = 0
          while (ok && k < parts.length) {
            if (k != shortest) {
              asked += 1
              ok = rowsOf(k).indices.exists(q => places(k)(q) >= 0 && has(rowsOf(k)(q), places(k)(q), value))
            }
            k += 1
          }
          if (ok) {
            passed += 1
            if (width == 1 && pickedCount(r) < Picked) { picked(r)(pickedCount(r)) = value; pickedCount(r) += 1 }
            else if (width > 1 && target != null && !target.isFull && t == 0) {
              keep(sample, r, target)
              for (c <- 0 until width) target.columns(parts(0).others(c))(target.size - 1) = rows.cells(cell + c)
            }
          }
        }
        spent += tries
        tried += tries
        passes += passed
        reads += least
        asks += asked.toDouble * least / tries
        totals(r) = least.toDouble * passed / tries
        total += totals(r)
      }
    }
    step.noteSample(sample.size, total, reads, asks, tried, passes)
    // Rows of the join, each as likely as any other.
    if (target != null && width == 1 && total > 0) {
      val variable = step.binds(0)
      var r = 0
      var before = 0.0
      for (n <- 0 until JoinSample.Most) {
        val wanted = total * (n + random.nextDouble()) / JoinSample.Most
        while (r < sample.size - 1 && before + totals(r) <= wanted) { before += totals(r); r += 1 }
        if (pickedCount(r) > 0 && !target.isFull) {
          keep(sample, r, target)
          target.columns(variable)(target.size - 1) = picked(r)(random.nextInt(pickedCount(r)))
        }
      }
    }
  }
}

private object JoinProbe {
  /** Values of a list that are looked at. */
  final val Picked = 8
}
