package org.apache.spark.sql.cqels
package runs

import java.io.{File, OutputStream, PrintStream}
import java.lang.management.ManagementFactory
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, Paths, StandardCopyOption}
import java.util.concurrent.atomic.AtomicBoolean
import java.util.zip.CRC32

import javax.management.ObjectName

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

/** The archive of loaded classes with which the next JVM of the same kind starts sooner; `sparkext/class_archive.py` chooses its file.
 *
 *  A JVM that found no archive notes what it loads, and writes one when it ends, if an engine has been used: Python is gone by then,
 *  and nobody waits. Whatever fails here is logged, at level debug, and costs the archive only.
 */
object ClassArchive extends Logging {
  /** System properties, not Spark settings: they are about this JVM. The file in use, and the beginning of the name of one to write. */
  val Read = "cqels.classArchive.read"
  val Write = "cqels.classArchive.write"
  private val Ending = ".jsa"
  private val Unfinished = ".part"
  private val Kept = 3
  private val AbandonedMillis = 3600000L
  private val planned = new AtomicBoolean
  private val checked = new AtomicBoolean

  /** Has the archive written at the end of this JVM, where one is wanted. */
  def engineUsed(): Unit = for (start <- property(Write) if planned.compareAndSet(false, true))
    try Runtime.getRuntime.addShutdownHook(new Thread(() => write(start), "cqels-class-archive"))
    catch { case NonFatal(error) => logDebug("No class archive will be written", error) }

  /** Deletes the archive that this JVM was given and did not take up, so that the next one writes another. */
  def sessionStarted(): Unit = for (file <- property(Read) if checked.compareAndSet(false, true))
    try {
      val maps = Paths.get("/proc/self/maps")
      if (Files.isReadable(maps) && !Files.readAllLines(maps).asScala.exists(_.contains(file.getFileName.toString)))
        Files.deleteIfExists(file)
    } catch { case NonFatal(error) => logDebug(s"$file was not looked for", error) }

  private def property(name: String): Option[Path] = Option(System.getProperty(name)).filter(_.nonEmpty).map(Paths.get(_))

  private def write(start: Path): Unit =
    // The JVM would end on the spot over a folder with something in it.
    if (!System.getProperty("java.class.path", "").split(File.pathSeparatorChar).exists(holdsFiles)) try {
      val folder = start.getParent
      val part = folder.resolve(s"${start.getFileName}-${ProcessHandle.current.pid}$Unfinished")
      try {
        Files.createDirectories(folder)
        dump(part)
        // The name says what must be in the file: to a JVM, a damaged one is fatal.
        val file = folder.resolve(f"${start.getFileName}-${Files.size(part)}%x-${checksum(part)}%08x$Ending")
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE)
        deleteOthers(start, file)
      } finally Files.deleteIfExists(part)
    } catch { case NonFatal(error) => logDebug(s"$start was not written", error) }

  private def holdsFiles(path: String): Boolean = {
    val names = new File(path).list() // null: no folder
    path.nonEmpty && names != null && names.nonEmpty
  }

  private def dump(part: Path): Unit = {
    // The JVM reports on standard output, which may be a terminal that has moved on.
    val out = System.out
    System.setOut(new PrintStream(OutputStream.nullOutputStream))
    try {
      val arguments = Array[AnyRef](Array("dynamic_dump", s"\"$part\""))
      val diagnostics = new ObjectName("com.sun.management:type=DiagnosticCommand")
      ManagementFactory.getPlatformMBeanServer.invoke(diagnostics, "vmCds", arguments, Array(classOf[Array[String]].getName))
    } finally System.setOut(out)
  }

  private def checksum(path: Path): Long = Using.resource(FileChannel.open(path)) { channel =>
    val sum = new CRC32
    sum.update(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size))
    sum.getValue
  }

  /** Leaves one archive of this kind and the few that were used last (each start touches its own), and nothing half-written. */
  private def deleteOthers(start: Path, written: Path): Unit = {
    val found = Using.resource(Files.list(written.getParent))(_.iterator.asScala.toVector)
    val (same, other) = found.filter(path => path.toString.endsWith(Ending) && path != written)
      .partition(_.getFileName.toString.startsWith(s"${start.getFileName}-"))
    val longUnused = other.sortBy(path => -Files.getLastModifiedTime(path).toMillis).drop(Kept - 1)
    val abandoned = found.filter(path =>
      path.toString.endsWith(Unfinished) && System.currentTimeMillis - Files.getLastModifiedTime(path).toMillis > AbandonedMillis)
    (same ++ longUnused ++ abandoned).foreach(path => Files.deleteIfExists(path))
  }
}
