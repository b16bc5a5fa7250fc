package org.apache.spark.sql.cqels
package join

import scala.collection.mutable

import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.RelationContent

/** Where a join begins: with the relation from which all of it is cheapest, found anew before each evaluation.
 *
 *  A few rows of each relation that it could begin with are walked through the table ([[JoinProbe]]). The one of before is asked first;
 *  as long as it costs what it did, those that were far from it are asked less and less often.
 */
private[join] final class JoinBeginning(spec: JoinSpec) {
  import JoinBeginning._

  /** What beginning with a relation was expected to take when it was last asked, in nanoseconds. */
  val rivals = mutable.ArrayBuffer[(Int, Double)]()
  private var before = -1
  private var costBefore = 0.0
  private var evaluations = 0
  private var news = false // whether some step meets something else than it did
  // Of each relation, how many evaluations pass before it is asked again: powers of two.
  private val waits = new Array[Int](spec.relations.length)
  private val places = new Array[Int](spec.relations.length) // of candidates
  private val sample = Array.tabulate(spec.relations.length)(r => new LongTable(spec.relations(r).variables.length, JoinSample.Most))

  /** The relation to begin with; `spared` nanoseconds are what asking all may take, about. */
  def choose(run: JoinRun, contents: Array[RelationContent], order: JoinOrderData, spared: Double): Int =
    if (order.sequence != null) order.sequence(0)
    else {
      val count = candidates(contents, order.driver)
      if (count == 1 && spec.relations.length <= 2) places(0)
      else {
        val budget = math.max(LeastLookUps, (spared / NanosALookUp).toLong) / count
        rivals.clear()
        var current = places(0)
        var i = 0
        while (i < count) { if (places(i) == before) current = before; i += 1 }
        var best = current
        news = false
        var least = ask(run, contents, current, budget)
        if (news || current != before || least > Moved * costBefore || costBefore > Moved * least) java.util.Arrays.fill(waits, 0)
        i = 0
        while (i < count) {
          val r = places(i)
          if (r != current && (waits(r) == 0 || (evaluations & (waits(r) - 1)) == 0)) {
            val cost = ask(run, contents, r, budget)
            waits(r) = if (cost > Far * least) math.min(LongestWait, math.max(2, 2 * waits(r))) else 0
            if (cost < least) { least = cost; best = r }
          }
          i += 1
        }
        evaluations += 1
        before = best
        costBefore = least
        best
      }
    }

  private def ask(run: JoinRun, contents: Array[RelationContent], r: Int, budget: Long): Double = {
    val rows = sample(r)
    rows.clear()
    var part = 0
    while (part < JoinSample.Most) { contents(r).append(part, JoinSample.Most, rows, 1); part += 1 }
    if (run.probe.explore(r, rows.data, rows.rowCount, budget)) news = true
    val cost = contents(r).rowCount * (run.nodes.table.value(run.nodes.start(r)) + RowNanos)
    rivals += r -> cost
    cost
  }

  /** Puts into `places` the relations to begin with that are asked: the smallest two, and the smallest of the live ones. */
  private def candidates(contents: Array[RelationContent], driver: Int): Int =
    if (driver >= 0) { places(0) = driver; 1 }
    else {
      var count = 0
      while (count < MostCandidates) {
        var next = -1
        var r = 0
        while (r < contents.length) {
          if ((count < SmallOnes || contents(r).live) && !taken(r, count) && (next < 0 || contents(r).rowCount < contents(next).rowCount)) next = r
          r += 1
        }
        if (next < 0) return count
        places(count) = next
        count += 1
      }
      count
    }

  private def taken(r: Int, count: Int): Boolean = {
    var i = 0
    while (i < count && places(i) != r) i += 1
    i < count
  }
}

private[join] object JoinBeginning {
  final val SmallOnes = 2
  final val MostCandidates = 8
  /** What a row that a join begins with takes by itself. */
  final val RowNanos = 50.0
  /** What was expected to cost so much more than the cheapest is asked again later; unless that one has moved by so much. */
  final val Far = 2.0
  final val Moved = 1.3
  final val LongestWait = 16
  /** What a look-up of a sample takes: few of them make code that is seldom the fastest. */
  final val NanosALookUp = 200.0
  /** Samples of short evaluations may make so many: the way on is mostly known, and takes a fraction of them. */
  final val LeastLookUps = 1200L
}
