package org.apache.spark.sql.cqels
package clusters

import java.io.{ObjectInputStream, ObjectOutputStream}

import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.cqels.memory.{LongArrayIO, LongTable}
import org.apache.spark.sql.cqels.relations.{RelationContent, StaticContent}
import org.apache.spark.sql.cqels.spark.{BroadcastIds, InProcessBroadcast}

/** The rows of one relation for the tasks of a job: in this process as they are, elsewhere as primitive arrays, once a process. */
private[clusters] final class ShippedContent(@transient private var held: RelationContent) extends java.io.Externalizable with KryoSerializable {
  def this() = this(null)
  def content: RelationContent = held

  override def writeExternal(out: java.io.ObjectOutput): Unit = {
    val now = held.snapshot()
    out.writeObject(now.name)
    out.writeInt(now.arity)
    out.writeInt(now.table.rowCount)
    LongArrayIO.write(out, now.table.data, now.table.rowCount * now.arity)
    out.writeObject(now.counts)
    out.writeBoolean(now.isLasting)
  }

  // Kryo would take the fields one by one.
  override def write(kryo: Kryo, output: Output): Unit = { val out = new ObjectOutputStream(output); writeExternal(out); out.flush() }
  override def read(kryo: Kryo, input: Input): Unit = readExternal(new ObjectInputStream(input))

  override def readExternal(in: java.io.ObjectInput): Unit = {
    val name = in.readObject().asInstanceOf[String]
    val arity = in.readInt()
    val count = in.readInt()
    val rows = LongTable.of(arity, LongArrayIO.read(in))
    while (rows.rowCount < count) rows.appendRow() // of no columns: there are no cells that tell how many
    held = new StaticContent(name, rows, in.readObject().asInstanceOf[Array[Int]], in.readBoolean())
  }
}

private[clusters] object ShippedContent {
  private val static = new java.util.WeakHashMap[StaticContent, Broadcast[ShippedContent]]()

  /** A content for all executors, and what of it serves one run only. */
  def broadcast(sc: SparkContext, content: RelationContent): (ShippedRelation, Seq[Broadcast[ShippedContent]]) = {
    def whole(sent: Broadcast[ShippedContent]) = new ShippedRelation(sent, null, null)
    if (sc.isLocal) (whole(new InProcessBroadcast[ShippedContent](BroadcastIds.take(), () => new ShippedContent(content))), Nil)
    else content match {
      case lasting: StaticContent if lasting.isLasting => (whole(static.synchronized(static.computeIfAbsent(lasting, c =>
        // Not the content itself: what the broadcast refers to stays as long as there is an entry.
        sc.broadcast(new ShippedContent(new StaticContent(c.name, c.table, c.counts, lasting = true)))))), Nil)
      case other => val sent = sc.broadcast(new ShippedContent(other)); (whole(sent), Seq(sent))
    }
  }
}
