package org.apache.spark.sql.cqels
package functions

import java.util.concurrent.ConcurrentHashMap
import java.util.regex.{Matcher, Pattern, PatternSyntaxException}

import org.apache.spark.sql.cqels.terms.TermText

/** REGEX and REPLACE (SPARQL 1.1, sections 17.4.3.14 and 15), by XPath's regular expressions and flags.
 *
 *  A match that takes too many steps, or too deep a stack, is an error.
 */
object RegexFunctions {
  private final val MostKept = 1000

  /** None: not a pattern. Constants are found by their ids, which the query holds; all others by their texts. */
  private val byId = new ConcurrentHashMap[(Long, Long, Long), Option[XPathPattern]]()
  private val byText = new ConcurrentHashMap[(String, String), Option[XPathPattern]]()

  private[cqels] def forget(room: Long): Unit = byId.keySet.removeIf(_._1 == room)

  def matches(room: Long, id: Long, pattern: Long, flags: Long): java.lang.Boolean =
    test(room, id, computed(room, pattern, flags))

  /** The same when pattern and flags are constants of the query. */
  def matchesConstant(room: Long, id: Long, pattern: Long, flags: Long): java.lang.Boolean =
    test(room, id, constant(room, pattern, flags))

  private def test(room: Long, id: Long, pattern: Option[XPathPattern]): java.lang.Boolean = {
    val s = if (pattern.isEmpty) null else StringFunctions.of(room, id)
    if (s == null) null else pattern.get.find(s.value)
  }

  def replace(room: Long, id: Long, pattern: Long, replacement: Long, flags: Long): java.lang.Long =
    change(room, id, replacement, computed(room, pattern, flags))

  def replaceConstant(room: Long, id: Long, pattern: Long, replacement: Long, flags: Long): java.lang.Long =
    change(room, id, replacement, constant(room, pattern, flags))

  private def change(room: Long, id: Long, replacement: Long, pattern: Option[XPathPattern]): java.lang.Long = {
    val s = if (pattern.isEmpty) null else StringFunctions.of(room, id)
    val by = if (s == null) null else StringFunctions.plain(room, replacement)
    val written = if (by == null || pattern.get.matchesNothing) null else pattern.get.replacement(by)
    val changed = if (written == null) null else pattern.get.replaceAll(s.value, written)
    if (changed == null) null else TermValues.encode(room, TermText.quote(changed) + s.tag)
  }

  private def constant(room: Long, pattern: Long, flags: Long): Option[XPathPattern] = {
    val key = (room, pattern, flags)
    val known = byId.get(key)
    if (known != null) known
    else {
      val made = computed(room, pattern, flags)
      if (byId.size >= MostKept) byId.clear()
      byId.put(key, made)
      made
    }
  }

  private def computed(room: Long, pattern: Long, flags: Long): Option[XPathPattern] = {
    val key = (StringFunctions.plain(room, pattern), StringFunctions.plain(room, flags))
    if (key._1 == null || key._2 == null) None
    else {
      if (byText.size >= MostKept) byText.clear()
      byText.computeIfAbsent(key, k => XPathPattern(k._1, k._2))
    }
  }
}

/** A regular expression of XPath in Java's terms. */
private[cqels] final class XPathPattern(compiled: Pattern, literal: Boolean, shape: PatternShape) {
  /** Whether it is found in a text; null when that takes too long to tell. */
  def find(text: String): java.lang.Boolean = bounded[java.lang.Boolean](text)(_.find())

  /** The text with what is found replaced; null when it takes too long, or becomes too long. */
  def replaceAll(text: String, written: String): String = bounded[String](text) { found =>
    if (!found.find()) text
    else if (written.length + written.count(_ == '$').toLong * text.length > 4L * Bounds.MostText) null
    else {
      val out = new java.lang.StringBuilder
      do found.appendReplacement(out, written) while (out.length <= Bounds.MostText && found.find())
      found.appendTail(out)
      if (out.length > Bounds.MostText) null else out.toString
    }
  }

  private def bounded[A >: Null <: AnyRef](text: String)(use: Matcher => A): A =
    try use(compiled.matcher(if (shape.mayTakeLong(text.length)) new CountedText(text) else text))
    catch { case _: TooManySteps | _: StackOverflowError => null }

  /** Whether it matches the empty string, which REPLACE does not allow. */
  val matchesNothing: Boolean = compiled.matcher("").find()
  private val groups = compiled.matcher("").groupCount

  /** The replacement text in Java's spelling; null when it is malformed: `$n` is a group, `\$` and `\\` are themselves. */
  def replacement(text: String): String =
    if (literal) java.util.regex.Matcher.quoteReplacement(text)
    else {
      val out = new StringBuilder
      var afterGroup = false
      var i = 0
      while (i < text.length) {
        var group = false
        text.charAt(i) match {
          case '\\' =>
            i += 1
            if (i == text.length || (text.charAt(i) != '\\' && text.charAt(i) != '$')) return null
            out.append('\\').append(text.charAt(i))
          case '$' =>
            var end = i + 1
            var number = 0
            // As many digits as still name a group.
            while (end < text.length && isDigit(text.charAt(end)) &&
              (end == i + 1 || number * 10 + (text.charAt(end) - '0') <= groups)) {
              number = number * 10 + (text.charAt(end) - '0')
              end += 1
            }
            if (end == i + 1) return null
            if (number <= groups) { out.append('$').append(number); group = true }
            i = end - 1
          case c => // a digit after a group would be read as part of its number
            if (afterGroup && isDigit(c)) out.append('\\')
            out.append(c)
        }
        afterGroup = group
        i += 1
      }
      out.toString
    }

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'
}

