package org.apache.spark.sql.cqels
package kept

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Path => LocalPath, Paths}
import java.nio.file.attribute.BasicFileAttributes
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, LocalFileSystem, Path}
import org.apache.spark.sql.SQLContext
import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.cqels.leaves.{LiveValue, RowRelationLeaf}
import org.apache.spark.sql.cqels.spark.{ListedRows, Listings}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, FileIndex, HadoopFsRelation, LogicalRelation, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.sources.BaseRelation
import org.apache.spark.sql.types.{DateType, StructType, TimestampNTZType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A plan by which equal static sides are found: what it reads is named by value and version in place of the relations.
 *
 *  `unversioned` names what has no version that can be told; such a side may be kept for a time that the user chose.
 */
private[cqels] final case class VersionedPlan(plan: LogicalPlan, unversioned: Seq[String]) {
  val key: LogicalPlan = plan.canonicalized

  /** The same in any version. */
  def unnamed: LogicalPlan = withoutVersions.canonicalized

  /** The same in any version and in any batch: a filter by the clock has another moment in each. */
  def timeless: LogicalPlan = withoutVersions.transformAllExpressionsWithSubqueries {
    case Literal(_, kind @ (DateType | TimestampType | TimestampNTZType)) => Literal(null, kind)
  }.canonicalized

  private def withoutVersions: LogicalPlan = plan.transformUpWithSubqueries {
    case relation @ LogicalRelation(named: NamedRelation, _, _, _, _) => relation.copy(relation = named.copy(version = ()))
    case leaf @ NamedLeaf(_, scan: NamedScan, _) => leaf.copy(what = scan.unnamed, version = ())
    case leaf: NamedLeaf => leaf.copy(version = ())
  }
}

/** What a static plan reads, and which version of it there is now.
 *
 *  The contract is that of the answers: what stock Spark would read again and find the same has the same version. Stock
 *  reads the files of its listing again, so a version is that listing and what these files are like now. Rows that a program
 *  listed are the same each time only `ofProgram`, for an engine that knows how that program's Python sends them.
 */
private[cqels] final class StaticVersions(session: SparkSession, ofProgram: Boolean = false) {
  def of(plan: LogicalPlan): VersionedPlan = {
    var unversioned = List.empty[String]
    def leaf(node: LogicalPlan): LogicalPlan = versionOf(node) match {
      case Right(versioned) => versioned
      case Left(reason) => unversioned ::= reason; node
    }
    val named = plan.transformUpWithSubqueries { case node if node.children.isEmpty => leaf(node) }
    if (!plan.deterministic) unversioned ::= "it is not deterministic"
    // A function of whole partitions, or of groups, is how programs fetch what Spark has no source for.
    unversioned :::= plan.collectWithSubqueries {
      case node @ (_: MapInPandas | _: MapInArrow | _: MapPartitions | _: MapPartitionsInR | _: ScriptTransformation | _: MapGroups | _: CoGroup |
          _: FlatMapGroupsInPandas | _: FlatMapGroupsInArrow | _: FlatMapCoGroupsInPandas | _: FlatMapCoGroupsInArrow | _: FlatMapGroupsInR |
          _: FlatMapGroupsInRWithArrow) => s"${node.nodeName} may read anything"
      case node: CollectMetrics => s"the metrics ${node.name} are observed in each batch"
    }.toList
    VersionedPlan(named, unversioned.distinct.reverse)
  }

  /** What a plan reads that may change under it, with the versions of now. */
  def reads(plan: LogicalPlan): StaticReads = {
    val leaves = plan.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }
    new StaticReads(leaves.collect {
      case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => new Identity(files.location)
    }.distinct.map(index => asking(index.of.asInstanceOf[FileIndex])) ++ leaves.collect {
      case relation: DataSourceV2Relation => Asked(() => current(relation), Option(relation.table.version))
    })
  }

  /** Whether a plan reads something without a version, or is made another one each time by what is static of it. */
  def isOpen(plan: LogicalPlan): Boolean = plan.collectWithSubqueries { case node => node }.exists { node =>
    node.expressions.exists(!_.deterministic) || (node.children.isEmpty && !RowRelationLeaf.isLive(node) && versionOf(node).isLeft)
  }

  /** Whether Spark may reckon with the clock of now while it plans: over rows that are in the plan, and by which partitions are read. */
  def mayKeepTime(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries { case node if node.expressions.exists(LiveValue.isIn) => node }.nonEmpty && plan.collectWithSubqueries {
      case rows: LocalRelation if rows.data.nonEmpty => rows
      case rows: ResolvedInlineTable => rows // made a LocalRelation by the optimizer
      case leaf @ LogicalRelation(files: HadoopFsRelation, _, _, _, _) if files.partitionSchema.nonEmpty => leaf
    }.nonEmpty

  private def asking(index: FileIndex): Asked = {
    val (listing, files) = (Listings.of(index), listedBy(index))
    lazy val paths = files.map(f => if (isHere(f.status)) Paths.get(f.status.getPath.toUri) else null)
    Asked(() =>
      if (listing == null || (Listings.of(index) ne listing)) versionOf(index)
      else if (paths.contains(null)) Right(asTheyAre(files))
      else Right(files.zip(paths).map { case (file, path) => local(file, path) }.sortBy(_.path)))
  }

  private def current(relation: DataSourceV2Relation): Option[String] = (relation.catalog, relation.identifier) match {
    case (Some(catalog: TableCatalog), Some(name)) if relation.timeTravelSpec.isEmpty => Option(catalog.loadTable(name).version)
    case _ => Option(relation.table.version)
  }

  private def versionOf(leaf: LogicalPlan): Either[String, LogicalPlan] = leaf match {
    case _: LocalRelation | _: Range | _: OneRowRelation => Right(leaf)
    case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
      versionOf(files.location).map { version =>
        val named = NamedRelation(files.fileFormat.getClass.getName, files.options, files.dataSchema, files.partitionSchema,
          files.location.rootPaths.map(_.toString), version)
        relation.copy(relation = named, catalogTable = None)
      }
    case relation: LogicalRelation => Left(s"${StaticVersions.name(relation.relation)} has no version")
    case cached: InMemoryRelation =>
      Right(NamedLeaf(cached.output, cached.cacheBuilder.logicalPlan.canonicalized, new Identity(cached.cacheBuilder)))
    case rows: LogicalRDD if rows.rdd.isCheckpointed || ofProgram && ListedRows.areListed(rows.rdd) => Right(NamedLeaf(rows.output, new Identity(rows.rdd), ()))
    case _: LogicalRDD => Left("an RDD has no version")
    case RowRelationLeaf(content, output) if !content.live => Right(NamedLeaf(output, new Identity(content), ()))
    case scan: DataSourceV2ScanRelation => ofScan(scan)
    case other => Left(s"${other.nodeName} has no version")
  }

  /** What was pushed into a scan is seen in the scan only: scans are told apart as Spark does that, by their equality. */
  private def ofScan(leaf: DataSourceV2ScanRelation): Either[String, LogicalPlan] = {
    val relation = leaf.relation
    val byValue = leaf.scan.getClass.getMethod("equals", classOf[Object]).getDeclaringClass != classOf[Object]
    for {
      version <- Option(relation.table.version()).toRight(s"${relation.name} has no version")
      _ <- Either.cond(byValue, (), s"scans of ${relation.name} cannot be compared")
    } yield NamedLeaf(leaf.output, NamedScan(relation.name, relation.table.getClass.getName, relation.options, leaf.scan, version), ())
  }

  private def versionOf(index: FileIndex): Either[String, Any] = index match {
    case _: PartitioningAwareFileIndex | _: CatalogFileIndex =>
      // Whoever may read files may not be let look at their folders.
      try Right(asTheyAre(listedBy(index)))
      catch { case NonFatal(failure) => Left(s"its files cannot be asked for: ${failure.getMessage}") }
    case other => TableFormats.version(other).toRight(s"${StaticVersions.name(other)} has no version")
  }

  private def listedBy(index: FileIndex): Seq[ListedFile] = index match {
    case _: PartitioningAwareFileIndex | _: CatalogFileIndex =>
      index.listFiles(Nil, Nil).flatMap { part =>
        val values = part.values.toSeq(index.partitionSchema)
        part.files.map(f => ListedFile(f.fileStatus, values))
      }
    case _ => Nil
  }

  // The file system is that with which Spark listed the files: it is found by the address alone.
  private def hadoop = session.sparkContext.hadoopConfiguration
  // Spark comes with Hive, which has a class of its own for them.
  private lazy val filesAreLocal = new Path("file:///").getFileSystem(hadoop).getClass match {
    case c => c == classOf[LocalFileSystem] || c.getName == "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem"
  }

  /** The files of a listing and what they are like now: elsewhere than on this machine a folder is asked once for all of its files. */
  private def asTheyAre(listed: Seq[ListedFile]): Seq[FileVersion] = {
    val (here, elsewhere) = listed.partition(f => isHere(f.status))
    val now = elsewhere.map(_.status.getPath.getParent).distinct.flatMap { folder =>
      try folder.getFileSystem(hadoop).listStatus(folder).toSeq
      catch { case _: FileNotFoundException => Nil }
    }.map(f => f.getPath -> f).toMap[Path, FileStatus]
    (here.map(f => local(f, Paths.get(f.status.getPath.toUri))) ++ elsewhere.map { file =>
      val there = now.get(file.status.getPath)
      FileVersion(file.status.getPath.toString, file.values, file.status.getLen, there.fold(-1L)(_.getLen), there.fold(-1L)(_.getModificationTime))
    }).sortBy(_.path)
  }

  private def isHere(file: FileStatus): Boolean = file.getPath.toUri.getScheme == "file" && filesAreLocal

  private def local(file: ListedFile, path: LocalPath): FileVersion =
    try {
      val now = Files.readAttributes(path, classOf[BasicFileAttributes])
      FileVersion(path.toString, file.values, file.status.getLen, now.size, now.lastModifiedTime.to(TimeUnit.NANOSECONDS))
    } catch { case _: IOException => FileVersion(path.toString, file.values, file.status.getLen, -1, -1) }
}

/** What a plan reads, and whether it is still the same. */
private[cqels] final class StaticReads private[kept] (asked: Seq[Asked]) {
  def areSame: Boolean = asked.forall(_.isSame)
}

private[kept] final class Asked(ask: () => Any, before: Any) {
  def isSame: Boolean = ask() == before
}

private[kept] object Asked {
  def apply(ask: () => Any): Asked = new Asked(ask, ask())
  def apply(ask: () => Any, before: Any): Asked = new Asked(ask, before)
}

private[kept] object StaticVersions {
  /** The plan without what Spark adds to read less for one batch: a kept side serves all of them. */
  def withoutPruning(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions { case _: Expression with DynamicPruning => Literal.TrueLiteral }

  def name(of: Any): String = of.getClass.getSimpleName.stripSuffix("$")
}

/** One file of a listing, with the values of its partition: a catalogue may have others than its path says. */
private[kept] final case class ListedFile(status: FileStatus, values: Seq[Any])

/** One file of a listing: the length that the listing has, and length and time of now, which is one of nanoseconds
 *  on this machine's disk; -1 where it is gone.
 */
private[kept] final case class FileVersion(path: String, values: Seq[Any], listed: Long, length: Long, modified: Long)

/** Stands for a relation of files in a key. */
private[kept] final case class NamedRelation(
    format: String, options: Map[String, String], dataSchema: StructType, partitions: StructType, roots: Seq[String], version: Any)
    extends BaseRelation {
  override def sqlContext: SQLContext = throw new UnsupportedOperationException("a relation of a key reads nothing")
  override def schema: StructType = StructType(dataSchema ++ partitions.filterNot(p => dataSchema.exists(_.name == p.name)))
}

/** Stands for any other leaf in a key: what is read, and which version of it. */
private[kept] final case class NamedLeaf(output: Seq[Attribute], what: Any, version: Any) extends LeafNode {
  override protected def doCanonicalize(): LogicalPlan = copy(output = output.map(QueryPlan.normalizeExpressions(_, output)))
}

/** The same only as itself. */
private[cqels] final class Identity(val of: AnyRef) {
  override def equals(other: Any): Boolean = other match {
    case i: Identity => i.of eq of
    case _ => false
  }
  override def hashCode(): Int = System.identityHashCode(of)
}

/** Stands for a scan of a table of Spark's interface for sources, in a key. */
private[kept] final case class NamedScan(table: String, kind: String, options: CaseInsensitiveStringMap, scan: Scan, version: String) {
  /** The same in any version, as far as the scan's description tells: it has the numbers that the version consists of. */
  def unnamed: (String, CaseInsensitiveStringMap, String) = {
    val numbers = NamedScan.Number.findAllIn(version).toSet
    (table, options, NamedScan.Number.replaceAllIn(scan.description(), m => if (numbers(m.matched)) "" else m.matched))
  }
}

private[kept] object NamedScan {
  private final val Number = "[0-9]+".r
}

/** Versions of table formats that Spark does not come with, asked by the names that they give their methods. */
private[kept] object TableFormats {
  /** Of Delta: the snapshot that is read. None of an index over some files of one, as Delta's own commands make them. */
  def version(index: FileIndex): Option[Any] =
    try {
      if (!index.getClass.getName.startsWith("org.apache.spark.sql.delta.")) None
      else for {
        // A prepared scan has its snapshot. Where Delta prepares none, asking looks for a newer one, as reading would.
        snapshot <- called(index, "preparedScan").flatMap(called(_, "scannedSnapshot")).orElse(called(index, "getSnapshot"))
        version <- called(snapshot, "version")
        // Another table may have taken the place of one that was dropped, and has versions of its own.
        table <- called(snapshot, "metadata").flatMap(called(_, "id"))
      } yield (table, version, called(index, "partitionFilters"))
    } catch { case NonFatal(_) => None }

  private def called(on: Any, method: String): Option[Any] =
    on.getClass.getMethods.find(m => m.getName == method && m.getParameterCount == 0).map(_.invoke(on)).filter(_ != null)
}
