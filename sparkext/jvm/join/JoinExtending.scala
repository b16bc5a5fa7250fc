package org.apache.spark.sql.cqels
package join

import org.apache.spark.sql.cqels.relations.KeyedRows

/** How rows meet relations that bind variables: one thread's loops over lists.
 *
 *  What gives each row one value at most works on the vector as it is; what gives a row several others writes these where they go on.
 */
private[join] final class JoinExtending(run: JoinRun) {
  import JoinNodes.Vector

  private val origins = new Array[Int](Vector) // of rows that are written, the row of the vector that they come from

  /** Finds the lists of each row in one relation; the longest one. */
  private def look(step: Extend, number: Int, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    val part = step.parts(number)
    val parts = part.rows
    val keys = run.keysOf(part.keyVariables, buffer)
    val length = step.lengths(number)
    var longest = 0
    var p = 0
    while (p < parts.length) {
      val rows = parts(p)
      val place = step.places(2 * number + p)
      val single = if (rows.keyWidth == 1) keys(0) else null
      var j = 0
      while (j < n) {
        val i = selected(j)
        val at = if (single != null) rows.find(single(i)) else rows.find(keys, i)
        place(j) = at
        val here = rows.length(at) + (if (p == 0) 0 else length(j))
        length(j) = here
        if (here > longest) longest = here
        j += 1
      }
      p += 1
    }
    longest
  }

  /** Takes a vector on; the rows that are left in it, 0 where they have gone elsewhere. */
  def apply(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    var longest = Int.MaxValue
    var k = 0
    while (k < step.parts.length) {
      val here = look(step, k, buffer, selected, n)
      if (here < longest) longest = here
      k += 1
    }
    if (longest == 0) { step.note(n, 0, 0, 0); 0 }
    else if (step.parts.length > 1) {
      if (step.parts.forall(p => p.rows.length == 1 && !p.rows(0).counted)) intersectLists(step, buffer, selected, n)
      else intersect(step, buffer, selected, n)
      0
    }
    else if (step.dead) count(step, buffer, selected, n)
    else if (longest == 1) add(step, buffer, selected, n)
    else { expand(step, buffer, selected, n); 0 }
  }

  /** One row for each at most: its values are put beside it. */
  private def add(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    val (places, lengths) = (step.places, step.lengths)
    val part = step.parts(0)
    val parts = part.rows
    val live = step.next.live
    var kept = 0
    var j = 0
    while (j < n) {
      val i = selected(j)
      if (lengths(0)(j) > 0) {
        val p = if (parts.length > 1 && parts(0).length(places(0)(j)) == 0) 1 else 0
        val rows = parts(p)
        val at = places(p)(j)
        var c = 0
        while (c < part.others.length) {
          if ((live & 1L << part.others(c)) != 0) buffer.column(part.others(c))(i) = rows.cell(at, 0, c)
          c += 1
        }
        if (rows.counted) {
          val times = rows.times(at, 0)
          if (times != 1 || buffer.weighted) buffer.weightsOf(buffer.rows)(i) *= times
        }
        selected(kept) = i
        kept += 1
      }
      j += 1
    }
    step.note(n, kept, kept, 0)
    kept
  }

  /** Nobody reads what is bound: a row counts as often as there are others for it. */
  private def count(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Int = {
    val places = step.places
    val parts = step.parts(0).rows
    var kept = 0
    var j = 0
    while (j < n) {
      val i = selected(j)
      var times = 0L
      var p = 0
      while (p < parts.length) { times += parts(p).total(places(p)(j)); p += 1 }
      if (times > 0) {
        if (times != 1 || buffer.weighted) buffer.weightsOf(buffer.rows)(i) *= times
        selected(kept) = i
        kept += 1
      }
      j += 1
    }
    step.note(n, kept, 0, 0)
    kept
  }

  /** Each row with each that one relation has for it. */
  private def expand(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Unit = {
    val places = step.places
    val part = step.parts(0)
    val parts = part.rows
    val target = step.next
    val to = run.bufferOf(target)
    val others = part.others
    var base = to.rows
    var m = base
    var read = 0L
    var j = 0
    while (j < n) {
      val i = selected(j)
      var p = 0
      while (p < parts.length) {
        val rows = parts(p)
        val at = places(p)(j)
        val length = rows.length(at)
        read += length
        var r = 0
        while (r < length) {
          val count = math.min(length - r, math.max(1, target.limit - m))
          var c = 0
          while (c < others.length) {
            if ((target.live & 1L << others(c)) != 0) rows.copy(at, r, count, c, to.column(others(c)), m)
            c += 1
          }
          val until = m + count
          if (rows.counted) weigh(rows, at, r, to, m, until)
          else if (to.weighted) java.util.Arrays.fill(to.weights, m, until, 1L)
          java.util.Arrays.fill(origins, m, until, i)
          m = until
          r += count
          if (m >= target.limit) { gather(step, buffer, to, base, m); run.process(target); base = 0; m = 0 }
        }
        p += 1
      }
      j += 1
    }
    step.note(n, read, read, 0)
    if (m > base) gather(step, buffer, to, base, m)
  }

  /** Notes how often rows count that are written from `m` on. */
  private def weigh(rows: KeyedRows, at: Int, from: Int, to: JoinBuffer, m: Int, until: Int): Unit = {
    var k = m
    while (k < until) {
      val times = rows.times(at, from + k - m)
      if (times != 1 || to.weighted) to.weightsOf(k)(k) = times
      k += 1
    }
  }

  private val stretchIds = new Array[Long](Vector)
  private val hits = new Array[Long](Vector)

  /** As `intersect`, where each row counts once and lies in one part: lists are read at a stretch. */
  private def intersectLists(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Unit = {
    val (places, lengths) = (step.places, step.lengths)
    val count = step.parts.length
    val variable = step.binds(0)
    val target = step.next
    val to = run.bufferOf(target)
    val values = if ((target.live & 1L << variable) != 0) to.column(variable) else null
    var base = to.rows
    var m = base
    var read, asked, all = 0L
    var j = 0
    while (j < n) {
      var shortest = 0
      var least = lengths(0)(j)
      var k = 1
      while (k < count) { if (lengths(k)(j) < least) { least = lengths(k)(j); shortest = k }; k += 1 }
      if (least > 0) {
        read += least
        val rows = step.parts(shortest).rows(0)
        val at = places(2 * shortest)(j)
        var done = 0
        while (done < least) {
          val stretch = math.min(Vector, least - done)
          rows.copy(at, done, stretch, 0, stretchIds, 0)
          var found = -1
          k = 0
          while (found != 0 && k < count) {
            if (k != shortest) {
              val others = step.parts(k).rows(0)
              val place = places(2 * k)(j)
              val set = others.set(place, least)
              val (ids, length) = if (found < 0) (stretchIds, stretch) else (hits, found)
              asked += length
              found = if (set != null) set.select(ids, 0, length, hits) else others.select(place, ids, length, hits)
            }
            k += 1
          }
          all += found
          var f = 0
          while (f < found) {
            if (values != null) values(m) = hits(f)
            origins(m) = selected(j)
            if (to.weighted) to.weights(m) = 1L
            m += 1
            f += 1
            if (m >= target.limit) {
              gather(step, buffer, to, base, m)
              val rest = if (f < found) java.util.Arrays.copyOfRange(hits, f, found) else null // others write there
              run.process(target)
              if (rest != null) System.arraycopy(rest, 0, hits, f, rest.length)
              base = 0
              m = 0
            }
          }
          done += stretch
        }
      }
      j += 1
    }
    step.note(n, all, read, asked)
    if (m > base) gather(step, buffer, to, base, m)
  }

  /** Each row with each value that all relations have for it: the shortest list is read, the others are asked. */
  private def intersect(step: Extend, buffer: JoinBuffer, selected: Array[Int], n: Int): Unit = {
    val (places, lengths, sets) = (step.places, step.lengths, step.sets)
    val count = step.parts.length
    val variable = step.binds(0)
    val target = step.next
    val to = run.bufferOf(target)
    val values = if ((target.live & 1L << variable) != 0) to.column(variable) else null
    var base = to.rows
    var m = base
    var read = 0L
    var asked = 0L
    var found = 0L
    var j = 0
    while (j < n) {
      val i = selected(j)
      var shortest = 0
      var least = lengths(0)(j)
      var k = 1
      while (k < count) { if (lengths(k)(j) < least) { least = lengths(k)(j); shortest = k }; k += 1 }
      if (least > 0) {
        read += least
        k = 0
        while (k < count) {
          if (k != shortest) {
            val parts = step.parts(k).rows
            var p = 0
            while (p < parts.length) {
              val at = places(2 * k + p)(j)
              sets(2 * k + p) = if (at < 0) null else parts(p).set(at, least)
              p += 1
            }
          }
          k += 1
        }
        val parts = step.parts(shortest).rows
        var p = 0
        while (p < parts.length) {
          val rows = parts(p)
          val at = places(2 * shortest + p)(j)
          val length = rows.length(at)
          if (length > 0) {
            var r = 0
            while (r < length) {
              val x = rows.cell(at, r, 0)
              var times = if (rows.counted) rows.times(at, r).toLong else 1L
              k = 0
              while (times > 0 && k < count) {
                if (k != shortest) { asked += 1; times *= ask(step, k, j, x) }
                k += 1
              }
              if (times > 0) {
                found += 1
                if (values != null) values(m) = x
                origins(m) = i
                if (times != 1L || to.weighted) to.weightsOf(m)(m) = times
                m += 1
                if (m >= target.limit) { gather(step, buffer, to, base, m); run.process(target); base = 0; m = 0 }
              }
              r += 1
            }
          }
          p += 1
        }
      }
      j += 1
    }
    step.note(n, found, read, asked)
    if (m > base) gather(step, buffer, to, base, m)
  }

  private def ask(step: Extend, k: Int, j: Int, x: Long): Int = {
    val (places, sets) = (step.places, step.sets)
    val parts = step.parts(k).rows
    val set = sets(2 * k)
    val times = if (set != null) set.times(x) else parts(0).search(places(2 * k)(j), x)
    if (parts.length == 1) times
    else {
      val other = sets(2 * k + 1)
      times + (if (other != null) other.times(x) else parts(1).search(places(2 * k + 1)(j), x))
    }
  }

  /** Puts beside rows `base` until `m` what their origins hold. */
  private def gather(step: Extend, from: JoinBuffer, to: JoinBuffer, base: Int, m: Int): Unit = {
    val variables = step.next.liveVariables
    var v = 0
    while (v < variables.length) {
      if ((step.from.bound & 1L << variables(v)) != 0) {
        val source = from.columns(variables(v))
        val target = to.column(variables(v))
        var r = base
        while (r < m) { target(r) = source(origins(r)); r += 1 }
      }
      v += 1
    }
    if (from.weighted) {
      val weights = to.weightsOf(m)
      var r = base
      while (r < m) { weights(r) *= from.weights(origins(r)); r += 1 }
    }
    to.rows = m
  }
}
