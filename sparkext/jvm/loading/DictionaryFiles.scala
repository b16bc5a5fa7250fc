package org.apache.spark.sql.cqels
package loading

import java.nio.file.{Files, Path}
import java.util.{Map => JMap}

import org.apache.hadoop.fs.{FileSystem, Path => HadoopPath}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.cqels.dictionary.{CompactDictionary, Dictionary, LayerFile, MappedDictionary, UnreadableTerms}
import org.apache.spark.sql.cqels.terms.{TermBlock, TermHasher}
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}

/** The static terms of a saved store: one file that is used as it lies, or Parquet of id BIGINT and canonical text in UTF-8. */
object DictionaryFiles {
  /** The file of the terms, to be named in errors. */
  final val Name = "terms.bin"

  private final val TermsPerBlock = 1 << 18
  private val schema = StructType(Seq(StructField("id", LongType, nullable = false), StructField("text", BinaryType, nullable = false)))

  /** Writes the static terms, each once, to a file in a folder that is there; returns how many. */
  def write(spark: SparkSession, dictionary: Dictionary, folder: String): Long = {
    val to = new HadoopPath(folder, Name)
    val here = local(spark, to)
    if (here != null) LayerFile.write(dictionary.staticLayers, dictionary.hashBits, here).toLong
    else inTemporaryFile { file =>
      val terms = LayerFile.write(dictionary.staticLayers, dictionary.hashBits, file)
      system(spark, to).copyFromLocalFile(new HadoopPath(file.toUri), to)
      terms.toLong
    }
  }

  /** Adds the terms of what `write` wrote to `dictionary` as they lie in the file, without reading them; returns how many.
   *
   *  A file of a file system that is not this machine's is copied. Throws [[UnreadableTerms]] for anything else than a
   *  whole file, and [[IdCollision]] when an id contradicts the dictionary, which then stays as it was.
   */
  def open(spark: SparkSession, dictionary: Dictionary, folder: String): Long = {
    val from = new HadoopPath(folder, Name)
    if (!system(spark, from).exists(from)) throw new UnreadableTerms("is missing")
    val here = local(spark, from)
    val layer =
      if (here != null) MappedDictionary.open(here)
      else inTemporaryFile { file =>
        system(spark, from).copyToLocalFile(false, from, new HadoopPath(file.toUri), true)
        MappedDictionary.open(file)
      }
    if (layer.hashBits != dictionary.hashBits) throw new UnreadableTerms(s"has hashes of ${layer.hashBits} bits: damaged")
    dictionary.addStatic(layer)
    layer.size.toLong
  }

  private def system(spark: SparkSession, path: HadoopPath): FileSystem =
    path.getFileSystem(spark.sparkContext.hadoopConfiguration)

  /** The place of a file on this machine, null for one elsewhere. */
  private def local(spark: SparkSession, path: HadoopPath): Path =
    if (system(spark, path).getScheme == "file") Path.of(path.toUri.getPath) else null

  /** Gives a file that has its name only meanwhile: what is mapped of it stays. */
  private def inTemporaryFile[A](use: Path => A): A = {
    val folder = Files.createTempDirectory("cqels-terms")
    val file = folder.resolve(Name)
    try use(file)
    finally {
      Files.deleteIfExists(file)
      Files.delete(folder)
    }
  }

  /** Reads terms from Parquet, as stores of format version 1 have them, and adds them to `dictionary`; returns how many.
   *
   *  `expected` is the number of terms, `exceptions` are the ids of the texts that have not their plain hashes. Throws [[IdCollision]] when an id
   *  contradicts the dictionary, which then stays as it was.
   */
  def read(spark: SparkSession, dictionary: Dictionary, path: String, expected: Long,
      exceptions: JMap[String, Number]): Int = {
    val byText = new java.util.HashMap[String, java.lang.Long]
    exceptions.forEach((text, id) => byText.put(text, id.longValue))
    val files = spark.read.schema(schema).parquet(path)
    // Terms come in the order of their slots: in a table that is too small at first they would all crowd at one end.
    val room = math.min(expected, Int.MaxValue.toLong).toInt
    val builder = new CompactDictionary.Builder(room, new TermHasher(dictionary.hashBits, byText))
    val blocks = files.asInstanceOf[Dataset[_]].queryExecution.toRdd.mapPartitions { rows =>
      new Iterator[TermBlock] {
        override def hasNext: Boolean = rows.hasNext
        override def next(): TermBlock = {
          val block = new TermBlock
          while (rows.hasNext && block.count < TermsPerBlock) {
            val row = rows.next()
            block.add(row.getLong(0), row.getBinary(1))
          }
          block
        }
      }
    }
    // One partition at a time, so that the driver never holds more than one beside the dictionary.
    blocks.toLocalIterator.foreach { block =>
      var i = 0
      while (i < block.count) { builder.add(block.ids(i), block.utf8(i)); i += 1 }
    }
    val layer = builder.build()
    dictionary.addStatic(layer)
    layer.size
  }
}
