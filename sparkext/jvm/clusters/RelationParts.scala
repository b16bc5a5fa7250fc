package org.apache.spark.sql.cqels
package clusters

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.cqels.indexes.MappedContent
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{HashedRows, KeyedRows, RelationContent, StaticContent}
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.cqels.streams.MergedContent

/** A relation as the tasks of a job find it: as a whole everywhere, or in parts of which a task is given one; with `live` parts, what a
 *  window adds to those of static data.
 */
private[clusters] final class ShippedRelation(
    whole: Broadcast[ShippedContent], parts: Array[Broadcast[ShippedContent]], live: Array[Broadcast[ShippedContent]]) extends Serializable {
  def here(part: Int): RelationContent =
    if (whole != null) whole.value.content
    else if (live == null) parts(part).value.content
    else new PairedContent(parts(part).value.content, live(part).value.content)
}

/** Rows of two contents, each of which counts by itself. */
private[clusters] final class PairedContent(first: RelationContent, second: RelationContent) extends RelationContent(first.name, first.arity) {
  override def live: Boolean = true
  override def rowCount: Long = first.rowCount + second.rowCount
  override def scan(slice: Int, slices: Int) = first.scan(slice, slices) ++ second.scan(slice, slices)
  override def keyed(keys: Array[Int]): Array[KeyedRows] = first.keyed(keys) ++ second.keyed(keys)
  override def index(columns: Array[Int], keys: Array[Int]) = throw new UnsupportedOperationException("only joins of clusters read it")
  override def snapshot(): StaticContent = throw new UnsupportedOperationException("it is a copy already")
}

/** Relations in parts, by the values of one column: those of a part are together in one process of a cluster.
 *
 *  A part travels as a broadcast of its own, which only those executors fetch that are given its task, and keep with the indexes that were made
 *  of it. Parts of static data serve all jobs.
 */
private[clusters] object RelationParts {
  private final val Sampled = 2048
  private final class Kept { val parts = mutable.Map[(String, Int, Int), Array[Broadcast[ShippedContent]]](); val distinct = mutable.Map[Int, Double]() }
  private val static = new java.util.WeakHashMap[StaticContent, Kept]()
  private def kept(content: StaticContent): Kept = static.computeIfAbsent(content, _ => new Kept)

  /** The part in which rows with a value lie: a range of the upper half of its hash, as rows in files lie. */
  @inline def partOf(value: Long, parts: Int): Int = (((HashedRows.hash(value) >>> 32) * parts) >>> 32).toInt

  /** The rows of a table by the part in which they are; of rows in files, where they are. */
  def split(content: StaticContent, column: Int, parts: Int): Array[StaticContent] = content match {
    case inFiles: MappedContent => Array.tabulate(parts)(inFiles.part(column, _, parts))
    case held => splitRows(held, column, parts)
  }

  private def splitRows(content: StaticContent, column: Int, parts: Int): Array[StaticContent] = {
    val rows = content.table
    val (arity, n, data) = (content.arity, rows.rowCount, rows.data)
    val sizes = new Array[Int](parts)
    var r = 0
    while (r < n) { sizes(partOf(data(r * arity + column), parts)) += 1; r += 1 }
    val tables = sizes.map(new LongTable(arity, _))
    val counts = if (content.counts == null) null else sizes.map(new Array[Int](_))
    r = 0
    while (r < n) {
      val p = partOf(data(r * arity + column), parts)
      if (counts != null) counts(p)(tables(p).rowCount) = content.counts(r)
      tables(p).appendAll(data, r, 1)
      r += 1
    }
    Array.tabulate(parts)(p => StaticContent(content.name, tables(p), if (counts == null) null else counts(p), content.isLasting))
  }

  /** Any content in parts, here. */
  def splitHere(content: RelationContent, column: Int, parts: Int): Array[RelationContent] = content match {
    case merged: MergedContent =>
      split(merged.staticRows, column, parts).zip(split(merged.windowRows.snapshot(), column, parts)).map { case (s, w) => new PairedContent(s, w) }
    case other => split(other.snapshot(), column, parts).toArray[RelationContent]
  }

  /** A relation in parts on a cluster, and what of it serves one run only. */
  def send(sc: SparkContext, content: RelationContent, column: Int, parts: Int): (ShippedRelation, Seq[Broadcast[ShippedContent]]) = content match {
    case lasting: StaticContent if lasting.isLasting => (new ShippedRelation(null, keep(sc, lasting, column, parts), null), Nil)
    case merged: MergedContent =>
      val now = broadcast(sc, merged.windowRows.snapshot(), column, parts)
      (new ShippedRelation(null, keep(sc, merged.staticRows, column, parts), now), now.toSeq)
    case other =>
      val now = broadcast(sc, other.snapshot(), column, parts)
      (new ShippedRelation(null, now, null), now.toSeq)
  }

  /** How many times static data have been put in parts so far, each time by another column or for another number of parts. */
  def keptOf(content: StaticContent): Int = static.synchronized { val known = static.get(content); if (known == null) 0 else known.parts.size }

  private def keep(sc: SparkContext, content: StaticContent, column: Int, parts: Int): Array[Broadcast[ShippedContent]] =
    static.synchronized(kept(content).parts.getOrElseUpdate((sc.applicationId, column, parts), broadcast(sc, content, column, parts)))

  // The driver keeps them as they travel: it has the rows as a whole.
  private def broadcast(sc: SparkContext, content: StaticContent, column: Int, parts: Int): Array[Broadcast[ShippedContent]] =
    split(content, column, parts).map(part => Jobs.broadcastSerialized(sc, new ShippedContent(part)))

  /** One of several columns by which a relation could be in parts: by which it is already, or else one of many values. */
  def column(content: RelationContent, columns: Seq[Int], parts: Int): Int =
    if (columns.length == 1) columns.head
    else content match {
      case merged: MergedContent => column(merged.staticRows, columns, parts)
      case fixed: StaticContent => static.synchronized {
        val known = kept(fixed)
        columns.find(c => known.parts.keysIterator.exists { case (_, by, n) => by == c && n == parts })
          .getOrElse(columns.maxBy(c => known.distinct.getOrElseUpdate(c, distinctOf(fixed, c))))
      }
      case _ => columns.head
    }

  /** Of so many rows at equal steps, how many have another value in a column than those before. */
  private def distinctOf(content: StaticContent, column: Int): Double = {
    val sample = new LongTable(content.arity, Sampled)
    for (part <- 0 until Sampled) content.append(part, Sampled, sample, 1)
    (0 until sample.rowCount).map(sample(_, column)).distinct.length.toDouble
  }
}
