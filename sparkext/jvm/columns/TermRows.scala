package org.apache.spark.sql.cqels
package columns

import java.io.{Externalizable, ObjectInput, ObjectOutput}

import org.apache.spark.sql.cqels.memory.LongRuns

/** Rows of terms with times, read but in no dictionary: subjects, predicates, objects, and graphs where there are any. */
private[cqels] final class TermRows(var times: Array[Long], var terms: Array[ReadTerms]) extends Externalizable {
  def this() = this(null, null)

  def rows: Int = times.length
  def hasGraphs: Boolean = terms.length > TermReader.Graph

  override def writeExternal(out: ObjectOutput): Unit = {
    out.writeInt(times.length)
    LongRuns.write(times, out)
    out.writeInt(terms.length)
    terms.foreach(_.writeExternal(out))
  }

  override def readExternal(in: ObjectInput): Unit = {
    times = LongRuns.read(in.readInt(), in)
    terms = Array.fill(in.readInt()) { val read = new ReadTerms; read.readExternal(in); read }
  }
}

private[cqels] object TermRows {
  /** In place of a time. */
  final val NoTime = Long.MinValue
  final val NotWhole = Long.MinValue + 1
  final val OutOfRange = Long.MaxValue
  private final val Greatest = (1L << 53) - 1

  /** Reads the columns subject, predicate, object, time and perhaps graph. */
  def of(columns: RowColumns, rdf12: Boolean, accepts: Boolean): TermRows = {
    val reader = new TermReader(rdf12, accepts)
    val named = TermReader.Names.filter(name => name != "graph" || columns.find(name) != null)
    val terms = named.indices.map(role => ReadTerms.of(columns(named(role)).coded, role, reader)).toArray
    new TermRows(times(columns("time")), terms)
  }

  /** Milliseconds, of moments and of whole numbers. */
  def times(column: RowColumn): Array[Long] = {
    val found = column match {
      case numbers: LongColumn => numbers.values.map(inRange)
      case moments: TimestampColumn => Array.tabulate(column.rows)(row => if (column.isNull(row)) 0L else inRange(millis(moments, row)))
      case numbers: DoubleColumn => numbers.values.map(v => if (v.isNaN) NoTime else if (v != math.rint(v)) NotWhole else inRange(v.toLong))
      case coded: CodedColumn =>
        val distinct = times(coded.values)
        coded.codes.map(code => if (code < 0) NoTime else distinct(code))
      case _ if column.rows == 0 => Array.emptyLongArray
      case _ => throw new IllegalArgumentException(s"column ${column.name}: no times")
    }
    var row = 0
    while (row < found.length) { if (column.isNull(row)) found(row) = NoTime; row += 1 }
    found
  }

  def inRange(time: Long): Long = if (time > Greatest || time < -Greatest) OutOfRange else time

  private def millis(moments: TimestampColumn, row: Int): Long =
    try moments.millis(row) catch { case _: ArithmeticException => OutOfRange }

  /** What is wrong with a time, null if nothing is. */
  def flaw(time: Long): String =
    if (time == NoTime) "no time"
    else if (time == NotWhole) "time is no whole number of milliseconds"
    else if (time == OutOfRange) "time out of range"
    else null
}
