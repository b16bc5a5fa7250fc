package org.apache.spark.sql.cqels
package rdf

/** A line of N-Triples or N-Quads breaks the grammar at `column`, counted from 1 in code points. */
final class MalformedLine(val message: String, val column: Int)
    extends RuntimeException(s"column $column: $message")

/** A text handed to the dictionary is not the canonical text of a term. */
final class MalformedTerm(val message: String) extends RuntimeException(message)

/** No layer of the dictionary knows the id: it was never encoded, or its last holder has released
  * it.
  */
final class UnknownTermException(val id: Long)
    extends RuntimeException(s"no term has the id 0x${java.lang.Long.toHexString(id)}")

/** One id would stand for two terms, or one term would have two ids.
  *
  * `id` is the id in question, `knownText` what the dictionary holds and `addedText` what was to be
  * added. The remedy is to ask `Dictionary.encode(addedText)` for the id to use.
  */
final class IdCollision(val id: Long, val knownText: String, val addedText: String)
    extends RuntimeException(
      s"the id 0x${java.lang.Long.toHexString(id)} stands for $knownText " +
        s"and cannot be used for $addedText"
    )
