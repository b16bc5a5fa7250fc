package org.apache.spark.broadcast {

  import scala.reflect.ClassTag

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

  private[broadcast] final class InProcessHandle(id: Long) extends Serializable {
    private def readResolve(): AnyRef = {
      val found = InProcessBroadcast.find(id)
      if (found == null) throw new IllegalStateException(s"index $id is not in this process: the plan must be bound for a cluster")
      found
    }
  }

  private[broadcast] object InProcessBroadcast {
    private val all = new java.util.concurrent.ConcurrentHashMap[Long, java.lang.ref.WeakReference[InProcessBroadcast[_]]]()

    def register(b: InProcessBroadcast[_]): Unit = {
      all.entrySet().removeIf(e => e.getValue.get() == null)
      all.put(b.id, new java.lang.ref.WeakReference(b))
    }

    def find(id: Long): InProcessBroadcast[_] = {
      val ref = all.get(id)
      if (ref == null) null else ref.get()
    }
  }
}