private[cqels] object XPathPattern {
  private final val MostPattern = 10000
  private final val MostEmpty = 4

  /** None when the pattern or a flag is none of XPath's. */
  def apply(pattern: String, flags: String): Option[XPathPattern] =
    if (flags.exists(f => "smixq".indexOf(f) < 0)) None
    else {
      val literal = flags.contains('q')
      var options = Pattern.UNIX_LINES
      if (flags.contains('s')) options |= Pattern.DOTALL
      if (flags.contains('m')) options |= Pattern.MULTILINE
      if (flags.contains('i')) options |= Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE
      if (literal) options |= Pattern.LITERAL
      try {
        val shape = new PatternShape
        val java = if (literal) pattern else new XPathToJava(pattern, flags.contains('x'), flags.contains('m'), shape).translate()
        if (pattern.length > MostPattern || shape.empty > MostEmpty) None
        else Some(new XPathPattern(Pattern.compile(java, options), literal, shape))
      } catch { case _: PatternSyntaxException | _: StackOverflowError => None }
    }
}

/** Rewrites an XPath pattern where Java reads the same signs otherwise. */
private final class XPathToJava(pattern: String, compact: Boolean, multiline: Boolean, shape: PatternShape) {
  private val out = new StringBuilder
  private var at = 0
  private var inBraces = false

  def translate(): String = {
    while (at < pattern.length) {
      pattern.charAt(at) match {
        case '\\' =>
          if (at + 1 < pattern.length && isDigit(pattern.charAt(at + 1))) shape.reference() else shape.plain()
          escape()
        case '[' => shape.plain(); characterClass()
        case '$' => shape.plain(); out.append(if (multiline) "$" else "\\z"); at += 1
        case '(' if pattern.startsWith("(?", at) && !pattern.startsWith("(?:", at) =>
          throw new PatternSyntaxException("only (?: is XPath's", pattern, at)
        case c if compact && isBlank(c) => at += 1
        case c =>
          note(c)
          out.append(c)
          at += 1
      }
    }
    out.toString
  }

  private def note(c: Char): Unit = c match {
    case '(' => shape.opened(out.length + 1)
    case ')' => shape.close(out)
    case '|' => shape.choice(out)
    case '?' if pattern.startsWith("(?:", at - 1) => // belongs to what opens a group
    case '*' | '+' | '?' | '{' => shape.quantifier(c, out); inBraces = c == '{'
    case '}' if inBraces => inBraces = false
    case _ if inBraces =>
    case _ => shape.plain()
  }

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'
  private def isBlank(c: Char): Boolean = c == ' ' || c == '\t' || c == '\n' || c == '\r'

  private def escape(): Unit = {
    if (at + 1 == pattern.length) throw new PatternSyntaxException("a lone backslash", pattern, at)
    pattern.charAt(at + 1) match {
      case 'd' => out.append("\\p{Nd}")
      case 'D' => out.append("\\P{Nd}")
      case 'w' => out.append("[^\\p{P}\\p{Z}\\p{C}]")
      case 'W' => out.append("[\\p{P}\\p{Z}\\p{C}]")
      case 's' => out.append("[ \\t\\n\\r]")
      case 'S' => out.append("[^ \\t\\n\\r]")
      case 'i' => out.append("[_:\\p{L}]")
      case 'I' => out.append("[^_:\\p{L}]")
      case 'c' => out.append("[-._:\\p{L}\\p{N}\\p{M}]")
      case 'C' => out.append("[^-._:\\p{L}\\p{N}\\p{M}]")
      case k @ ('p' | 'P') if pattern.startsWith("{", at + 2) =>
        val close = pattern.indexOf('}', at)
        val end = if (close < 0) pattern.length else close
        val name = pattern.substring(at + 3, end).filterNot(c => compact && isBlank(c))
        out.append('\\').append(k).append('{').append(if (name.startsWith("Is")) "In" + name.substring(2) else name)
        if (close >= 0) out.append('}')
        at = math.min(end + 1, pattern.length) - 2
      case c => out.append('\\').append(c)
    }
    at += 2
  }

