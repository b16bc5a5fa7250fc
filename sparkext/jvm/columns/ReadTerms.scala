package org.apache.spark.sql.cqels
package columns

import java.io.{Externalizable, ObjectInput, ObjectOutput}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.cqels.memory.{ByteSink, LongRuns}

/** A column of terms: for each row the code of its term, -1 for none, and for each code the term's canonical text, or what is wrong
 *  with it.
 */
private[cqels] final class ReadTerms extends Externalizable {
  import TermReader._

  var codes: Array[Int] = _
  var states: Array[Byte] = _
  private var starts: Array[Int] = _
  private var ends: Array[Int] = _
  private var made: Array[Byte] = _
  private var given: Array[Byte] = _ // of terms that stand in the column as their canonical texts do

  def size: Int = states.length
  def bytes(code: Int): Array[Byte] = if (states(code) == AsItStands) given else made
  def from(code: Int): Int = starts(code)
  def until(code: Int): Int = ends(code)
  def text(code: Int): String = new String(bytes(code), starts(code), ends(code) - starts(code), UTF_8)

  /** What is wrong with the term of a row, null if nothing is. */
  def flaw(row: Int, role: Int): String = {
    val code = codes(row)
    if (code < 0) s"no ${Names(role)}" else if (states(code) == Flawed) text(code) else null
  }

  /** With the texts of its terms alone. */
  override def writeExternal(out: ObjectOutput): Unit = {
    val renumbered = new Array[Int](size)
    var used = 0
    for (code <- states.indices if states(code) != Unread) { renumbered(code) = used; used += 1 }
    val told = states.indices.filter(states(_) != Unread)
    out.writeInt(codes.length)
    LongRuns.writeInts(codes.map(code => if (code < 0) 0 else renumbered(code) + 1), out)
    out.writeInt(used)
    out.write(told.map(code => if (states(code) == AsItStands) Term else states(code)).toArray)
    LongRuns.writeInts(told.map(code => ends(code) - starts(code)).toArray, out)
    told.foreach(code => out.write(bytes(code), starts(code), ends(code) - starts(code)))
  }

  override def readExternal(in: ObjectInput): Unit = {
    val rows = in.readInt()
    codes = LongRuns.readInts(rows, in).map(_ - 1)
    states = new Array[Byte](in.readInt())
    in.readFully(states)
    val lengths = LongRuns.readInts(states.length, in)
    ends = lengths.scanLeft(0)(_ + _).tail
    starts = Array.tabulate(states.length)(code => ends(code) - lengths(code))
    made = new Array[Byte](if (ends.isEmpty) 0 else ends.last)
    in.readFully(made)
  }
}

private[cqels] object ReadTerms {
  import TermReader._

  /** Reads what the rows of a column hold, each code once. */
  def of(column: CodedColumn, role: Int, reader: TermReader): ReadTerms = {
    val read = new ReadTerms
    val made = new ByteSink(256)
    val values = column.values
    read.codes = column.codes
    read.states = new Array[Byte](values.rows)
    read.starts = new Array[Int](values.rows)
    read.ends = new Array[Int](values.rows)
    var row = 0
    while (row < column.codes.length) {
      val code = column.codes(row)
      if (code >= 0 && read.states(code) == Unread) {
        read.starts(code) = made.length
        read.states(code) = reader.read(values, code, role, made)
        values match {
          case texts: TextColumn if read.states(code) == AsItStands =>
            read.starts(code) = texts.from(code)
            read.ends(code) = texts.until(code)
          case _ => read.ends(code) = made.length
        }
      }
      row += 1
    }
    read.made = made.array
    values match { case texts: TextColumn => read.given = texts.bytes; case _ => }
    read
  }

  /** What the rows of a column hold, canonical texts all of them. */
  def ofCanonical(column: CodedColumn): ReadTerms = {
    val texts = column.values.asInstanceOf[TextColumn]
    val read = new ReadTerms
    read.codes = column.codes
    read.states = new Array[Byte](texts.rows)
    read.starts = Array.tabulate(texts.rows)(texts.from)
    read.ends = Array.tabulate(texts.rows)(texts.until)
    read.given = texts.bytes
    read.made = texts.bytes
    column.codes.foreach { code =>
      if (code >= 0 && read.states(code) == Unread) read.states(code) = if (mayHoldBlank(texts, code)) Scoped else AsItStands
    }
    read
  }

  private def mayHoldBlank(texts: TextColumn, row: Int): Boolean = {
    val (bytes, from) = (texts.bytes, texts.from(row))
    bytes(from) == '_' || bytes(from) == '<' && bytes(from + 1) == '<' && texts.text(row).contains("_:")
  }

  /** No term in any row. */
  def none(rows: Int): ReadTerms = {
    val read = new ReadTerms
    read.codes = new Array[Int](rows)
    Arrays.fill(read.codes, -1)
    read.states = Array.emptyByteArray
    read
  }
}
