package org.apache.spark.sql.cqels
package runs

import java.util.concurrent.{Callable, Executors, Future}

/** The threads beside its own on which a run on the driver works. */
private[cqels] object Workers {
  private lazy val threads = Executors.newFixedThreadPool(math.max(1, Runtime.getRuntime.availableProcessors), (r: Runnable) => {
    val thread = new Thread(r, "cqels-slice")
    thread.setDaemon(true)
    thread
  })

  def submit[T](task: () => T): Future[T] = threads.submit(new Callable[T] { override def call(): T = task() })
}
