package org.apache.spark.sql.cqels
package loading

import java.io.{BufferedOutputStream, DataOutputStream, InputStream, IOException, ObjectInputStream, ObjectOutputStream}
import java.util.UUID
import java.util.zip.{CRC32C, CheckedOutputStream}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path}

/** Encoded blocks of one part in a file that is whole or counts for nothing.
 *
 *  It is written under another name and renamed at the end. The blocks are followed by their length in bytes, their
 *  checksum and a mark, so that a file that is cut off or spoilt is told, too. One that ends with a problem is never
 *  whole: what could not be read once may be there the next time.
 */
private[loading] object BlockFiles {
  private final val Mark = 0x43714c73426c6b31L
  private final val ProblemMark = ~Mark
  private final val FooterBytes = 24
  private final val Ending = ".blocks"
  private val own = s"[0-9a-f]{32}-[0-9a-f]{16}\\$Ending(\\.[-0-9a-f]+)?".r

  def nameOf(inputs: String, hasher: String): String = s"$inputs-$hasher$Ending"

  /** The file system of a path; of local ones that which keeps no checksum files beside the files. */
  def systemOf(path: Path, configuration: Configuration): FileSystem = path.getFileSystem(configuration) match {
    case local: LocalFileSystem => local.getRawFileSystem
    case other => other
  }

  /** Writes a file whole, in place of what may be there. */
  def write(system: FileSystem, path: Path, blocks: Iterator[EncodedBlock]): Unit = {
    val partial = path.suffix(s".${UUID.randomUUID}")
    try {
      val file = system.create(partial, true)
      try {
        val summed = new CheckedOutputStream(file, new CRC32C)
        val out = new ObjectOutputStream(new BufferedOutputStream(summed, 1 << 16))
        var mark = Mark
        for (block <- blocks) {
          if (block.problem != null) mark = ProblemMark
          out.writeBoolean(true)
          out.writeObject(block)
          // It would hold all of them until the end.
          out.reset()
        }
        out.writeBoolean(false)
        out.flush()
        val footer = new DataOutputStream(file)
        footer.writeLong(file.getPos)
        footer.writeLong(summed.getChecksum.getValue)
        footer.writeLong(mark)
        footer.flush()
      } finally file.close()
      // Some file systems rename to no name that is in use.
      if (!system.rename(partial, path) && !(system.delete(path, false) && system.rename(partial, path)))
        throw new IOException(s"cannot rename $partial to $path")
    } finally system.delete(partial, false)
  }

  /** Whether a file is there and all of it as it was written; where this process knows, `unread` asks for its end only. */
  def isWhole(system: FileSystem, path: Path, unread: Boolean): Boolean =
    try {
      val length = system.getFileStatus(path).getLen - FooterBytes
      length >= 0 && {
        val file = system.open(path)
        try {
          file.seek(length)
          val said = file.readLong()
          val sum = file.readLong()
          val mark = file.readLong()
          said == length && mark == Mark && (unread || { file.seek(0); sumOf(file, length) == sum })
        } finally file.close()
      }
    } catch { case _: IOException => false }

  private def sumOf(file: InputStream, length: Long): Long = {
    val sum = new CRC32C
    val buffer = new Array[Byte](1 << 16)
    var left = length
    while (left > 0) {
      val count = file.read(buffer, 0, math.min(buffer.length.toLong, left).toInt)
      if (count < 0) return -1
      sum.update(buffer, 0, count)
      left -= count
    }
    sum.getValue
  }

  /** The blocks of a whole file, `close` ends the reading. */
  def read(system: FileSystem, path: Path): BlocksOfFile = new BlocksOfFile(system.open(path))

  /** Makes the folder, and deletes what earlier loads left in it but the files with these beginnings of their names. */
  def tidy(system: FileSystem, folder: Path, inputs: Set[String]): Unit = {
    system.mkdirs(folder)
    for (found <- system.listStatus(folder); name = found.getPath.getName)
      if (own.matches(name) && !(name.endsWith(Ending) && inputs(name.takeWhile(_ != '-')))) system.delete(found.getPath, false)
  }

  /** Deletes what is ours in a folder, and the folder when nothing is left in it. */
  def clear(system: FileSystem, folder: Path): Unit = if (system.exists(folder)) {
    tidy(system, folder, Set.empty)
    if (system.listStatus(folder).isEmpty) system.delete(folder, false)
  }
}

private[loading] final class BlocksOfFile(file: InputStream) extends Iterator[EncodedBlock] with AutoCloseable {
  private val in = new ObjectInputStream(file)
  private var more = in.readBoolean()

  override def hasNext: Boolean = more
  override def next(): EncodedBlock = {
    val block = in.readObject().asInstanceOf[EncodedBlock]
    more = in.readBoolean()
    if (!more) close()
    block
  }
  override def close(): Unit = in.close()
}
