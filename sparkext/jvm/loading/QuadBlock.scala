package org.apache.spark.sql.cqels
package loading

import java.io.{Externalizable, ObjectInput, ObjectOutput}

import org.apache.spark.sql.cqels.memory.LongColumns

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
    for (column <- Seq(s, p, o, g)) LongColumns.write(column, filled, out)
  }

  override def readExternal(in: ObjectInput): Unit = {
    filled = in.readInt()
    s = column(in)
    p = column(in)
    o = column(in)
    g = column(in)
  }

  // `add` doubles, so it must never find nothing to double.
  private def column(in: ObjectInput): Array[Long] = LongColumns.read(filled, math.max(filled, 16), in)
}

private object QuadBlock {
  final val MostGroups = 64
}
