package org.apache.spark.sql.cqels
package recordings

/** The lines of a text, one after the other, as they lie in a buffer; a line ends with LF, CR LF or CR.
 *
 *  A byte order mark of UTF-8 at the beginning is left out.
 */
private[cqels] final class RecordedLines private (source: RecordedBytes, var bytes: Array[Byte], private var filled: Int) {
  private var next = 0 // where the line after the one of now begins
  private var passLineFeed = false
  private var ended = source == null
  /** Where the line of now begins and ends in `bytes`. */
  var from = 0
  var until = 0
  /** Of the line of now, from 1. */
  var number = 0
  /** Whether all bytes of the line of now are ASCII. */
  var isAscii = true

  private[recordings] def this(source: RecordedBytes) = this(source, new Array[Byte](1 << 17), 0)

  /** The lines of a text that is in memory, where it lies. */
  def this(document: Array[Byte]) = this(null, document, document.length)

  fill()
  if (filled >= 3 && bytes(0) == 0xef.toByte && bytes(1) == 0xbb.toByte && bytes(2) == 0xbf.toByte) next = 3

  /** Goes on to the next line; false at the end. */
  def advance(): Boolean = {
    if (passLineFeed) {
      if (next == filled) fill()
      if (next < filled && bytes(next) == '\n') next += 1
      passLineFeed = false
    }
    var i = next
    var seen = 0
    var found = false
    var over = false
    while (!found && !over) {
      while (i < filled && { val b = bytes(i); b != '\n' && b != '\r' }) {
        seen |= bytes(i)
        i += 1
      }
      if (i < filled) found = true
      else if (ended) over = true
      else {
        val length = i - next
        fill()
        i = next + length
      }
    }
    if (over && i == next) return false
    from = next
    until = i
    isAscii = seen >= 0
    number += 1
    next = if (found) i + 1 else i
    passLineFeed = found && bytes(i) == '\r'
    true
  }

  /** Reads more behind what has not been gone through, which moves to the front. */
  private def fill(): Unit = if (!ended) {
    if (next > 0) {
      System.arraycopy(bytes, next, bytes, 0, filled - next)
      filled -= next
      next = 0
    }
    if (filled == bytes.length) {
      if (bytes.length > Int.MaxValue / 2 - 8) throw new OutOfMemoryError(s"line ${number + 1} is too long")
      bytes = java.util.Arrays.copyOf(bytes, bytes.length * 2)
    }
    // A byte order mark must not come in parts.
    do {
      val count = source.read(bytes, filled, bytes.length - filled)
      if (count < 0) ended = true else filled += count
    } while (!ended && filled < 3)
  }
}
