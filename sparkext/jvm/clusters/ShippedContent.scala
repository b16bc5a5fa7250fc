package org.apache.spark.sql.cqels
package clusters

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.cqels.indexes.MappedContent
import org.apache.spark.sql.cqels.memory.{LongArrayIO, LongTable}
import org.apache.spark.sql.cqels.relations.{RelationContent, StaticContent}
import org.apache.spark.sql.cqels.runs.OwnSerialization
import org.apache.spark.sql.cqels.spark.{BroadcastIds, InProcessBroadcast}

/** The rows of one relation for the tasks of a job: in this process as they are, elsewhere as primitive arrays, once a process. */
private[clusters] final class ShippedContent(@transient private var held: RelationContent) extends OwnSerialization {
  def this() = this(null)
  def content: RelationContent = held

  override def writeExternal(out: java.io.ObjectOutput): Unit = {
    val now = held.snapshot()
    val inFiles = now.isInstanceOf[MappedContent]
    out.writeBoolean(inFiles)
    if (inFiles) out.writeObject(now) else writeRows(out, now)
  }

  private def writeRows(out: java.io.ObjectOutput, now: StaticContent): Unit = {
    out.writeObject(now.name)
    out.writeInt(now.arity)
    out.writeInt(now.table.rowCount)
    LongArrayIO.write(out, now.table.data, now.table.rowCount * now.arity)
    out.writeObject(now.counts)
    out.writeBoolean(now.isLasting)
  }

  override def readExternal(in: java.io.ObjectInput): Unit =
    held = if (in.readBoolean()) in.readObject().asInstanceOf[MappedContent] else readRows(in)

  private def readRows(in: java.io.ObjectInput): StaticContent = {
    val name = in.readObject().asInstanceOf[String]
    val arity = in.readInt()
    val count = in.readInt()
    val rows = LongTable.of(arity, LongArrayIO.read(in))
    while (rows.rowCount < count) rows.appendRow() // of no columns: there are no cells that tell how many
    StaticContent(name, rows, in.readObject().asInstanceOf[Array[Int]], in.readBoolean())
  }
}

private[clusters] object ShippedContent {
  private val static = new java.util.WeakHashMap[StaticContent, Broadcast[ShippedContent]]()

  /** Not the content itself: what a broadcast refers to stays as long as there is an entry. */
  private def copyOf(content: StaticContent): StaticContent = content match {
    case inFiles: MappedContent => inFiles.copy()
    case held => StaticContent(held.name, held.table, held.counts, lasting = true)
  }

  /** A content for all executors, and what of it serves one run only. */
  def broadcast(sc: SparkContext, content: RelationContent): (ShippedRelation, Seq[Broadcast[ShippedContent]]) = {
    def whole(sent: Broadcast[ShippedContent]) = new ShippedRelation(sent, null, null)
    if (sc.isLocal) (whole(new InProcessBroadcast[ShippedContent](BroadcastIds.take(), () => new ShippedContent(content))), Nil)
    else content match {
      case lasting: StaticContent if lasting.isLasting => (whole(static.synchronized(static.computeIfAbsent(lasting, c =>
        sc.broadcast(new ShippedContent(copyOf(c)))))), Nil)
      case other => val sent = sc.broadcast(new ShippedContent(other)); (whole(sent), Seq(sent))
    }
  }
}
