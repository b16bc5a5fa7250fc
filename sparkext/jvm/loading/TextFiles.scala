package org.apache.spark.sql.cqels
package loading

import java.io.IOException

import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.{LongWritable, Text}
import org.apache.hadoop.mapreduce.Job
import org.apache.hadoop.mapreduce.lib.input.{FileInputFormat, FileSplit, TextInputFormat}

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.{NewHadoopRDD, RDD}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.cqels.rdf.LoadProblem
import org.apache.spark.sql.cqels.spark.Jobs
import org.apache.spark.sql.cqels.terms.TermHasher
import org.apache.spark.sql.cqels.unpacking.BoundedCodecs

/** N-Triples and N-Quads files as encoded blocks: split, unpacked and divided into lines by Hadoop's readers. */
private[loading] object TextFiles {
  import BlockEncoder.LineOrProblem

  private final val LeastSplit = 4L << 20
  private final val MostSplit = 32L << 20

  /** The blocks of `lineFiles`, positions in `files`; with `sameParts`, divided alike whatever the number of cores. */
  def encode(spark: SparkSession, files: Array[LoadFile], lineFiles: Array[Int], graph: String, hasher: TermHasher,
      onError: String, mostExpansion: Double, sameParts: Boolean): TextBlocks = {
    val context = spark.sparkContext
    val configuration = spark.sessionState.newHadoopConf()
    BoundedCodecs.use(configuration, mostExpansion)
    val paths = lineFiles.map(i => files(i).hadoopPath)
    val qualified = paths.map(p => p.getFileSystem(configuration).makeQualified(p))
    val total = qualified.map(p => p.getFileSystem(configuration).getFileStatus(p).getLen).sum
    val even = math.min(MostSplit, math.max(LeastSplit, total / (2L * context.defaultParallelism) + 1))
    val job = Job.getInstance(configuration)
    FileInputFormat.setInputPaths(job, qualified.map(withoutGlobs).toSeq: _*)
    FileInputFormat.setMaxInputSplitSize(job, if (sameParts) MostSplit else even)
    val positions = qualified.map(_.toString).zip(lineFiles).toMap
    val records = new NewHadoopRDD(context, classOf[TextInputFormat], classOf[LongWritable], classOf[Text], job.getConfiguration)
    new TextBlocks(records, positions, files, graph, hasher, onError)
  }

  def unreadable(file: Int, start: Long, error: IOException): LoadProblem =
    LoadProblem(file, start, 0, 0, s"cannot be read: ${error.getMessage}", null)

  /** The first .bz2 file that is none: Hadoop finds no block in it and would read it as empty. */
  def withoutMagic(spark: SparkSession, files: Array[LoadFile], lineFiles: Array[Int]): Option[LoadProblem] =
    lineFiles.find { i =>
      val path = files(i).hadoopPath
      path.getName.endsWith(".bz2") && {
        val stream = path.getFileSystem(spark.sessionState.newHadoopConf()).open(path)
        try {
          val start = stream.readNBytes(10).map(b => f"$b%02x").mkString
          // A block or the end follows the file's own mark; a file without any byte is empty, packed or not.
          start.nonEmpty && !start.matches("425a683[1-9](314159265359|177245385090)")
        } finally stream.close()
      }
    }.map(LoadProblem(_, 0L, 0, 0, "broken .bz2 file: it does not start like one", null))

  /** A path that means just itself to Hadoop, which reads some characters as patterns. */
  private def withoutGlobs(path: Path): Path =
    new Path(path.toString.flatMap(c => if ("{}[]*?\\".indexOf(c) >= 0) s"\\$c" else c.toString))

  def textLines(records: Iterator[(LongWritable, Text)], file: Int, start: Long): Iterator[LineOrProblem] =
    new Iterator[LineOrProblem] {
      private val line = new ByteLine(file, start)
      private val read = Right(line)
      private var broken: LoadProblem = _
      private var ended = false
      private def guarded[A](otherwise: A)(body: => A): A =
        try body
        catch {
          case e: IOException => broken = unreadable(file, start, e); otherwise
        }
      override def hasNext: Boolean = !ended && guarded(true)(records.hasNext)
      override def next(): LineOrProblem =
        if (broken != null) { ended = true; Left((broken, true)) }
        else {
          val found = guarded[LineOrProblem](null) {
            val text = records.next()._2
            line.bytes = text.getBytes
            line.length = text.getLength
            read
          }
          if (found != null) found else { ended = true; Left((broken, true)) }
        }
    }
}

/** The blocks of the parts of text files; a part that cannot be opened gives a problem, like one that breaks off. */
private[loading] final class TextBlocks(records: RDD[(LongWritable, Text)], positions: Map[String, Int],
    files: Array[LoadFile], graph: String, hasher: TermHasher, onError: String) extends RDD[EncodedBlock](records) {

  /** Of each partition the file, and which part of it. */
  def parts: Seq[(Int, String)] = partitions.toSeq.map { part =>
    val split = Jobs.splitOf(part).asInstanceOf[FileSplit]
    (positions(split.getPath.toString), s"${split.getStart}+${split.getLength}")
  }

  override protected def getPartitions: Array[Partition] = records.partitions
  override protected def getPreferredLocations(part: Partition): Seq[String] = records.preferredLocations(part)
  override def compute(part: Partition, task: TaskContext): Iterator[EncodedBlock] = {
    val split = Jobs.splitOf(part).asInstanceOf[FileSplit]
    val file = positions(split.getPath.toString)
    val lines =
      try TextFiles.textLines(firstParent[(LongWritable, Text)].iterator(part, task), file, split.getStart)
      catch { case e: IOException => Iterator.single(Left((TextFiles.unreadable(file, split.getStart, e), true))) }
    new BlockEncoder(files, graph, hasher, onError).blocks(lines)
  }
}
