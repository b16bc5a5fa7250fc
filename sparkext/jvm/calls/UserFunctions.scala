package org.apache.spark.sql.cqels
package calls

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.cqels.functions.{Numbers, TermValues}
import org.apache.spark.sql.cqels.memory.Json

/** What Python implements: the texts of a call's arguments as a JSON array in, the value out, null for an error.
 *
 *  The value is a term's canonical text, or a number's digits where the function was registered for numbers.
 */
trait UserFunction {
  def call(arguments: String): String
}

private[cqels] final class RegisteredFunction(
    val function: UserFunction, val givesNumber: Boolean, val name: String, val nanos: Double)

/** Functions of users by their number; a call crosses to Python and back, so it is cached like those of `rspu:`. */
object UserFunctions {
  /** The value of a call as a term; null when an argument is unbound or an error. */
  def term(site: SiteCaller, number: Int, arguments: ArrayData): java.lang.Long = {
    val texts = new Array[String](arguments.numElements())
    var i = 0
    while (i < texts.length) {
      if (arguments.isNullAt(i)) return null
      texts(i) = TermValues.text(site.room, arguments.getLong(i))
      i += 1
    }
    val told = texts.map(Json.quote).mkString("[", ",", "]")
    val registered = site.function(number)
    val code = CallCode.ofTerms(number, texts.length)(i => site.operand(arguments.getLong(i)))
    val value = site.keyed(code, registered, (number, told))(registered.function.call(told))
    if (value == null) null
    else if (registered.givesNumber) Numbers.floatingTerm(site.room, value.toDouble, Numbers.DoubleRank)
    else TermValues.encode(site.room, value)
  }
}
