package org.apache.spark.sql.cqels
package functions

import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.cqels.rdf.NTriplesChars
import org.apache.spark.sql.cqels.terms.{TermCodec, TermText}

/** SPARQL's functions that make IRIs, blank nodes and literals (SPARQL 1.1, section 17.4.2); null is an error. */
object TermConstructors {
  private val LanguageTag = "[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*".r.pattern
  private final val MostTag = 255
  private val rows = new AtomicLong()
  /** Keeps labels apart from those of other runs, which may come back as data. */
  private val run = UUID.randomUUID().toString.replace("-", "")

  /** An IRI as it is; the IRI that a string without a language spells, against the query's base ("": none). */
  def iri(room: Long, id: Long, base: Long): java.lang.Long =
    if (TermCodec.isIri(id)) id
    else {
      val reference = StringFunctions.plain(room, id)
      if (reference == null || !isReference(reference)) null
      else {
        val found = IriReferences.resolve(TermValues.lexical(room, base), reference)
        if (found.isEmpty) null else encodeIri(room, found)
      }
    }

  private def isReference(text: String): Boolean =
    text.forall(c => c >= 128 || NTriplesChars.inIri(c))

  private def encodeIri(room: Long, iri: String): Long = TermValues.encode(room, "<" + iri + ">")

  /** A number that no other solution has. */
  def row(room: Long): Long = TermCodec.integerId(rows.incrementAndGet())

  def blank(room: Long): java.lang.Long = TermValues.encode(room, s"_:f$run${row(room)}")

  /** The same blank node for the same string in one solution, and in no other. */
  def blankOf(room: Long, id: Long, row: Long): java.lang.Long = {
    val label = StringFunctions.plain(room, id)
    if (label == null) null
    else TermValues.encode(room, "_:n" + Hashes.hexadecimal("MD5", s"$run ${TermCodec.integerValue(row)} $label"))
  }

  def uuid(room: Long): java.lang.Long = encodeIri(room, "urn:uuid:" + UUID.randomUUID())
  def uuidText(room: Long): java.lang.Long = TermValues.string(room, UUID.randomUUID().toString)

  def typedLiteral(room: Long, lexical: Long, datatype: Long): java.lang.Long = {
    val text = StringFunctions.plain(room, lexical)
    if (text == null || !TermCodec.isIri(datatype)) null
    else {
      val iri = TermValues.lexical(room, datatype)
      if (iri == TermText.Rdf + "langString" || iri == TermText.Rdf + "dirLangString") null
      else literal(room, text, iri)
    }
  }

  /** The literal of a datatype given by its IRI. */
  private[cqels] def literal(room: Long, lexical: String, datatype: String): Long =
    if (datatype == TermCodec.Xsd + "string") TermValues.string(room, lexical)
    else TermValues.encode(room, TermText.quote(lexical) + "^^<" + datatype + ">")

  /** A time as Java writes it, which is as XML Schema does but for a sign before years of five digits. */
  private[cqels] def dateTime(room: Long, written: String): Long = literal(room, written.stripPrefix("+"), TermCodec.Xsd + "dateTime")

  def languageLiteral(room: Long, lexical: Long, language: Long): java.lang.Long = tagged(room, lexical, language, "")

  def directedLiteral(room: Long, lexical: Long, language: Long, direction: Long): java.lang.Long = {
    val d = StringFunctions.plain(room, direction)
    if (d == "ltr" || d == "rtl") tagged(room, lexical, language, "--" + d) else null
  }

  private def tagged(room: Long, lexical: Long, language: Long, direction: String): java.lang.Long = {
    val text = StringFunctions.plain(room, lexical)
    val tag = StringFunctions.plain(room, language)
    if (text == null || tag == null || tag.length > MostTag || !LanguageTag.matcher(tag).matches) null
    else TermValues.encode(room, s"${TermText.quote(text)}@${tag.toLowerCase(java.util.Locale.ROOT)}$direction")
  }
}

/** Relative IRI references (RFC 3986, section 5.2). */
private[cqels] object IriReferences {
  private val Parts = "(?s)(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\\?([^#]*))?(?:#(.*))?".r

  /** The absolute IRI; without a base the reference as it is. */
  def resolve(base: String, reference: String): String = (base, reference) match {
    case ("", _) => reference
    case (Parts(baseScheme, baseAuthority, basePath, baseQuery, _), Parts(scheme, authority, path, query, fragment)) =>
      if (scheme != null) reference
      else if (authority != null) compose(baseScheme, authority, withoutDots(path), query, fragment)
      else if (path.isEmpty) compose(baseScheme, baseAuthority, basePath, if (query == null) baseQuery else query, fragment)
      else if (path.startsWith("/")) compose(baseScheme, baseAuthority, withoutDots(path), query, fragment)
      else {
        val folder = if (baseAuthority != null && basePath.isEmpty) "/" else basePath.substring(0, basePath.lastIndexOf('/') + 1)
        compose(baseScheme, baseAuthority, withoutDots(folder + path), query, fragment)
      }
  }

  private def compose(scheme: String, authority: String, path: String, query: String, fragment: String): String =
    (if (scheme == null) "" else scheme + ":") + (if (authority == null) "" else "//" + authority) + path +
      (if (query == null) "" else "?" + query) + (if (fragment == null) "" else "#" + fragment)

  private def withoutDots(path: String): String = {
    val segments = path.split("/", -1)
    val kept = scala.collection.mutable.ArrayBuffer[String]()
    segments.foreach {
      case ".." => if (kept.size > 1 || (kept.nonEmpty && kept(0).nonEmpty)) kept.remove(kept.size - 1)
      case "." =>
      case segment => kept += segment
    }
    if (segments.last == "." || segments.last == "..") kept += ""
    kept.mkString("/")
  }
}
