package org.apache.spark.sql.cqels
package columns

import java.util.Arrays

import org.apache.spark.sql.cqels.memory.ByteSink

/** A column of texts in the making. */
private[cqels] final class TextBuilder {
  private val bytes = new ByteSink(1024)
  private var offsets = new Array[Int](65)
  private var missing = new Array[Byte](8)
  private var rows = 0

  /** `text`: UTF-8; null: the row has none. */
  def add(text: Array[Byte]): Unit = {
    if (rows + 1 == offsets.length) offsets = Arrays.copyOf(offsets, rows * 2 + 1)
    if (rows / 8 == missing.length) missing = Arrays.copyOf(missing, missing.length * 2)
    if (text == null) missing(rows >> 3) = (missing(rows >> 3) | (1 << (rows & 7))).toByte
    else bytes.append(text)
    rows += 1
    offsets(rows) = bytes.length
  }

  def column(name: String): TextColumn = new TextColumn(name, rows, new Nulls(missing, false), bytes.array, offsets)
}
