package org.apache.spark.sql.cqels
package spark

import org.apache.spark.sql.execution.planmerging.MergeSubplans

/** The optimizer's rule that makes one subquery of several alike. */
private[cqels] object SubqueryMerging {
  def ruleName: String = MergeSubplans.ruleName
}
