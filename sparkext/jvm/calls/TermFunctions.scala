package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.cqels.functions.{Aggregates, Casts, DateFunctions, Hashes, NumericFunctions, RegexFunctions, StringFunctions, TermConstructors, TermValues, TripleFunctions}
import org.apache.spark.sql.types._

/** SPARQL's functions as Spark SQL functions over term ids, compiled into the plan's generated code.
 *
 *  Those that may need a term's text take the engine's number as their first argument.
 */
object TermFunctions {
  type Builder = Seq[Expression] => Expression
  type Description = (FunctionIdentifier, ExpressionInfo, Builder)

  def all: Seq[Description] = operators ++ terms ++ tests ++ rowwise ++ casts ++ Seq(
    (FunctionIdentifier("cqels_term"), info("cqels_term", "term"), {
      case Seq(Literal(id: Long, LongType)) => TermParameter(new TermHolder(id))
      case other => throw new IllegalArgumentException(s"cqels_term takes one bigint literal, not ${other.mkString(", ")}")
    }: Builder),
    aggregate("cqels_min", greatest = false),
    aggregate("cqels_max", greatest = true)) ++ UncertaintyFunctions.all

  private def operators: Seq[Description] = Seq(
    test("equal", TermValues, "equal", 2),
    test("less", TermValues, "less", 2),
    test("less_or_equal", TermValues, "lessOrEqual", 2),
    test("effective_boolean", TermValues, "effectiveBoolean", 1),
    call("cqels_in", TermValues, "among", BooleanType, nullable = true, LongType, LongType, ArrayType(LongType)),
    call("cqels_choose", TermValues, "choose", LongType, nullable = true, BooleanType, LongType, LongType),
    call("cqels_boolean", TermValues, "booleanTerm", LongType, nullable = false, BooleanType),
    call("cqels_integer", TermValues, "integer", LongType, nullable = false, LongType),
    term("add", TermValues, "add", 2),
    term("subtract", TermValues, "subtract", 2),
    term("multiply", TermValues, "multiply", 2),
    term("divide", TermValues, "divide", 2),
    term("negate", TermValues, "negate", 1),
    term("plus", NumericFunctions, "plus", 1),
    call("cqels_concat", StringFunctions, "concat", LongType, nullable = true, LongType, ArrayType(LongType)),
    call("cqels_sum", Aggregates, "sum", LongType, nullable = true, LongType, ArrayType(LongType)),
    call("cqels_average", Aggregates, "average", LongType, nullable = true, LongType, ArrayType(LongType)),
    call("cqels_group_concat", Aggregates, "concatenation", LongType, nullable = true, LongType, ArrayType(LongType), LongType))

  private def terms: Seq[Description] = Seq(
    term("str", TermValues, "str", 1),
    term("lang", TermValues, "lang", 1),
    term("datatype", TermValues, "datatype", 1),
    term("strlen", StringFunctions, "length", 1),
    term("substr", StringFunctions, "substring", 2),
    term("substr_of", StringFunctions, "substringOf", 3),
    term("ucase", StringFunctions, "upper", 1),
    term("lcase", StringFunctions, "lower", 1),
    term("strbefore", StringFunctions, "before", 2),
    term("strafter", StringFunctions, "after", 2),
    term("encode_for_uri", StringFunctions, "encodeForUri", 1),
    term("langdir", StringFunctions, "direction", 1),
    term("replace", RegexFunctions, "replace", 4),
    term("replace_constant", RegexFunctions, "replaceConstant", 4),
    term("abs", NumericFunctions, "absolute", 1),
    term("round", NumericFunctions, "round", 1),
    term("ceil", NumericFunctions, "ceiling", 1),
    term("floor", NumericFunctions, "floor", 1),
    term("now", DateFunctions, "now", 1),
    term("year", DateFunctions, "year", 1),
    term("month", DateFunctions, "month", 1),
    term("day", DateFunctions, "day", 1),
    term("hours", DateFunctions, "hours", 1),
    term("minutes", DateFunctions, "minutes", 1),
    term("seconds", DateFunctions, "seconds", 1),
    term("timezone", DateFunctions, "timezone", 1),
    term("tz", DateFunctions, "zone", 1),
    term("md5", Hashes, "md5", 1),
    term("sha1", Hashes, "sha1", 1),
    term("sha256", Hashes, "sha256", 1),
    term("sha384", Hashes, "sha384", 1),
    term("sha512", Hashes, "sha512", 1),
    term("iri", TermConstructors, "iri", 2),
    term("bnode_of", TermConstructors, "blankOf", 2),
    term("strdt", TermConstructors, "typedLiteral", 2),
    term("strlang", TermConstructors, "languageLiteral", 2),
    term("strlangdir", TermConstructors, "directedLiteral", 3),
    term("triple", TripleFunctions, "triple", 3),
    term("subject", TripleFunctions, "subject", 1),
    term("predicate", TripleFunctions, "predicate", 1),
    term("object", TripleFunctions, "obj", 1))

