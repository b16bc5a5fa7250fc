package org.apache.spark.sql.cqels
package spark

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.CatalogManager

/** Where names are looked for: the search path of a session, and that of a view when it was made. */
private[cqels] object SearchPaths {
  def entries(manager: CatalogManager): Any = manager.sessionPathEntries

  /** Whether the names of a view are looked for as those of any query. */
  def isUsual(view: CatalogTable): Boolean = view.viewStoredResolutionPath.isEmpty
}
