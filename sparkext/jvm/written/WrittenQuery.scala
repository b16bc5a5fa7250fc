package org.apache.spark.sql.cqels
package written

import org.apache.spark.sql.catalyst.analysis.{SQLFunctionExpression, SQLFunctionNode}
import org.apache.spark.sql.catalyst.expressions.VariableReference
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession

/** What a query is written as. */
private[cqels] sealed trait WrittenQuery {
  /** Analysed as Spark would analyse it now. */
  def meaning(): Meaning
}

/** An analysed query, and whether analysing it again would give the same, as far as names go. */
private[cqels] final case class Meaning(plan: LogicalPlan, isSame: () => Boolean)

/** A DataFrame is analysed once. */
private[cqels] final class WrittenFrame(analyzed: LogicalPlan) extends WrittenQuery {
  override def meaning(): Meaning = Meaning(analyzed, () => true)
}

private[cqels] final class WrittenText(session: SparkSession, text: String) extends WrittenQuery {
  private var names: QueryNames = _ // of the last analysis

  override def meaning(): Meaning = session.withActive(analysed(WrittenText.Attempts))

  /** Names that get another meaning meanwhile are looked up again; tables that are met for the first time, too. */
  private def analysed(attempts: Int): Meaning = {
    // Parsed each time: what the parser makes of a text may depend on settings.
    val written = session.sessionState.sqlParser.parsePlan(text)
    val parsed = if (names == null) written else names.withDropped(written)
    val found = new QueryNames(session, written)
    val before = found.now
    val plan = session.sessionState.executePlan(parsed).analyzed
    val after = found.now
    if (before != after && attempts > 1) analysed(attempts - 1)
    else {
      found.keep(names)
      names = found
      val open = before != after || found.areOpen || WrittenText.tellsTime(text) || WrittenText.isOpen(plan)
      Meaning(plan, if (open) () => false else () => found.now == after)
    }
  }
}

private object WrittenText {
  private final val Attempts = 3
  private val Word = "(?i)['\"]\\s*(now|today|tomorrow|yesterday)\\b".r

  /** Whether a text may have `DATE 'today'` or its like, for which the parser puts the day of now. */
  def tellsTime(text: String): Boolean = Word.findFirstIn(text).isDefined

  /** Whether a plan has what no name in the text tells of. */
  private def isOpen(plan: LogicalPlan): Boolean = plan.collectFirstWithSubqueries {
    case node if node.isInstanceOf[SQLFunctionNode] || node.expressions.exists(_.exists {
      case _: VariableReference | _: SQLFunctionExpression => true
      case _ => false
    }) => node
  }.isDefined
}
