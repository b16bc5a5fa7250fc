package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.cqels.distributions.Distribution
import org.apache.spark.unsafe.types.UTF8String

/** For how many ordinary ones a key and its value count where so many are kept: what holds many numbers, or a long text, is
 *  one more for each so many bytes of them.
 */
private[cqels] object Weight {
  private final val Bytes = 512
  private final val BytesOfNumber = 16 // a value and how probable it is

  def of(key: AnyRef, value: AnyRef): Int = 1 + ((bytes(key) + bytes(value)) / Bytes).toInt

  private def bytes(held: AnyRef): Long = held match {
    case d: Distribution => d.numbers * BytesOfNumber
    case call: Call => bytes(call.a) + bytes(call.b) + bytes(call.c)
    case text: UTF8String => text.numBytes
    case text: String => text.length
    case (_, text: String) => text.length
    case _ => 0L // null, too
  }
}
