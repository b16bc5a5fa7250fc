package org.apache.spark.sql.cqels

import java.util.concurrent.ExecutionException
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

/** Independent steps of which a second thread of the driver does some, if one is free at once. */
private[cqels] object SharedLoop {
  /** Calls `step` with each number below `count` once, in no order; all have ended when it returns.
   *
   *  Nothing is waited for but steps that have begun: where all threads are busy, all are done here.
   */
  def apply(count: Int)(step: Int => Unit): Unit = {
    val next = new AtomicInteger
    def work(): Unit = {
      var i = next.getAndIncrement()
      while (i < count) { step(i); i = next.getAndIncrement() }
    }
    val begun = new AtomicBoolean
    val other = if (count < 2 || Runtime.getRuntime.availableProcessors < 2) null else SlicedExecution.submit(() => if (begun.compareAndSet(false, true)) work())
    try work()
    finally {
      next.set(count) // after a failure, no more steps begin
      if (other != null && !begun.compareAndSet(false, true))
        try other.get() catch { case e: ExecutionException => throw e.getCause }
    }
  }
}
