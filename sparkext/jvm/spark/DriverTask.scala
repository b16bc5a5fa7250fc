package org.apache.spark.sql.cqels
package spark

import java.util.Properties
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{SparkContext, SparkEnv, TaskContext, TaskContextImpl}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.memory.TaskMemoryManager

/** A task context for work done on the driver itself.
 *
 *  Aggregates, sorts and cached scans need a context with memory and block locks of its own; `TaskContext.empty` has
 *  neither. The metrics object is not registered with the listener bus: that would leave accumulators behind at each run.
 */
private[cqels] object DriverTask {
  private val ids = new AtomicLong(1L << 40)

  def run[T](partition: Int, properties: Properties)(body: TaskContext => T): T = {
    val env = SparkEnv.get
    val id = ids.getAndIncrement()
    env.blockManager.registerTask(id)
    val context = new TaskContextImpl(0, 0, partition, id, 0, 1, new TaskMemoryManager(env.memoryManager, id),
      properties, env.metricsSystem, TaskMetrics.empty, TaskCores.one, Map.empty)
    val outer = TaskContext.get()
    TaskContext.setTaskContext(context)
    var failure: Option[Throwable] = None
    try body(context)
    catch { case e: Throwable => failure = Some(e); throw e }
    finally {
      try context.markTaskCompleted(failure)
      finally {
        env.blockManager.releaseAllLocksForTask(id)
        context.taskMemoryManager.cleanUpAllAllocatedMemory()
        if (outer == null) TaskContext.unset() else TaskContext.setTaskContext(outer)
      }
    }
  }

  /** A copy of this thread's properties: SQLConf.get inside a task reads the context's, and without them time zones and
   *  ANSI mode are the defaults.
   */
  def localProperties(): Properties = {
    val copy = new Properties()
    val local = SparkContext.getActive.map(_.getLocalProperties).orNull
    if (local != null) local.stringPropertyNames().forEach(k => copy.setProperty(k, local.getProperty(k)))
    copy
  }
}
