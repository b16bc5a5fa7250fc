package org.apache.spark.sql.cqels
package spark

import java.util.concurrent.atomic.AtomicLong

import scala.reflect.ClassTag

import org.apache.spark.broadcast.Broadcast

/** A broadcast whose value is asked for anew each time and never leaves this process.
 *
 *  Spark's join operators reach their build side through a Broadcast; this one lets a kept plan see the content of
 *  now. Serialised inside a task of the same JVM (local masters run tasks in it), it finds itself again.
 */
final class InProcessBroadcast[T: ClassTag](id: Long, @transient private val current: () => T) extends Broadcast[T](id) {
  InProcessBroadcast.register(this)

  override protected def getValue(): T = current()
  override protected def doUnpersist(blocking: Boolean): Unit = ()
  override protected def doDestroy(blocking: Boolean): Unit = ()
  private def writeReplace(): AnyRef = new InProcessHandle(id)
}

private[spark] final class InProcessHandle(id: Long) extends Serializable {
  private def readResolve(): AnyRef = {
    val found = InProcessBroadcast.find(id)
    if (found == null) throw new IllegalStateException(s"index $id is not in this process: the plan must be bound for a cluster")
    found
  }
}

private[cqels] object InProcessBroadcast {
  private final class Entry(b: InProcessBroadcast[_]) extends java.lang.ref.WeakReference[InProcessBroadcast[_]](b, gone) {
    val id: Long = b.id
  }

  private val gone = new java.lang.ref.ReferenceQueue[InProcessBroadcast[_]]()
  private val all = new java.util.concurrent.ConcurrentHashMap[Long, Entry]()

  def register(b: InProcessBroadcast[_]): Unit = {
    var dead = gone.poll()
    while (dead != null) { all.remove(dead.asInstanceOf[Entry].id); dead = gone.poll() }
    all.put(b.id, new Entry(b))
  }

  def find(id: Long): InProcessBroadcast[_] = {
    val entry = all.get(id)
    if (entry == null) null else entry.get()
  }
}

/** Numbers of broadcasts in this process. */
private[cqels] object BroadcastIds {
  // Far from SparkContext's own numbers.
  private val next = new AtomicLong(1L << 48)
  def take(): Long = next.incrementAndGet()
}
