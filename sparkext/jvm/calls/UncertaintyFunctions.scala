package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.cqels.distributions.{Distribution, PointDistribution, Probabilities, SumForms}
import org.apache.spark.sql.cqels.functions.{Numbers, TermValues}
import org.apache.spark.sql.cqels.terms.TermText
import org.apache.spark.sql.types.{ArrayType, DataType, DoubleType, IntegerType, LongType, ObjectType}

/** The functions of `rspu:` (uncertainty paper, Definitions 3 to 7 and 14); an argument of a wrong kind is an error, null.
 *
 *  A first argument is a distribution, the others may be numbers: points, then. Nested calls pass the distributions
 *  themselves; a term is made only where a variable is to have the value.
 */
object UncertaintyFunctions {
  private final val Add = 1
  private final val Subtract = 2
  private final val Greater = 3
  private final val GreaterOrEqual = 4
  private final val Less = 5
  private final val LessOrEqual = 6
  private final val Between = 7
  private final val Quantile = 8
  private final val Mean = 9
  private final val Variance = 10
  private final val Names =
    Array("", "add", "subtract", "greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual", "between", "quantile", "mean", "variance")

  /** The local name of a function. */
  private[cqels] def name(function: Int): String = Names(function)

  /** Whether a function's value is a distribution, not a number. */
  private[cqels] def givesDistribution(function: Int): Boolean = function == Add || function == Subtract

  // -- values in and out of terms -------------------------------------------------------------------------------

  def distribution(site: SiteCaller, id: Long): Distribution = site.distribution(id)

  /** A distribution or a number. */
  def operand(site: SiteCaller, id: Long): Distribution = site.operand(id)

  /** A number as the distribution of one point; null for an infinite one and NaN. */
  def point(value: Double): Distribution = if (value.isNaN || value.isInfinite) null else new PointDistribution(value)

  /** The value of a numeric term. */
  def number(site: SiteCaller, id: Long): java.lang.Double =
    if (Numbers.rank(site.room, id) > 0) Numbers.double(site.room, id) else null

  def doubleTerm(site: SiteCaller, value: Double): Long = Numbers.floatingTerm(site.room, value, Numbers.DoubleRank)

  /** The literal of a distribution as a term. */
  def term(site: SiteCaller, d: Distribution): Long =
    TermValues.encode(site.room, TermText.quote(d.literal) + "^^<" + Distribution.Datatype + ">")

  // -- the functions --------------------------------------------------------------------------------------------

  def add(site: SiteCaller, x: Distribution, y: Distribution): Distribution = site(Add, x, y, null)(SumForms.add(x, y))
  def subtract(site: SiteCaller, x: Distribution, y: Distribution): Distribution =
    site(Subtract, x, y, null)(SumForms.subtract(x, y))

  def greaterThan(site: SiteCaller, x: Distribution, y: Distribution): java.lang.Double =
    site(Greater, x, y, null)(finite(Probabilities.greater(x, y)))
  def greaterThanOrEqual(site: SiteCaller, x: Distribution, y: Distribution): java.lang.Double =
    site(GreaterOrEqual, x, y, null)(finite(Probabilities.greaterOrEqual(x, y)))
  def lessThan(site: SiteCaller, x: Distribution, y: Distribution): java.lang.Double =
    site(Less, x, y, null)(finite(Probabilities.less(x, y)))
  def lessThanOrEqual(site: SiteCaller, x: Distribution, y: Distribution): java.lang.Double =
    site(LessOrEqual, x, y, null)(finite(Probabilities.lessOrEqual(x, y)))
  def between(site: SiteCaller, x: Distribution, low: Distribution, high: Distribution): java.lang.Double =
    site(Between, x, low, high)(finite(Probabilities.between(x, low, high)))

  def mean(site: SiteCaller, x: Distribution): java.lang.Double = site(Mean, x, null, null)(finite(x.mean))
  def variance(site: SiteCaller, x: Distribution): java.lang.Double = site(Variance, x, null, null)(finite(x.variance))

  /** The p-quantile, for 0 < p < 1 (0 and 1: the ends of the support, where there are any). */
  def quantile(site: SiteCaller, x: Distribution, p: Double): java.lang.Double =
    site(Quantile, x, new PointDistribution(p), null)(quantileOf(x, p))

  private[cqels] def quantileOf(x: Distribution, p: Double): java.lang.Double =
    if (p.isNaN || p < 0 || p > 1) null
    else finite(if (p == 0.0) x.lower else if (p == 1.0) x.upper else x.quantile(p))

  /** A number, or null: no value of a function is infinite or NaN. Zero has one sign: equal distributions may have parameters 0 and -0. */
  private[cqels] def finite(value: Double): java.lang.Double = if (value.isNaN || value.isInfinite) null else value + 0.0

  // -- as Spark functions ---------------------------------------------------------------------------------------

  private val Site = ObjectType(classOf[SiteCaller])
  private[cqels] val Value = ObjectType(classOf[Distribution])

  def all: Seq[TermFunctions.Description] = Seq(
    (FunctionIdentifier("cqels_site"), TermFunctions.info("cqels_site", "site"), {
      case Seq(room, site) if room.foldable && site.foldable =>
        SiteParameter(new SiteHolder(room.eval().asInstanceOf[Long], site.eval().asInstanceOf[Int]))
      case other => throw new IllegalArgumentException(s"cqels_site takes an engine's number and a site's, not ${other.mkString(", ")}")
    }: TermFunctions.Builder),
    (FunctionIdentifier("cqels_counted"), TermFunctions.info("cqels_counted", "counted"), {
      case Seq(SiteParameter(holder), child) => CountedRows(child, holder)
      case other => throw new IllegalArgumentException(s"cqels_counted takes a site and a value, not ${other.mkString(", ")}")
    }: TermFunctions.Builder),
    call("distribution", Value, LongType),
    call("operand", Value, LongType),
    call("number", DoubleType, LongType),
    call("doubleTerm", LongType, DoubleType),
    call("term", LongType, Value),
    call("add", Value, Value, Value),
    call("subtract", Value, Value, Value),
    call("greaterThan", DoubleType, Value, Value),
    call("greaterThanOrEqual", DoubleType, Value, Value),
    call("lessThan", DoubleType, Value, Value),
    call("lessThanOrEqual", DoubleType, Value, Value),
    call("between", DoubleType, Value, Value, Value),
    call("mean", DoubleType, Value),
    call("variance", DoubleType, Value),
    call("quantile", DoubleType, Value, DoubleType),
    unsited("point", Value, DoubleType),
    TermFunctions.call("cqels_user_function", UserFunctions, "term", LongType, nullable = true, Site, IntegerType, ArrayType(LongType)))

  private def call(method: String, result: DataType, inputs: DataType*): TermFunctions.Description =
    TermFunctions.call("cqels_rspu_" + method.toLowerCase(java.util.Locale.ROOT), this, method, result, nullable = true,
      Site +: inputs: _*)

  private def unsited(method: String, result: DataType, inputs: DataType*): TermFunctions.Description =
    TermFunctions.call("cqels_rspu_" + method, this, method, result, nullable = true, inputs: _*)
}
