package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{BooleanType, DataType, ObjectType}

/** A call site as functions are given it; it travels as data, so that plans of other queries share the compiled code. */
case class SiteParameter(holder: SiteHolder) extends LeafExpression with NeedsTexts {
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[SiteCaller])
  override def textNeed: Option[TextNeed] = SiteHolder.Need
  override def eval(input: InternalRow): Any = holder.here
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    ev.copy(code = code"final ${SiteHolder.Caller} ${ev.value} = ${holder.callerIn(ctx)};", isNull = FalseLiteral)
  }
}

final class SiteHolder(val room: Long, val number: Int) extends Serializable {
  @transient private lazy val site: CallSite = UncertainCalls.of(room).site(number)
  def caller(): SiteCaller = site.caller()
  private[cqels] def here: SiteCaller = site.here

  /** The variable in generated code that holds the caller: one for all places that call for this site. */
  private[cqels] def callerIn(ctx: CodegenContext): String = {
    val known = ctx.references.indexOf(this)
    val place = if (known >= 0) known else ctx.references.length
    val variable = s"cqelsCaller$place"
    if (known < 0) {
      val reference = ctx.addReferenceObj("site", this)
      ctx.addImmutableStateIfNotExists(SiteHolder.Caller, variable, v => s"$v = $reference.caller();")
    }
    variable
  }

  override def equals(other: Any): Boolean = other match {
    case s: SiteHolder => s.room == room && s.number == number
    case _ => false
  }
  override def hashCode: Int = java.lang.Long.hashCode(room) * 31 + number
  override def toString: String = s"site $number"
}

private object SiteHolder {
  final val Caller: String = classOf[SiteCaller].getName
  val Need: Option[TextNeed] = Some(TextNeed("rspu", always = true))
}

/** Passes on the value of a filter or BIND, and counts the rows and those that pass (true; for other types: not null).
 *
 *  Spark takes it for non-deterministic, so the operator stays where the plan puts it: no rule pushes it through a join,
 *  makes a second one of it for the join's other side, or computes it twice.
 */
case class CountedRows(child: Expression, holder: SiteHolder) extends UnaryExpression with NeedsTexts {
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = child.nullable
  override def dataType: DataType = child.dataType
  override def prettyName: String = "cqels_counted"
  override def textNeed: Option[TextNeed] = SiteHolder.Need

  private def isTest = dataType == BooleanType

  override def eval(input: InternalRow): Any = {
    val caller = holder.here
    val begun = caller.startRow()
    val value = child.eval(input)
    caller.endRow(begun, value != null && (!isTest || value.asInstanceOf[Boolean]))
    value
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val caller = holder.callerIn(ctx)
    val inner = child.genCode(ctx)
    val begun = ctx.freshName("begun")
    val passed = if (isTest) code"!${inner.isNull} && ${inner.value}" else code"!${inner.isNull}"
    ev.copy(code = code"long $begun = $caller.startRow();" + inner.code + code"$caller.endRow($begun, $passed);", isNull = inner.isNull, value = inner.value)
  }

  override protected def withNewChildInternal(newChild: Expression): CountedRows = copy(child = newChild)
}

object CountedRows {
  /** Whether an expression has the same value at each look, though its rows may be counted. */
  def repeatable(e: Expression): Boolean = e.deterministic || !e.exists {
    case _: CountedRows => false
    case part => !part.deterministic && part.children.forall(_.deterministic)
  }
}
