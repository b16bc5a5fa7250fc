package org.apache.spark.sql.cqels
package journal

import java.io.{DataInputStream, FileNotFoundException}
import java.util.zip.CRC32C

import com.github.luben.zstd.{ZstdInputStreamNoFinalizer, ZstdOutputStreamNoFinalizer}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** A folder on any file system that Hadoop knows whose files appear whole or not at all, as Structured Streaming's checkpoints have
 *  them; each file ends with its length and checksum.
 */
private[cqels] final class CheckpointFiles(folder: String, conf: Configuration) {
  private val root = {
    val given = new Path(folder)
    given.getFileSystem(conf).makeQualified(given)
  }
  private val files = CheckpointFileManager.create(root, conf)

  def name: String = root.toString
  def isLocal: Boolean = files.isLocal

  def makeFolder(): Unit = files.mkdirs(root)
  def exists: Boolean = files.exists(root)

  /** The names of the files that there are. */
  def list(): Array[String] = if (exists) files.list(root).filter(_.isFile).map(_.getPath.getName).filterNot(_.startsWith(".")) else Array.empty

  def modified(): Long = files.list(root).map(_.getModificationTime).maxOption.getOrElse(0L)

  def delete(name: String): Unit = files.delete(new Path(root, name))

  /** Writes a file from arrays, one after the other; nothing is there where it fails. Without `replaces`, false where there is one. */
  def write(name: String, content: Seq[Array[Byte]], replaces: Boolean): Boolean = {
    val crc = new CRC32C
    var length = 0L
    content.foreach { part => crc.update(part, 0, part.length); length += part.length }
    try {
      val out = files.createAtomic(new Path(root, name), replaces)
      try {
        content.foreach(part => out.write(part, 0, part.length))
        out.writeLong(length)
        out.writeLong(crc.getValue)
        out.close()
      } catch { case e: Throwable => out.cancel(); throw e }
      true
    } catch { case _: FileAlreadyExistsException | _: java.nio.file.FileAlreadyExistsException if !replaces => false }
  }

  /** What was written into a file; throws [[TornFile]] where it is not whole. */
  def read(name: String): Array[Byte] = {
    val path = new Path(root, name)
    val in = try files.open(path) catch { case _: FileNotFoundException => throw new TornFile(s"$path is gone") }
    val all =
      try new DataInputStream(in).readAllBytes()
      catch { case e: org.apache.hadoop.fs.ChecksumException => throw new TornFile(s"$path: ${e.getMessage}") }
      finally in.close()
    val length = all.length - 16
    if (length < 0) throw new TornFile(s"$path has ${all.length} bytes only")
    val end = java.nio.ByteBuffer.wrap(all, length, 16)
    val (told, sum) = (end.getLong(), end.getLong())
    if (told != length) throw new TornFile(s"$path says that it has $told bytes and has $length")
    val crc = new CRC32C
    crc.update(all, 0, length)
    if (crc.getValue != sum) throw new TornFile(s"$path does not have the checksum with which it was written")
    java.util.Arrays.copyOf(all, length)
  }
}

/** A file of a checkpoint that is not as it was written. */
final class TornFile(message: String) extends RuntimeException(message)

private[cqels] object CheckpointFiles {
  def packed(bytes: Array[Byte], length: Int): Array[Byte] = {
    val to = new java.io.ByteArrayOutputStream(length / 2 + 64)
    val out = new ZstdOutputStreamNoFinalizer(to, 1)
    out.write(bytes, 0, length)
    out.close()
    to.toByteArray
  }

  def unpacked(bytes: Array[Byte]): Array[Byte] = {
    val in = new ZstdInputStreamNoFinalizer(new java.io.ByteArrayInputStream(bytes))
    try in.readAllBytes() finally in.close()
  }
}
