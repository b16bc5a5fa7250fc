package org.apache.spark.sql.cqels
package events

import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.cqels.functions.{Aggregates, Numbers, TermValues}

/** An aggregate over the mappings of a run, as SPARQL computes it over solutions (SPARQL 1.1, section 18.5.1).
 *
 *  @param variable what it is the value of
 *  @param argument the variable whose values it takes, -1 for COUNT(*)
 */
private[events] final class RunAggregate(val variable: Int, function: String, argument: Int, distinct: Boolean, separator: String) {
  require(RunAggregate.Functions.contains(function), s"no aggregate of a run is called '$function'")
  require(argument >= 0 || function == "COUNT", s"$function needs a variable")

  /** Its value over some rows, of which none is there twice; 0 is an error. `all` are the columns of all variables. */
  def value(room: Long, found: FoundMappings, rows: Array[Int], all: Array[Int]): Long =
    if (argument < 0) Numbers.integerTerm(room, if (distinct) solutions(found, rows, all) else rows.length.toLong)
    else {
      val bound = rows.map(found.value(_, argument))
      val values = if (distinct) bound.distinct else bound
      function match {
        case "COUNT" => Numbers.integerTerm(room, values.count(_ != 0).toLong)
        case "SUM" => orZero(Aggregates.sum(room, new GenericArrayData(values)))
        case "AVG" => orZero(Aggregates.average(room, new GenericArrayData(values)))
        case "GROUP_CONCAT" => orZero(Aggregates.concatenation(room, new GenericArrayData(values), TermValues.string(room, separator)))
        case "SAMPLE" => values.find(_ != 0).getOrElse(0L)
        // An error among the values is one of the whole.
        case _ => if (values.contains(0L)) 0L else values.reduce(TermValues.extreme(room, function == "MAX", _, _))
      }
    }

  private def solutions(found: FoundMappings, rows: Array[Int], all: Array[Int]): Long = {
    val groups = found.groups(all)
    rows.map(groups(_)).distinct.length.toLong
  }

  private def orZero(id: java.lang.Long): Long = if (id == null) 0L else id
}

private object RunAggregate {
  private val Functions = Set("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
}
