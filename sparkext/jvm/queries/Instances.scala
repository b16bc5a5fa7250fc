package org.apache.spark.sql.cqels
package queries

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Paths}
import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.sql.cqels.answers.AnswerForm
import org.apache.spark.sql.cqels.dictionary.Dictionary
import org.apache.spark.sql.cqels.functions.Numbers
import org.apache.spark.sql.cqels.memory.LongTable
import org.apache.spark.sql.cqels.relations.{WindowContent, WindowTable}
import org.apache.spark.sql.cqels.terms.TermCodec

/** The instances of a template, queries that differ in `constants` terms only: a relation that the template's plans join with,
 *  and which of their rows are whose.
 *
 *  A row of the relation is the number of an instance, then its constants, which stay in the dictionary with it. The number comes
 *  with each solution, in its last column.
 */
final class Instances(dictionary: Dictionary, constants: Int) {
  private val table = new WindowTable(constants + 1)
  val content = new WindowContent("instances", table)
  private final class Instance(val row: Array[Long], val offset: Int, val limit: Int)
  private val instances = mutable.HashMap[Int, Instance]()
  private var cut = 0 // how many have an OFFSET or a LIMIT

  /** Takes in instances and forgets others: of each new one, divided by blank lines, lines with its number, its OFFSET and LIMIT
   *  (-1: none) and its constants as N-Triples texts; the numbers of those that go.
   */
  def change(added: String, removed: String): Unit = {
    Numbers.list(removed).foreach(number => remove(number.toInt))
    if (added.nonEmpty) added.split("\n\n").foreach { one =>
      val lines = one.split("\n", -1)
      val Array(offset, limit) = Numbers.list(lines(1))
      add(lines(0).toInt, lines.drop(2), offset.toInt, limit.toInt)
    }
  }

  private def add(number: Int, texts: Array[String], offset: Int, limit: Int): Unit = {
    require(texts.length == constants && !instances.contains(number), s"instance $number of ${texts.length} constants")
    val made = new Instance(TermCodec.integerId(number.toLong) +: texts.map(dictionary.encodeRetained), offset, limit)
    instances(number) = made
    if (isCut(made)) cut += 1
    table.insert(made.row)
  }

  private def remove(number: Int): Unit = instances.remove(number).foreach { gone =>
    table.delete(gone.row)
    if (isCut(gone)) cut -= 1
    dictionary.release(gone.row, gone.row.length)
  }

  def close(): Unit = instances.keys.toSeq.foreach(remove)

  private def isCut(one: Instance): Boolean = one.offset > 0 || one.limit >= 0

  /** The rows instance by instance, within each in their order `order` (null: as they are), as OFFSET and LIMIT have it. */
  private[queries] def arranged(rows: LongTable, order: Array[Integer], column: Int): LongTable = {
    val n = rows.rowCount
    val keys = new Array[Long](n)
    var i = 0
    while (i < n) { keys(i) = number(rows, if (order == null) i else order(i), column) << 32 | i; i += 1 }
    Arrays.sort(keys)
    val out = new LongTable(rows.arity, n)
    var from = 0
    while (from < n) {
      val of = keys(from) >>> 32
      var until = from + 1
      while (until < n && (keys(until) >>> 32) == of) until += 1
      val (first, last) = if (cut == 0) (from, until) else limits(of.toInt, from, until)
      i = first
      while (i < last) {
        val at = keys(i).toInt
        out.appendAll(rows.data, if (order == null) at else order(at), 1)
        i += 1
      }
      from = until
    }
    out
  }

  private def limits(of: Int, from: Int, until: Int): (Int, Int) = instances.get(of) match {
    case Some(one) if isCut(one) =>
      val first = math.min(from.toLong + one.offset, until.toLong).toInt
      (first, if (one.limit < 0) until else math.min(first.toLong + one.limit, until.toLong).toInt)
    case _ => (from, until)
  }

  /** Calls back for the rows of each instance: its number, where they begin, and where they end. Rows of instances that are
   *  gone are nobody's.
   */
  private[queries] def each(rows: LongTable, column: Int)(take: (Int, Int, Int) => Unit): Unit = {
    var from = 0
    while (from < rows.rowCount) {
      val of = number(rows, from, column)
      var until = from + 1
      while (until < rows.rowCount && number(rows, until, column) == of) until += 1
      if (instances.contains(of.toInt)) take(of.toInt, from, until)
      from = until
    }
  }

  private def number(rows: LongTable, row: Int, column: Int): Long = TermCodec.integerValue(rows(row, column))
}

/** What an evaluation answers to each instance: `rows` of one after the other. */
private[queries] final class InstanceShares(instances: Instances, solutions: LongTable, column: Int, form: AnswerForm) {
  private var shares = new Array[Int](64) // number and count, one instance after the other
  private var used = 0
  val rows: LongTable = {
    val out = new LongTable(if (form == null) solutions.arity else form.columns, solutions.rowCount)
    instances.each(solutions, column) { (number, from, until) =>
      if (form == null) { out.appendAll(solutions.data, from, until - from); note(number, until - from) }
      else {
        val own = new LongTable(solutions.arity, until - from)
        own.appendAll(solutions.data, from, until - from)
        val made = form(own)
        out.appendAll(made.data, 0, made.rowCount)
        if (made.rowCount > 0) note(number, made.rowCount)
      }
    }
    out
  }

  private def note(number: Int, count: Int): Unit = {
    if (used == shares.length) shares = Arrays.copyOf(shares, used * 2)
    shares(used) = number
    shares(used + 1) = count
    used += 2
  }

  /** Writes whose the rows are beside the file of answers, as pairs of numbers; the file's name. */
  def write(beside: String): String = {
    val bytes = ByteBuffer.allocate(4 * used).order(ByteOrder.nativeOrder)
    bytes.asIntBuffer.put(shares, 0, used)
    val path = Paths.get(s"$beside-instances")
    Files.write(path, bytes.array)
    path.toString
  }
}