  /** `[a-z-[aeiou]]` is `[[a-z]&&[^aeiou]]` in Java. */
  private def characterClass(): Unit = {
    val start = out.length
    out.append('[')
    at += 1
    if (pattern.startsWith("^", at)) { out.append('^'); at += 1 }
    var first = true
    while (at < pattern.length && (first || pattern.charAt(at) != ']')) {
      pattern.charAt(at) match {
        case '\\' => escape()
        case '-' if pattern.startsWith("-[", at) && !first =>
          val minus = new XPathToJava(pattern.substring(at + 1), compact, multiline, shape)
          minus.characterClass()
          val taken = minus.out.toString
          out.insert(start, '[')
          out.append("]&&").append(if (taken.startsWith("[^")) "[" + taken.substring(2) else "[^" + taken.substring(1))
          at += 1 + minus.at
        case c @ ('[' | '&' | '~' | '#') => out.append('\\').append(c); at += 1
        case c => out.append(c); at += 1
      }
      first = false
    }
    if (at >= pattern.length) throw new PatternSyntaxException("an open character class", pattern, at)
    out.append(']')
    at += 1
  }
}

/** Ends a match that has looked at too many characters; it has no trace, since nobody looks at it. */
private[functions] final class TooManySteps extends RuntimeException(null, null, false, false)

/** A text that counts how often it is looked at: what Java's matcher does without end, it does with this. */
private[functions] final class CountedText(text: String) extends CharSequence {
  private var left = CountedText.Steps + CountedText.StepsPerCharacter * text.length

  override def charAt(i: Int): Char = {
    left -= 1
    if (left < 0) throw new TooManySteps
    text.charAt(i)
  }
  override def length: Int = text.length
  override def subSequence(from: Int, until: Int): CharSequence = text.substring(from, until)
  override def toString: String = text
}

private[functions] object CountedText {
  private final val Steps = 100000000L
  private final val StepsPerCharacter = 100L
  /** A match that takes no more steps than this need not count them. */
  final val Few = 1e7
}

/** How many ways there may be through a pattern, by its quantifiers and choices: kept while it is translated, in order.
 *
 *  A text of n characters takes at most about `ways * n ^ (quantifiers + 1)` steps, unless `nested` says that something
 *  repeated is repeated again. `empty` counts the groups that match nothing in several ways: a matcher goes all of them
 *  without looking at a character.
 */
private[functions] final class PatternShape {
  private final class Group(val begin: Int) {
    var choiceBegin: Int = begin
    var choices = 1
    var emptyChoices = 0
    var repeats = false
  }
  private var open = List(new Group(0))
  private var closed: Group = _
  private var afterQuantifier = false
  private var quantifiers = 0
  private var ways = 1.0
  private var nested = false
  var empty = 0

  def opened(at: Int): Unit = { open ::= new Group(at); plain() }

  def choice(pattern: StringBuilder): Unit = {
    endChoice(pattern)
    open.head.choices += 1
    open.head.choiceBegin = pattern.length + 1
    plain()
  }

  def close(pattern: StringBuilder): Unit = {
    if (open.tail.nonEmpty) {
      if (open.head.choices > 1) endChoice(pattern)
      closed = open.head
      open = open.tail
      ways *= closed.choices
      if (closed.emptyChoices > 1) empty += 1
      open.head.repeats ||= closed.repeats
    }
    afterQuantifier = false
  }

  /** A quantifier stands next; `pattern` is what comes before it. */
  def quantifier(sign: Char, pattern: StringBuilder): Unit =
    if (afterQuantifier) afterQuantifier = false // lazy or possessive
    else {
      if (closed != null) {
        nested ||= closed.repeats || closed.choices > 1
        if (closed.emptyChoices > 0 || (closed.choices == 1 && matchesNothing(pattern, closed.begin))) empty += 1
      }
      if (sign == '?') ways *= 2 else quantifiers += 1
      open.head.repeats = true
      closed = null
      afterQuantifier = true
    }

  /** What a group captured stands next. */
  def reference(): Unit = { nested = true; plain() }

  def plain(): Unit = { closed = null; afterQuantifier = false }

  def mayTakeLong(characters: Int): Boolean =
    nested || ways * math.pow(characters + 1.0, quantifiers + 1.0) > CountedText.Few

  private def endChoice(pattern: StringBuilder): Unit =
    if (matchesNothing(pattern, open.head.choiceBegin)) open.head.emptyChoices += 1

  private def matchesNothing(pattern: StringBuilder, from: Int): Boolean = {
    val part = pattern.substring(from)
    try Pattern.compile(if (part.startsWith("?:")) part.substring(2) else part).matcher("").matches
    catch { case _: PatternSyntaxException => true }
  }
}
