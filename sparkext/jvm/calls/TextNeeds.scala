package org.apache.spark.sql.cqels
package calls

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.cqels.terms.TermId

/** A function for which ids are not enough: it reads texts of terms, or makes terms, with the dictionary of the driver.
 *
 *  `always`: whichever terms it is given; otherwise those do without whose values are in their ids.
 */
private[cqels] final case class TextNeed(function: String, always: Boolean)

/** An expression class of ours for which ids are not enough; functions of terms are no classes, see `TextNeeds`. */
private[cqels] trait NeedsTexts {
  def textNeed: Option[TextNeed]
}

/** What plans need beside ids. Executors of a cluster have ids only. */
private[cqels] object TextNeeds {
  /** The greatest need of a plan, None where ids are enough for all of it. */
  def of(plan: LogicalPlan): Option[TextNeed] = {
    val needs = plan.collectWithSubqueries { case node => ofNode(node) }.flatten
    needs.find(_.always).orElse(needs.headOption)
  }

  def ofNode(node: LogicalPlan): Seq[TextNeed] = {
    val needs = mutable.ArrayBuffer[TextNeed]()
    node match {
      case own: NeedsTexts => needs ++= own.textNeed
      case _ =>
    }
    node.expressions.foreach(_.foreachUp(part => needs ++= ofExpression(part)))
    needs.toSeq
  }

  private def ofExpression(expression: Expression): Option[TextNeed] = expression match {
    case own: NeedsTexts => own.textNeed
    // What is not known to do without is taken to need texts.
    case call: StaticInvoke if TermFunctions.isOwn(call) && !OfIds(call.functionName) && !isAmongResources(call) =>
      val always = if (Comparisons(call.functionName)) comparesTexts(call) else Some(!OfValues(call.functionName))
      always.map(TextNeed(TermFunctions.nameOf(call), _))
    case _ => None
  }

  /** Functions that look at ids only. */
  private val OfIds = Set("integer", "booleanTerm", "choose", "isIri", "isBlank", "isLiteral", "isTriple", "hasLanguage", "point")

  private val Comparisons = Set("equal", "less", "lessOrEqual")

  /** Functions of values: of numbers, booleans and dateTimes these are in the ids, but for unusual ones. */
  private val OfValues = Set("among", "effectiveBoolean", "isNumeric", "add", "subtract", "multiply", "divide", "negate", "plus",
    "sum", "average", "absolute", "round", "ceiling", "floor", "year", "month", "day", "hours", "minutes", "cast")

  /** Whether all choices are IRIs or blank nodes, which nothing else is equal to. */
  private def isAmongResources(call: StaticInvoke): Boolean =
    call.functionName == "among" && call.arguments.last.collectLeaves().forall {
      case TermParameter(holder) => isResource(TermId.kind(holder.id))
      case Literal(id: Long, _) => isResource(TermId.kind(id))
      case _ => false
    }

  private def isResource(kind: Int): Boolean = kind == TermId.Iri || kind == TermId.BlankNode

  /** Whether a comparison surely reads texts, by its constants; None where it surely does not. */
  private def comparesTexts(call: StaticInvoke): Option[Boolean] = {
    val constants = call.arguments.collect { case TermParameter(holder) => TermId.kind(holder.id) }
    val resources = constants.exists(isResource)
    if (resources && call.functionName == "equal") None
    else Some(constants.exists(kind => kind == TermId.StringLiteral || kind == TermId.TypedLiteral))
  }
}
