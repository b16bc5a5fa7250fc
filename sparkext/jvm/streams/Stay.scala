package org.apache.spark.sql.cqels
package streams

import org.apache.spark.sql.cqels.functions.Numbers

/** For how long a window shows an element: `width` after its time or, with a slide, until the last window that holds it
 *  has closed (RSP-QL, Definition 12).
 */
private[cqels] final class Stay(width: Long, slide: Long, start: Long) {
  /** The first instant at which an element of that time is no longer shown. */
  def until(time: Long): Long =
    if (slide == 0) time + width
    else start + (-Math.floorDiv(start - time, slide) - 1) * slide + width + 1
}

private[cqels] object Stay {
  def parse(text: String): Stay = {
    val numbers = Numbers.list(text)
    new Stay(numbers(0), numbers(1), numbers(2))
  }
}