  private def tests: Seq[Description] = Seq(
    call("cqels_isiri", TermValues, "isIri", BooleanType, nullable = false, LongType),
    call("cqels_isblank", TermValues, "isBlank", BooleanType, nullable = false, LongType),
    call("cqels_isliteral", TermValues, "isLiteral", BooleanType, nullable = false, LongType),
    call("cqels_istriple", TripleFunctions, "isTriple", BooleanType, nullable = false, LongType),
    call("cqels_haslang", StringFunctions, "hasLanguage", BooleanType, nullable = false, LongType),
    call("cqels_isnumeric", TermValues, "isNumeric", BooleanType, nullable = false, LongType, LongType),
    call("cqels_haslangdir", StringFunctions, "hasDirection", BooleanType, nullable = false, LongType, LongType),
    test("contains", StringFunctions, "contains", 2),
    test("strstarts", StringFunctions, "startsWith", 2),
    test("strends", StringFunctions, "endsWith", 2),
    test("langmatches", StringFunctions, "langMatches", 2),
    test("regex", RegexFunctions, "matches", 3),
    test("regex_constant", RegexFunctions, "matchesConstant", 3))

  /** Those that give another value for each row: Spark must not move, repeat or fold them. */
  private def rowwise: Seq[Description] = Seq(
    fresh("rand", NumericFunctions, "random"),
    fresh("uuid", TermConstructors, "uuid"),
    fresh("struuid", TermConstructors, "uuidText"),
    fresh("bnode", TermConstructors, "blank"),
    fresh("row", TermConstructors, "row"))

  private def casts: Seq[Description] = Casts.Targets.toSeq.zipWithIndex.map { case (target, place) =>
    val name = "cqels_cast_" + target.toLowerCase(java.util.Locale.ROOT)
    (FunctionIdentifier(name), info(name, "cast"), (arguments: Seq[Expression]) =>
      StaticInvoke(Casts.getClass, LongType, "cast", arguments :+ Literal(place), Seq(LongType, LongType, IntegerType),
        propagateNull = true, returnNullable = true))
  }

  /** Whether values of the expression may be terms that only this evaluation knows. */
  def makesTerms(expression: Expression): Boolean = expression.exists {
    case call: StaticInvoke => call.dataType == LongType && makers(call.staticObject) && !inlineOnly(call.functionName)
    case _ => false
  }

  /** Whether the expression has another value at each look. */
  def drawsLots(expression: Expression): Boolean = expression.exists {
    case call: StaticInvoke => isOwn(call) && !call.isDeterministic
    case _ => false
  }

  /** Whether a call is one of a function over terms. */
  private[cqels] def isOwn(call: StaticInvoke): Boolean = makers(call.staticObject)

  /** What a function over terms is called in queries, or nearly so. */
  private[cqels] def nameOf(call: StaticInvoke): String =
    names.getOrElse(call.staticObject.getName + "." + call.functionName, call.functionName)

  private lazy val names: Map[String, String] = all.map { case (_, described, _) =>
    described.getClassName -> described.getName.stripPrefix("cqels_").stripSuffix("_constant")
  }.toMap

  private val makers: Set[Class[_]] = Set(TermValues, StringFunctions, RegexFunctions, NumericFunctions, DateFunctions, Hashes,
    TermConstructors, TripleFunctions, Casts, Aggregates, UncertaintyFunctions, UserFunctions).map(_.getClass)
  private val inlineOnly = Set("integer", "booleanTerm", "choose", "plus")

  /** A function of the engine's number and so many terms that gives a term or an error. */
  private def term(name: String, owner: AnyRef, method: String, terms: Int): Description =
    call("cqels_" + name, owner, method, LongType, nullable = true, Seq.fill(terms + 1)(LongType): _*)

  /** The same for a function that gives a truth value. */
  private def test(name: String, owner: AnyRef, method: String, terms: Int): Description =
    call("cqels_" + name, owner, method, BooleanType, nullable = true, Seq.fill(terms + 1)(LongType): _*)

  private def fresh(name: String, owner: AnyRef, method: String): Description =
    (FunctionIdentifier("cqels_" + name), info("cqels_" + name, method, owner), arguments =>
      StaticInvoke(owner.getClass, LongType, method, arguments, Seq(LongType), propagateNull = true, returnNullable = true,
        isDeterministic = false))

  private[cqels] def call(name: String, owner: AnyRef, method: String, result: DataType, nullable: Boolean, inputs: DataType*): Description =
    (FunctionIdentifier(name), info(name, method, owner), arguments => {
      if (arguments.size != inputs.size) throw new IllegalArgumentException(s"$name takes ${inputs.size} arguments, not ${arguments.size}")
      StaticInvoke(owner.getClass, result, method, arguments, inputs, propagateNull = true, returnNullable = nullable)
    })

  private def aggregate(name: String, greatest: Boolean): Description =
    (FunctionIdentifier(name), info(name, name), {
      case Seq(room, child) => TermExtreme(child, room, greatest)
      case other => throw new IllegalArgumentException(s"$name takes 2 arguments, not ${other.size}")
    })

  private[cqels] def info(name: String, method: String, owner: AnyRef = TermValues): ExpressionInfo =
    new ExpressionInfo(owner.getClass.getName + "." + method, name)
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
case class TermExtreme(child: Expression, room: Expression, greatest: Boolean)
    extends DeclarativeAggregate with BinaryLike[Expression] with NeedsTexts {
  override def left: Expression = child
  override def right: Expression = room
  override def nullable: Boolean = true
  override def dataType: DataType = LongType
  override def prettyName: String = if (greatest) "cqels_max" else "cqels_min"
  override def textNeed: Option[TextNeed] = Some(TextNeed(if (greatest) "max" else "min", always = false))

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
