package org.apache.spark.sql.cqels

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.types._

/** SPARQL's functions as Spark SQL functions over term ids, compiled into the plan's generated code.
 *
 *  Those that may need a term's text take the engine's number as their first argument.
 */
object TermFunctions {
  type Builder = Seq[Expression] => Expression
  type Description = (FunctionIdentifier, ExpressionInfo, Builder)

  def all: Seq[Description] = Seq(
    call("cqels_equal", "equal", BooleanType, nullable = true, LongType, LongType, LongType),
    call("cqels_less", "less", BooleanType, nullable = true, LongType, LongType, LongType),
    call("cqels_less_or_equal", "lessOrEqual", BooleanType, nullable = true, LongType, LongType, LongType),
    call("cqels_effective_boolean", "effectiveBoolean", BooleanType, nullable = true, LongType, LongType),
    call("cqels_boolean", "booleanTerm", LongType, nullable = false, BooleanType),
    call("cqels_integer", "integer", LongType, nullable = false, LongType),
    call("cqels_is_iri", "isIri", BooleanType, nullable = false, LongType),
    call("cqels_is_blank", "isBlank", BooleanType, nullable = false, LongType),
    call("cqels_is_literal", "isLiteral", BooleanType, nullable = false, LongType),
    call("cqels_is_numeric", "isNumeric", BooleanType, nullable = false, LongType, LongType),
    call("cqels_str", "str", LongType, nullable = true, LongType, LongType),
    call("cqels_lang", "lang", LongType, nullable = true, LongType, LongType),
    call("cqels_datatype", "datatype", LongType, nullable = true, LongType, LongType),
    call("cqels_add", "add", LongType, nullable = true, LongType, LongType, LongType),
    call("cqels_subtract", "subtract", LongType, nullable = true, LongType, LongType, LongType),
    call("cqels_multiply", "multiply", LongType, nullable = true, LongType, LongType, LongType),
    call("cqels_divide", "divide", LongType, nullable = true, LongType, LongType, LongType),
    call("cqels_negate", "negate", LongType, nullable = true, LongType, LongType),
    call("cqels_sum", "sum", LongType, nullable = true, LongType, ArrayType(LongType)),
    call("cqels_average", "average", LongType, nullable = true, LongType, ArrayType(LongType)),
    (FunctionIdentifier("cqels_term"), info("cqels_term", "term"), {
      case Seq(Literal(id: Long, LongType)) => TermParameter(new TermHolder(id))
      case other => throw new IllegalArgumentException(s"cqels_term takes one bigint literal, not ${other.mkString(", ")}")
    }),
    aggregate("cqels_min", greatest = false),
    aggregate("cqels_max", greatest = true))

  private def call(name: String, method: String, result: DataType, nullable: Boolean, inputs: DataType*): Description =
    (FunctionIdentifier(name), info(name, method), arguments => {
      if (arguments.size != inputs.size) throw new IllegalArgumentException(s"$name takes ${inputs.size} arguments, not ${arguments.size}")
      StaticInvoke(TermValues.getClass, result, method, arguments, inputs, propagateNull = true, returnNullable = nullable)
    })

  private def aggregate(name: String, greatest: Boolean): Description =
    (FunctionIdentifier(name), info(name, name), {
      case Seq(room, child) => TermExtreme(child, room, greatest)
      case other => throw new IllegalArgumentException(s"$name takes 2 arguments, not ${other.size}")
    })

  private def info(name: String, method: String): ExpressionInfo = new ExpressionInfo(TermValues.getClass.getName + "." + method, name)
}

/** A constant term of a query. Its id travels as data: as a literal it would be inlined, and each constant compiled anew. */
case class TermParameter(holder: TermHolder) extends LeafExpression {
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def dataType: DataType = LongType
  override def eval(input: InternalRow): Any = holder.id
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val reference = ctx.addReferenceObj("term", holder)
    ev.copy(code = code"final long ${ev.value} = $reference.id();", isNull = FalseLiteral)
  }
}

final class TermHolder(val id: Long) extends Serializable {
  override def equals(other: Any): Boolean = other match { case t: TermHolder => t.id == id; case _ => false }
  override def hashCode: Int = java.lang.Long.hashCode(id)
  override def toString: String = s"term $id"
}

/** MIN and MAX over terms in SPARQL's order, kept in one 64-bit buffer; unbound values are passed over. */
case class TermExtreme(child: Expression, room: Expression, greatest: Boolean) extends DeclarativeAggregate with BinaryLike[Expression] {
  override def left: Expression = child
  override def right: Expression = room
  override def nullable: Boolean = true
  override def dataType: DataType = LongType
  override def prettyName: String = if (greatest) "cqels_max" else "cqels_min"

  private lazy val kept = AttributeReference("kept", LongType, nullable = true)()

  private def better(a: Expression, b: Expression): Expression =
    StaticInvoke(TermValues.getClass, LongType, "extreme", Seq(room, Literal(greatest), a, b),
      Seq(LongType, BooleanType, LongType, LongType), propagateNull = true, returnNullable = false)

  private def merged(a: Expression, b: Expression): Expression =
    If(IsNull(a), b, If(IsNull(b), a, better(a, b)))

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(kept)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, LongType))
  override lazy val updateExpressions: Seq[Expression] = Seq(merged(kept, child))
  override lazy val mergeExpressions: Seq[Expression] = Seq(merged(kept.left, kept.right))
  override lazy val evaluateExpression: Expression = kept

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): TermExtreme =
    copy(child = newLeft, room = newRight)
}
