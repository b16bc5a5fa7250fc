package org.apache.spark.sql.cqels
package loading

import java.io.{Externalizable, ObjectInput, ObjectOutput}

import org.apache.spark.sql.cqels.memory.LongRuns

/** Encoded quads as four growable columns; graph 0 is the default graph. */
final class QuadBlock extends Externalizable {
  private var filled = 0
  private var s = new Array[Long](16)
  private var p = new Array[Long](16)
  private var o = new Array[Long](16)
  private var g = new Array[Long](16)

  def size: Int = filled
  def subject(i: Int): Long = s(i)
  def predicate(i: Int): Long = p(i)
  def obj(i: Int): Long = o(i)
  def graph(i: Int): Long = g(i)

  def add(subject: Long, predicate: Long, obj: Long, graph: Long): Unit = {
    if (filled == s.length) {
      val wider = filled * 2
      s = java.util.Arrays.copyOf(s, wider)
      p = java.util.Arrays.copyOf(p, wider)
      o = java.util.Arrays.copyOf(o, wider)
      g = java.util.Arrays.copyOf(g, wider)
    }
    s(filled) = subject
    p(filled) = predicate
    o(filled) = obj
    g(filled) = graph
    filled += 1
  }

  /** The same quads, those of one graph and predicate one after the other, where there are few of these. */
  private[cqels] def grouped: QuadBlock = {
    val groups = new Array[Int](filled)
    val first = new Array[Int](QuadBlock.MostGroups) // a quad of each group
    val ends = new Array[Int](QuadBlock.MostGroups + 1)
    var known = 0
    var i = 0
    while (i < filled) {
      var group = 0
      while (group < known && !(p(first(group)) == p(i) && g(first(group)) == g(i))) group += 1
      if (group == known) {
        if (known == QuadBlock.MostGroups) return this
        first(known) = i
        known += 1
      }
      groups(i) = group
      ends(group + 1) += 1
      i += 1
    }
    var group = 0
    while (group < known) { ends(group + 1) += ends(group); group += 1 }
    val order = new Array[Int](filled)
    i = 0
    while (i < filled) { order(ends(groups(i))) = i; ends(groups(i)) += 1; i += 1 }
    val sorted = new QuadBlock
    i = 0
    while (i < filled) { val at = order(i); sorted.add(s(at), p(at), o(at), g(at)); i += 1 }
    sorted
  }

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(filled)
    for (column <- Seq(s, p, o, g)) LongRuns.write(java.util.Arrays.copyOf(column, filled), out)
  }

  override def readExternal(in: ObjectInput): Unit = {
    filled = in.readInt()
    s = column(in)
    p = column(in)
    o = column(in)
    g = column(in)
  }

  // `add` doubles, so it must never find nothing to double.
  private def column(in: ObjectInput): Array[Long] =
    java.util.Arrays.copyOf(LongRuns.read(filled, in), math.max(filled, 16))
}

private object QuadBlock {
  final val MostGroups = 64
}

/** Growable columns of pairs, sorted by both of them with a radix sort. */
private[cqels] final class PairBuffer {
  private var filled = 0
  private var first = new Array[Long](16)
  private var second = new Array[Long](16)

  def size: Int = filled
  def left(i: Int): Long = first(i)
  def right(i: Int): Long = second(i)

  def add(a: Long, b: Long): Unit = {
    if (filled == first.length) {
      first = java.util.Arrays.copyOf(first, filled * 2)
      second = java.util.Arrays.copyOf(second, filled * 2)
    }
    first(filled) = a
    second(filled) = b
    filled += 1
  }

  /** Sorts by the first column, then by the second, both as signed numbers. */
  def sort(): Unit = {
    sortBy(second = true)
    sortBy(second = false)
  }

  def sortBy(second: Boolean): Unit = {
    var keys = if (second) this.second else first
    var others = if (second) first else this.second
    var keysTo = new Array[Long](filled)
    var othersTo = new Array[Long](filled)
    val starts = new Array[Int](257)
    var shift = 0
    while (shift < 64) {
      java.util.Arrays.fill(starts, 0)
      // The top byte is signed: flipping its sign bit puts negative numbers first.
      val flip = if (shift == 56) 0x80 else 0
      var i = 0
      while (i < filled) { starts((((keys(i) >>> shift).toInt & 0xff) ^ flip) + 1) += 1; i += 1 }
      if (!starts.contains(filled)) {
        i = 0
        while (i < 256) { starts(i + 1) += starts(i); i += 1 }
        i = 0
        while (i < filled) {
          val digit = ((keys(i) >>> shift).toInt & 0xff) ^ flip
          val at = starts(digit)
          starts(digit) = at + 1
          keysTo(at) = keys(i)
          othersTo(at) = others(i)
          i += 1
        }
        val (k, v) = (keys, others)
        keys = keysTo
        others = othersTo
        keysTo = if (k.length == filled) k else new Array[Long](filled)
        othersTo = if (v.length == filled) v else new Array[Long](filled)
      }
      shift += 8
    }
    if (second) { this.second = keys; first = others } else { first = keys; this.second = others }
    if (first.length == 0) { first = new Array(16); this.second = new Array(16) }
  }
}
