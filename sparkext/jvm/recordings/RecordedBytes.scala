package org.apache.spark.sql.cqels
package recordings

import java.io.{BufferedInputStream, ByteArrayInputStream, Closeable, IOException, InputStream}
import java.nio.channels.{Channels, FileChannel}
import java.nio.file.{Path, StandardOpenOption}
import java.util.zip.{GZIPInputStream, ZipFile}

import scala.jdk.CollectionConverters._

import com.github.luben.zstd.ZstdInputStream
import org.apache.commons.compress.compressors.bzip2.BZip2CompressorInputStream
import org.tukaani.xz.XZInputStream

import org.apache.spark.sql.cqels.unpacking.BoundedInputStream

/** The unpacked bytes of a file; `packing` is one of "", gz, bz2, xz, zst, zip. Throws [[RecordingProblem]]. */
private[recordings] final class RecordedBytes(path: Path, packing: String, mostExpansion: Double) extends Closeable {
  private var archive: ZipFile = _
  private val channel = FileChannel.open(path, StandardOpenOption.READ)
  private val stream: InputStream =
    try unpacked
    catch {
      case e: IOException =>
        close()
        throw broken(e)
    }

  /** How many bytes of the file have been taken from it so far, about. */
  def position: Long = channel.position

  /** Reads up to `count` bytes to `target`; -1 at the end. */
  def read(target: Array[Byte], from: Int, count: Int): Int =
    try stream.read(target, from, count)
    catch { case e: IOException => throw broken(e) }

  override def close(): Unit = {
    if (archive != null) archive.close()
    channel.close()
  }

  private def unpacked: InputStream = {
    val plain = Channels.newInputStream(channel)
    // A file without any byte is empty, packed or not.
    if (channel.size == 0) new ByteArrayInputStream(Array.emptyByteArray)
    else if (packing.isEmpty) plain
    else new BoundedInputStream(unpacked(plain), () => if (archive == null) position else channel.size, mostExpansion)
  }

  private def unpacked(plain: InputStream): InputStream =
    packing match {
      case "gz" => new GZIPInputStream(plain, RecordedBytes.Buffer)
      case "bz2" => new BZip2CompressorInputStream(buffered(plain), true)
      case "xz" => new XZInputStream(buffered(plain))
      case "zst" => new ZstdInputStream(plain)
      case "zip" =>
        archive = new ZipFile(path.toFile)
        archive.stream.iterator.asScala.filterNot(e => e.isDirectory || e.getName.startsWith("__MACOSX/")).toList match {
          case List(one) => archive.getInputStream(one)
          case several => throw new IOException(s"it holds ${several.size} files, not one")
        }
    }

  private def buffered(stream: InputStream): InputStream = new BufferedInputStream(stream, RecordedBytes.Buffer)

  private def broken(error: IOException): RecordingProblem = {
    val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    new RecordingProblem(path.toString, if (packing.isEmpty) reason else s"broken .$packing file: $reason")
  }
}

private object RecordedBytes {
  final val Buffer = 1 << 16
}

/** A file that cannot be read to its end. */
private[cqels] final class RecordingProblem(val file: String, val reason: String) extends RuntimeException(s"$file: $reason")
