package org.apache.spark.sql.cqels
package join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.cqels.calls.CountedRows

/** What a join cluster joins: relations over numbered variables, filters and BINDs over them, and what is read of the result.
 *
 *  Sets of relations, variables and items are bits of a long: there are 62 of each at most. `shape` has an attribute for each
 *  variable, whose name is among `names`, to which the expressions of items refer, unless `expressionShape` and `expressionRow` show
 *  them something else.
 */
class JoinSpec(
    val names: Array[String], val relations: Array[JoinedRelation], val items: Array[JoinItem], val shape: Array[Attribute], val output: Array[Int])
    extends Serializable {
  require(relations.nonEmpty && relations.length <= JoinSpec.Most, s"${relations.length} relations in one join")
  require(variables <= JoinSpec.Most && items.length <= JoinSpec.Most, s"$variables variables and ${items.length} filters in one join")

  def variables: Int = shape.length
  /** What expressions of items refer to, and how they see a row of a vector: one such row for each thread. */
  def expressionShape: Seq[Attribute] = shape.toSeq
  def expressionRow(): VectorRow = new VectorRow(variables)
  val allRelations: Long = JoinSpec.bits(relations.indices)
  val allItems: Long = JoinSpec.bits(items.indices)
  val outputBits: Long = JoinSpec.bits(output)
  private val made = JoinSpec.bits(items.collect { case i if i.binds >= 0 => i.binds })

  /** Items that count: all but BINDs of what nobody reads. */
  val usefulItems: Long = {
    var read = outputBits | relations.foldLeft(0L)(_ | _.bits)
    var found = 0L
    def next: Option[Int] = items.indices.find(i => (found & 1L << i) == 0 && (items(i).binds < 0 || (read & 1L << items(i).binds) != 0))
    var item = next
    while (item.isDefined) { found |= 1L << item.get; read |= items(item.get).reads; item = next }
    found
  }

  /** Whether a filter is asked of rows of samples, too. Not where that costs much or is counted, nor where it reads what a BIND makes. */
  def isSampled(item: Int): Boolean = {
    val i = items(item)
    i.binds < 0 && !i.expensive && !i.counted && (i.reads & made) == 0
  }
}

object JoinSpec {
  final val Most = 62
  def bits(places: Iterable[Int]): Long = places.foldLeft(0L)((set, place) => set | 1L << place)
  def places(set: Long): Array[Int] = (0 until 64).filter(i => (set & 1L << i) != 0).toArray
}

/** A relation of a join: the variable of each of its columns, each once; what it holds is told for each evaluation.
 *
 *  `covers` are the relations of the query whose join it is where it stands for several of them.
 */
final class JoinedRelation(val name: String, val variables: Array[Int]) extends Serializable {
  require(variables.distinct.length == variables.length, s"$name has a variable twice")
  val bits: Long = JoinSpec.bits(variables)
}

/** A filter, or a BIND that gives variable `binds` (-1: none) its value; `reads` are variables that must be bound before. */
final class JoinItem(val name: String, val reads: Long, val binds: Int, val expression: Expression, val expensive: Boolean) extends Serializable {
  /** Whether each computation counts as one of the evaluation's, as of calls of uncertainty functions. */
  val counted: Boolean = expression.exists(_.isInstanceOf[CountedRows])
}

/** The order of a join, as data: what is streamed first, and what may be chosen while it runs.
 *
 *  With `sequence`, relations are joined one after the other as it says; else each vector of rows goes where that is cheapest.
 *  With `steps`, by their names (`JoinStep.unnumbered`), the first of these that can be taken is. `driver` is the relation whose rows are read; -1: the one
 *  from which the rest is cheapest. An item waits for the relations `after` names, where it does.
 */
final case class JoinOrderData(driver: Int, sequence: Array[Int], steps: Array[String], after: Array[Long])

object JoinOrderData {
  def free(items: Int): JoinOrderData = JoinOrderData(-1, null, null, new Array[Long](items))
}
