package org.apache.spark.sql.cqels
package spark

import org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries

/** The optimizer's rule that makes one subquery of several alike. */
private[cqels] object SubqueryMerging {
  def ruleName: String = MergeScalarSubqueries.ruleName
}
