package org.apache.spark.sql.cqels
package functions

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** SPARQL's hash functions (SPARQL 1.1, section 17.4.6): of a string without a language, in lower-case hexadecimal. */
object Hashes {
  def md5(room: Long, id: Long): java.lang.Long = hash(room, id, "MD5")
  def sha1(room: Long, id: Long): java.lang.Long = hash(room, id, "SHA-1")
  def sha256(room: Long, id: Long): java.lang.Long = hash(room, id, "SHA-256")
  def sha384(room: Long, id: Long): java.lang.Long = hash(room, id, "SHA-384")
  def sha512(room: Long, id: Long): java.lang.Long = hash(room, id, "SHA-512")

  private def hash(room: Long, id: Long, algorithm: String): java.lang.Long = {
    val text = StringFunctions.plain(room, id)
    if (text == null) null else TermValues.string(room, hexadecimal(algorithm, text))
  }

  private[cqels] def hexadecimal(algorithm: String, text: String): String =
    MessageDigest.getInstance(algorithm).digest(text.getBytes(UTF_8)).map(b => "%02x".format(b & 0xff)).mkString
}
