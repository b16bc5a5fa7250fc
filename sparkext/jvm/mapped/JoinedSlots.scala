package org.apache.spark.sql.cqels
package mapped

import org.apache.spark.sql.cqels.memory.ByteSink

/** Quoted triples of terms of the row. */
private[mapped] final class QuotedSlot(parts: Array[TermSlot], terms: RowTerms) extends TermSlot {
  private var lastRow = -1
  private var lastId = 0L

  override val makesSeveral: Boolean = parts.exists(_.makesSeveral)

  def id(row: Int): Long = {
    if (row != lastRow) {
      val (s, p, o) = (parts(0).id(row), parts(1).id(row), parts(2).id(row))
      lastId = if (s == 0 || p == 0 || o == 0) 0L else terms.quoted(s, p, o)
      lastRow = row
    }
    lastId
  }

  override def addAll(row: Int, out: Ids): Unit =
    if (!makesSeveral) super.addAll(row, out)
    else {
      val all = parts.map { part => val ids = new Ids; part.addAll(row, ids); ids }
      for (s <- 0 until all(0).size; p <- 0 until all(1).size; o <- 0 until all(2).size)
        out.add(terms.quoted(all(0).values(s), all(1).values(p), all(2).values(o)))
    }
}

/** The terms of rows of another source whose values equal the row's. */
private[mapped] final class JoinedSlot(table: JoinTable, columns: Array[MappedColumn], terms: RowTerms) extends TermSlot {
  override def makesSeveral: Boolean = true
  def id(row: Int): Long = throw new UnsupportedOperationException("a join makes several terms")

  override def addAll(row: Int, out: Ids): Unit =
    if (!columns.exists(_.isNull(row))) {
      val found = table.terms(columns.toSeq.map(MappedTexts.of(_, row)))
      if (found != null) found.foreach(term => out.add(if (term.id != 0) term.id else terms.encoded("_:" + terms.elementScope + term.label)))
    }
}

/** The terms of the row as a row of the parent's source, where it fits: what a join with the own source finds in a stream. */
private[mapped] final class OwnRowSlot(term: TermSlot, pairs: Array[(MappedColumn, MappedColumn)]) extends TermSlot {
  override val makesSeveral: Boolean = term.makesSeveral
  def id(row: Int): Long = if (fits(row)) term.id(row) else 0L
  override def addAll(row: Int, out: Ids): Unit = if (fits(row)) term.addAll(row, out)

  private def fits(row: Int): Boolean = pairs.forall { case (own, parent) =>
    !own.isNull(row) && !parent.isNull(row) && ((own eq parent) || MappedTexts.of(own, row) == MappedTexts.of(parent, row))
  }
}

private[mapped] object MappedTexts {
  def of(column: MappedColumn, row: Int): String = {
    val sink = new ByteSink(64)
    column.appendLexical(row, sink)
    sink.text
  }
}

/** A term of a row of another source: an id, or the label of a blank node, which each element has for itself. */
private[mapped] final class JoinedTerm(val id: Long, val label: String)

/** The terms of another source's rows by the values that join conditions ask for. */
private[mapped] final class JoinTable(rows: Map[Seq[String], Array[JoinedTerm]]) {
  def terms(key: Seq[String]): Array[JoinedTerm] = rows.getOrElse(key, null)
}
