package org.apache.spark.sql.cqels
package written

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.{QualifiedTableName, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType, TemporaryViewRelation}
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias, UnresolvedWith}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.kept.Identity
import org.apache.spark.sql.cqels.leaves.RowRelationLeaf
import org.apache.spark.sql.cqels.spark.{SearchPaths, SessionContents}

/** The names in a query text, those in the texts of its views too, and what Spark would take them for now.
 *
 *  Asking is cheap: it looks names up as the analyzer does, and analyses nothing.
 */
private[written] final class QueryNames(session: SparkSession, parsed: LogicalPlan) {
  private val catalog = session.sessionState.catalog
  private val manager = session.sessionState.catalogManager
  private val asked = mutable.LinkedHashMap[Any, () => Any]()
  private val live = mutable.Map[String, LogicalPlan]() // live views by name
  private var open = false

  asked("") = () => (manager.currentCatalog.name, manager.currentNamespace.toSeq, SearchPaths.entries(manager))
  gather(parsed, None)

  /** Whether there is a name that only analysis can tell the meaning of. */
  def areOpen: Boolean = open

  /** What the names stand for now, equal as long as that is the same. */
  def now: Seq[Any] = asked.values.map(_()).toSeq

  /** A text of these names with live views that were dropped in their places: a query goes on over them. */
  def withDropped(written: LogicalPlan): LogicalPlan = {
    val gone = live.filter { case (name, _) => catalog.getRawTempView(name).isEmpty }
    def put(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
      case UnresolvedRelation(Seq(name), _, false) if gone.contains(key(name)) => SubqueryAlias(name, gone(key(name)))
      case w: UnresolvedWith => w.copy(cteRelations = w.cteRelations.map { case (name, alias, depth) => (name, put(alias).asInstanceOf[SubqueryAlias], depth) })
    }
    if (gone.isEmpty) written else put(written)
  }

  /** Live views that were dropped before stay known. */
  def keep(before: QueryNames): Unit =
    if (before != null) before.live.foreach { case (name, plan) => if (catalog.getRawTempView(name).isEmpty) live.getOrElseUpdate(name, plan) }

  private def key(name: String): String = name.toLowerCase(java.util.Locale.ROOT)

  private def gather(plan: LogicalPlan, view: Option[CatalogTable]): Unit = {
    val within = mutable.Set[String]()
    def walk(node: LogicalPlan): Unit = {
      node match {
        case w: UnresolvedWith => within ++= w.cteRelations.map(r => key(r._1))
        case _ =>
      }
      node.innerChildren.foreach { case inner: LogicalPlan => walk(inner); case _ => }
      node.subqueries.foreach(walk)
      node.children.foreach(walk)
      node match {
        case r: UnresolvedRelation => relation(r.multipartIdentifier, view, within)
        case f: UnresolvedTableValuedFunction => function(f.name, catalog.lookupBuiltinOrTempTableFunction)
        case _: PlanWithUnresolvedIdentifier | _: RelationTimeTravel => open = true
        case _ =>
      }
      node.expressions.foreach(_.foreach {
        case f: UnresolvedFunction if !f.isInternal => function(f.nameParts, catalog.lookupBuiltinOrTempFunction)
        case _: ExpressionWithUnresolvedIdentifier => open = true
        case _ =>
      })
    }
    walk(plan)
  }

  private def function(name: Seq[String], found: String => Option[ExpressionInfo]): Unit =
    // One of a catalog has a name of several parts, and one in SQL has names of its own.
    if (name.size > 1 || found(name.head).forall(_.getSource == "sql_udf")) open = true
    else asked((name, "function")) = () => found(name.head).map(new Identity(_))

  private def relation(name: Seq[String], view: Option[CatalogTable], within: mutable.Set[String]): Unit = {
    // A permanent view sees none of the temporary ones, and a temporary one those that it was written over.
    val temporary = view.forall(_.viewReferredTempViewNames.contains(name))
    def shadow: Option[TemporaryViewRelation] = if (temporary) catalog.getRawLocalOrGlobalTempView(name) else None
    shadow match {
      case Some(found) =>
        val isLive = found.plan.exists(RowRelationLeaf.isLive)
        if (isLive && name.size == 1) live(key(name.head)) = found.plan.get
        asked(name) = () => shadow.orElse(if (isLive) Some(found) else None).map(new Identity(_))
        if (found.plan.isEmpty) text(found.tableMeta)
      case None => table(name, view, () => shadow.isDefined, name.size == 1 && within(key(name.head)))
    }
  }

  private def table(name: Seq[String], view: Option[CatalogTable], isShadowed: () => Boolean, isWithin: Boolean): Unit = {
    val place = view.map(_.viewCatalogAndNamespace).getOrElse(manager.currentCatalog.name +: manager.currentNamespace.toSeq)
    val full =
      if (name.size == 1) place ++ name
      else if (manager.isCatalogRegistered(name.head)) name
      else place.head +: name
    full match {
      case Seq(SessionContents.CatalogName, database, table) if SessionContents.hasOwnCatalog(session) =>
        def metadata: Option[CatalogTable] =
          try Some(catalog.getTableRawMetadata(TableIdentifier(table, Some(database))))
          catch { case _: NoSuchTableException | _: NoSuchNamespaceException | _: NoSuchDatabaseException => None }
        val there = metadata
        // A path in place of a table is listed anew by each analysis.
        if (there.isEmpty) open |= !isWithin
        else {
          val isView = there.exists(_.tableType == CatalogTableType.VIEW)
          def read: Any =
            if (isView) None
            else Option(catalog.getCachedTable(QualifiedTableName(SessionContents.CatalogName, database, table))).map(new Identity(_)).getOrElse(new Object)
          asked((view.map(_.identifier), name)) = () => (isShadowed(), metadata, read)
          if (isView) there.foreach(text)
        }
      case _ => open |= !isWithin
    }
  }

  private def text(view: CatalogTable): Unit = view.viewText match {
    case Some(written) if SearchPaths.isUsual(view) && !WrittenText.tellsTime(written) =>
      try gather(session.sessionState.sqlParser.parsePlan(written), Some(view)) catch { case NonFatal(_) => open = true }
    case _ => open = true
  }
}
