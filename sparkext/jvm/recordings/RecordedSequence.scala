package org.apache.spark.sql.cqels
package recordings

import scala.collection.mutable

/** What is the same for all files of a replay. `mostBytes`: of the texts that one file may hold; `first`: elements of a block until
 *  somebody asks for another number.
 */
private[cqels] final case class ReplayOptions(
    timeProperties: Array[Array[Byte]], inTimeOrder: Boolean, lookAhead: Int, mostBytes: Long, maxAhead: Long, first: Int)

/** The elements of files of one stream, one file after the other; in order of time as far as the look-ahead reaches, or as they come.
 *
 *  `earlier` has the assemblers of earlier files of the stream: a name that one of them remembers is not used again.
 */
private[recordings] final class RecordedSequence(
    val stream: Int, sources: Seq[RecordedSource], options: ReplayOptions, earlier: mutable.ArrayBuffer[ElementAssembler],
    setAside: (RecordedSource, Int, String, String) => Unit)
    extends ReplaySequence {
  private val sorter = new TimeSorter(options.inTimeOrder)
  private val waiting = mutable.Queue.from(sources)
  private var file: RecordedFile = _
  private var source: RecordedSource = _
  private var numbers = 0L
  private val target = new Assembled {
    override def take(element: RecordedElement): Unit = {
      element.number = numbers
      numbers += 1
      sorter.add(element)
    }
    override def setAside(line: Int, graph: String, reason: String): Unit =
      RecordedSequence.this.setAside(source, line, graph, reason)
  }
  private var assembler: ElementAssembler = _
  private var passed = 0L
  private var ignoredBefore = 0L

  def position: Long = passed + (if (file == null) 0L else file.position)

  override def ignored: Long = ignoredBefore + (if (assembler == null) 0L else assembler.ignored)

  def head: ReplayElement = {
    fill()
    sorter.peek
  }

  def poll(): ReplayElement = sorter.poll()

  def eachTime(action: Long => Unit): Unit = sorter.foreach(e => action(e.time))

  def close(): Unit = if (file != null) file.close()

  private def fill(): Unit =
    while (sorter.size <= options.lookAhead && sorter.bytes <= options.mostBytes && (file != null || waiting.nonEmpty)) {
      if (file == null) open()
      if (!file.advance()) {
        passed += java.nio.file.Files.size(source.path)
        ignoredBefore += assembler.ignored
        assembler = null
        file = null
      }
    }

  private def open(): Unit = {
    source = waiting.dequeue()
    assembler = new ElementAssembler(options.timeProperties, options.lookAhead, options.mostBytes, earlier.toSeq, target)
    earlier += assembler
    file = new RecordedFile(source, assembler)
  }
}
