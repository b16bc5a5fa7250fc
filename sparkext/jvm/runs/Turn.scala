package org.apache.spark.sql.cqels
package runs

import java.util.concurrent.locks.ReentrantLock

/** The turn of one call among those that must not overlap, which may make others of them.
 *
 *  Java goes on with a call that Python was interrupted in: the next one waits here until it has ended. A thread that works for such a
 *  call must not ask for the turn, which its caller has.
 */
private[cqels] final class Turn extends ReentrantLock {
  def apply[T](call: => T): T = {
    lock()
    try call finally unlock()
  }
}
