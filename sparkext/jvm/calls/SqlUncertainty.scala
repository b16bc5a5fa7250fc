package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.cqels.distributions.{Distribution, Probabilities, SumForms}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The uncertainty functions for Spark SQL: over strings such as 'N(0, 1)' and numbers; a wrong argument gives NULL. */
object SqlUncertainty {
  import UncertaintyFunctions.finite

  private final val MostRead = 1 << 17
  // A row's string lives in memory that the next row overwrites.
  private val read = new RecentValues[UTF8String](MostRead, _.clone())
  private val NoDistribution = new Object

  def distribution(text: UTF8String): Distribution = {
    val known = read.get(text)
    if (known != null) known match { case d: Distribution => d; case _ => null }
    else {
      val found = Distribution.parse(text.toString)
      read.put(text, if (found == null) NoDistribution else found)
      found
    }
  }

  /** How many texts are kept. */
  def kept: Int = read.size

  def point(value: Double): Distribution = UncertaintyFunctions.point(value)
  def literal(d: Distribution): UTF8String = UTF8String.fromString(d.literal)

  def add(x: Distribution, y: Distribution): Distribution = SumForms.add(x, y)
  def subtract(x: Distribution, y: Distribution): Distribution = SumForms.subtract(x, y)
  def greaterThan(x: Distribution, y: Distribution): java.lang.Double = finite(Probabilities.greater(x, y))
  def greaterThanOrEqual(x: Distribution, y: Distribution): java.lang.Double = finite(Probabilities.greaterOrEqual(x, y))
  def lessThan(x: Distribution, y: Distribution): java.lang.Double = finite(Probabilities.less(x, y))
  def lessThanOrEqual(x: Distribution, y: Distribution): java.lang.Double = finite(Probabilities.lessOrEqual(x, y))
  def between(x: Distribution, low: Distribution, high: Distribution): java.lang.Double = finite(Probabilities.between(x, low, high))
  def mean(x: Distribution): java.lang.Double = finite(x.mean)
  def variance(x: Distribution): java.lang.Double = finite(x.variance)
  def quantile(x: Distribution, p: Double): java.lang.Double = UncertaintyFunctions.quantileOf(x, p)

  private val Value = UncertaintyFunctions.Value

  def all: Seq[TermFunctions.Description] = Seq(
    function("rspu_add", "add", 2, Value),
    function("rspu_subtract", "subtract", 2, Value),
    function("rspu_greater_than", "greaterThan", 2, DoubleType),
    function("rspu_greater_than_or_equal", "greaterThanOrEqual", 2, DoubleType),
    function("rspu_less_than", "lessThan", 2, DoubleType),
    function("rspu_less_than_or_equal", "lessThanOrEqual", 2, DoubleType),
    function("rspu_between", "between", 3, DoubleType),
    function("rspu_mean", "mean", 1, DoubleType),
    function("rspu_variance", "variance", 1, DoubleType),
    function("rspu_quantile", "quantile", 2, DoubleType, number = true))

  private def function(name: String, method: String, arity: Int, result: DataType, number: Boolean = false): TermFunctions.Description =
    (FunctionIdentifier(name), TermFunctions.info(name, method), arguments => {
      if (arguments.size != arity) throw new IllegalArgumentException(s"$name takes $arity arguments, not ${arguments.size}")
      val values = arguments.zipWithIndex.map { case (argument, place) =>
        if (place > 0 && number) numeric(name, argument) else operand(name, argument, first = place == 0)
      }
      val made = invoke(method, result, values)
      if (result == Value) invoke("literal", StringType, Seq(made)) else made
    })

  private def operand(name: String, argument: Expression, first: Boolean): Expression = argument match {
    case StaticInvoke(owner, _, "literal", Seq(value), _, _, _, _, _) if owner == getClass => value // no text in between
    case text if text.dataType.isInstanceOf[StringType] || text.dataType == NullType => invoke("distribution", Value, Seq(Cast(text, StringType)))
    case other if first => throw new IllegalArgumentException(s"the first argument of $name is a distribution as a string, not ${other.dataType.sql}")
    case other => invoke("point", Value, Seq(numeric(name, other)))
  }

  private def numeric(name: String, argument: Expression): Expression =
    if (argument.dataType.isInstanceOf[NumericType] || argument.dataType == NullType) Cast(argument, DoubleType)
    else throw new IllegalArgumentException(s"$name takes a distribution or a number here, not ${argument.dataType.sql}")

  private def invoke(method: String, result: DataType, arguments: Seq[Expression]): Expression =
    StaticInvoke(getClass, result, method, arguments, arguments.map(_.dataType), propagateNull = true, returnNullable = true)
}
