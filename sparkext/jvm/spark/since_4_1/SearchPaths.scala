package org.apache.spark.sql.cqels
package spark

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.CatalogManager

/** Where names are looked for; there is no search path yet. */
private[cqels] object SearchPaths {
  def entries(manager: CatalogManager): Any = Nil

  /** Whether the names of a view are looked for as those of any query. */
  def isUsual(view: CatalogTable): Boolean = true
}
