package org.apache.spark.sql.cqels
package join

import org.apache.spark.sql.cqels.relations.KeyedRows

/** Walks a few rows of the driving relation through the ways that a join may take, and notes what each step meets.
 *
 *  The sample of a node is the sample of the node before it, walked one step on (index-based join sampling: Leis and others,
 *  Cardinality estimation done right, CIDR 2017). Lists are not read but for a few of their values. All of it is loops over arrays:
 *  it runs before each evaluation.
 */
private[join] final class JoinProbe(run: JoinRun) {
  import JoinProbe._

  private val nodes = run.nodes
  private val spec = run.spec
  private val random = new java.util.Random(1)
  private var walks = 0L // so far: which one a node's sample is of
  private var spent = 0L
  private var allowance = 0L
  private val totals = new Array[Double](JoinSample.Most)
  // Of each row of a sample, some of the values that a step gives it.
  private val picked = Array.ofDim[Long](JoinSample.Most, Picked)
  private val pickedCount = new Array[Int](JoinSample.Most)
  private val places = new Array[Int](2 * JoinSpec.Most)
  private val keys = new Array[Array[Long]](JoinSpec.Most)
  private var queue = new Array[JoinNode](64)

  /** Explores from a relation, of which `n` rows are given, for about so many look-ups: whether what steps meet is new.
   *
   *  Of each node on the way that the table has, all steps are walked. Where one was never met before, or meets something else than it
   *  did, others may do so as well, and so all that can be reached is looked at.
   */
  def explore(relation: Int, cells: Array[Long], n: Int, budget: Long): Boolean = {
    random.setSeed(nodes.evaluation)
    val start = nodes.start(relation)
    val news = !start.isValued || walkFrom(start, relation, cells, n, budget, everywhere = false)
    if (news) walkFrom(start, relation, cells, n, budget, everywhere = true)
    nodes.table.update()
    news
  }

  /** Walks samples from where a relation begins; whether some step was not met before, or meets something else now. */
  private def walkFrom(start: JoinNode, relation: Int, cells: Array[Long], n: Int, budget: Long, everywhere: Boolean): Boolean = {
    walks += 1
    spent = 0
    allowance = budget
    begin(start, relation, cells, n)
    queue(0) = start
    var next = 0
    var known = 1
    var news = false
    while (next < known && spent < budget) {
      val node = queue(next)
      next += 1
      if (node.sample.size > 0) {
        val only = if (everywhere) null else nodes.table.choice(node)
        val ways = node.steps.length + node.late.length
        var s = 0
        while (s < ways && spent < budget) {
          val step = if (s < node.steps.length) node.steps(s) else node.late(s - node.steps.length)
          if (everywhere || s < node.steps.length || (step eq only)) {
            val isNew = step.next.sampledAt != walks
            if (walk(step, node.sample, if (isNew) fresh(step.next) else null)) news = true
            if (isNew && !step.next.isEnd && (everywhere || (step eq only))) {
              if (known == queue.length) queue = java.util.Arrays.copyOf(queue, known * 2)
              queue(known) = step.next
              known += 1
            }
          }
          s += 1
        }
      }
    }
    news
  }

  private def begin(start: JoinNode, relation: Int, cells: Array[Long], n: Int): Unit = {
    val columns = spec.relations(relation).variables
    val sample = fresh(start)
    sample.size = math.min(n, math.max(Fewest.toLong, math.min(JoinSample.Most.toLong, allowance / LookUpsARow)).toInt)
    var r = 0
    while (r < sample.size) {
      var c = 0
      while (c < columns.length) { sample.columns(columns(c))(r) = cells(r * columns.length + c); c += 1 }
      r += 1
    }
  }

  private def fresh(node: JoinNode): JoinSample = {
    if (node.sample == null) node.sample = new JoinSample(spec.variables)
    node.sampledAt = walks
    node.sample.size = 0
    node.sample
  }

  /** Takes a sample one step on; whether the step was not met before, or meets something else now. */
  private def walk(step: JoinStep, sample: JoinSample, target: JoinSample): Boolean = {
    val (rowsBefore, readBefore) = (step.rowsIn, if (step.rowsIn > 0) step.usualRead else 0.0)
    step match {
      case apply: Apply => walkApply(apply, sample, target); false
      case check: Check => walkCheck(check, sample, target); rowsBefore == 0
      case extend: Extend =>
        if (!extend.isReady) false
        else {
          val read = walkExtend(extend, sample, target) / sample.size
          rowsBefore == 0 || read > News * readBefore + News || readBefore > News * read + News
        }
    }
  }

  private def walkApply(step: Apply, sample: JoinSample, target: JoinSample): Unit = {
    val asks = spec.isSampled(step.item)
    var passed = 0
    var r = 0
    while (r < sample.size) {
      if (!asks || run.passes(step.item, sample.columns, r)) { passed += 1; if (target != null) keep(sample, r, target) }
      r += 1
    }
    spent += sample.size
    if (asks) step.noteSample(sample.size, passed, 0, 0)
  }

  private def keysOf(variables: Array[Int], sample: JoinSample): Array[Array[Long]] = {
    var k = 0
    while (k < variables.length) { keys(k) = sample.columns(variables(k)); k += 1 }
    keys
  }

  private def walkCheck(step: Check, sample: JoinSample, target: JoinSample): Unit = {
    val parts = step.rows
    val key = keysOf(step.keyVariables, sample)
    var passed = 0
    var r = 0
    while (r < sample.size) {
      var found = false
      var p = 0
      while (!found && p < parts.length) {
        val at = parts(p).find(key, r)
        found = at >= 0 && parts(p).length(at) > 0 && (step.last < 0 || has(parts(p), at, sample.columns(step.last)(r)))
        p += 1
      }
      if (found) { passed += 1; if (target != null) keep(sample, r, target) }
      r += 1
    }
    spent += 2 * sample.size
    step.noteSample(sample.size, passed, 0, sample.size)
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

  /** The same for relations that bind variables; the values read. */
  private def walkExtend(step: Extend, sample: JoinSample, target: JoinSample): Double = {
    val parts = step.parts
    val width = step.binds.length
    var reads, asks, total = 0.0
    var tried, passes = 0
    // Values that pass seldom are met only where many are looked at, which is cheap where lists lie in one piece.
    val most = if (parts.length > 1) math.max(Picked.toLong, (allowance - spent) / (8L * math.max(1, sample.size))) else Picked.toLong
    var r = 0
    while (r < sample.size) {
      var shortest = 0
      var least = Int.MaxValue
      var k = 0
      while (k < parts.length) {
        val length = look(parts(k), k, sample, r)
        if (length < least) { least = length; shortest = k }
        k += 1
      }
      spent += parts.length
      pickedCount(r) = 0
      totals(r) = 0
      if (least > 0) {
        val tries = math.min(least.toLong, most).toInt
        var passed, asked = 0
        var t = 0
        while (t < tries) {
          // At equal steps what every tenth row has would be found everywhere or nowhere.
          val from = (least.toLong * t / tries).toInt
          val until = (least.toLong * (t + 1) / tries).toInt
          var at = from + (if (until - from > 1) random.nextInt(until - from) else 0)
          val given = parts(shortest).rows
          var p = 0
          while (at >= given(p).length(places(2 * shortest + p))) { at -= given(p).length(places(2 * shortest + p)); p += 1 }
          val place = places(2 * shortest + p)
          val value = given(p).cell(place, at, 0)
          var ok = true
          k = 0
          while (ok && k < parts.length) {
            if (k != shortest) { asked += 1; ok = hasAny(parts(k).rows, k, value) }
            k += 1
          }
          if (ok) {
            passed += 1
            if (width == 1) { if (pickedCount(r) < Picked) { picked(r)(pickedCount(r)) = value; pickedCount(r) += 1 } }
            else if (target != null && !target.isFull && t == 0) keepRow(sample, r, target, parts(0).others, given(p), place, at)
          }
          t += 1
        }
        spent += tries
        tried += tries
        passes += passed
        reads += least
        asks += asked.toDouble * least / tries
        totals(r) = least.toDouble * passed / tries
        total += totals(r)
      }
      r += 1
    }
    step.noteSample(sample.size, total, reads, asks, tried, passes)
    if (target != null && width == 1 && total > 0) resample(sample, target, step.binds(0), total)
    reads
  }

  /** Finds where the rows of a part are for a row of the sample; how many they are. */
  private def look(part: ExtendPart, k: Int, sample: JoinSample, r: Int): Int = {
    val rows = part.rows
    val key = keysOf(part.keyVariables, sample)
    var length = 0
    var p = 0
    while (p < rows.length) {
      val at = rows(p).find(key, r)
      places(2 * k + p) = at
      length += rows(p).length(at)
      p += 1
    }
    length
  }

  private def hasAny(rows: Array[KeyedRows], k: Int, value: Long): Boolean = {
    var p = 0
    while (p < rows.length) {
      val at = places(2 * k + p)
      if (at >= 0 && has(rows(p), at, value)) return true
      p += 1
    }
    false
  }

  private def keepRow(sample: JoinSample, r: Int, target: JoinSample, others: Array[Int], rows: KeyedRows, place: Int, at: Int): Unit = {
    keep(sample, r, target)
    var c = 0
    while (c < others.length) { target.columns(others(c))(target.size - 1) = rows.cell(place, at, c); c += 1 }
  }

  /** Takes rows of the join, each as likely as any other. */
  private def resample(sample: JoinSample, target: JoinSample, variable: Int, total: Double): Unit = {
    var r = 0
    var before = 0.0
    var n = 0
    while (n < JoinSample.Most) {
      val wanted = total * (n + random.nextDouble()) / JoinSample.Most
      while (r < sample.size - 1 && before + totals(r) <= wanted) { before += totals(r); r += 1 }
      if (pickedCount(r) > 0 && !target.isFull) {
        keep(sample, r, target)
        target.columns(variable)(target.size - 1) = picked(r)(random.nextInt(pickedCount(r)))
      }
      n += 1
    }
  }
}

private object JoinProbe {
  /** Values of a list that are looked at. */
  final val Picked = 8
  /** Rows are walked with as many look-ups as each may take, but so many of them at least. */
  final val LookUpsARow = 40L
  final val Fewest = 8
  /** What a step reads for a row is news where it is so many times what it was, and not only some values more or less. */
  final val News = 2.0
}
