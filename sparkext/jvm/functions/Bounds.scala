package org.apache.spark.sql.cqels
package functions

import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.util.regex.{Pattern, PatternSyntaxException}

/** What one call of a function may make or take at most: beyond that it is an error, as for values that do not fit. */
private[cqels] object Bounds {
  /** Characters of a text that a function makes. */
  final val MostText = 1 << 26
  /** Digits of an integer or a decimal that is computed with. */
  final val MostDigits = 10000
  /** Quoted triples within one that TRIPLE makes. */
  final val MostTriples = 1000

  private final val MostBits = (MostDigits * 3.3219280948873626).toInt

  def fits(value: BigInteger): Boolean = value.bitLength <= MostBits
  def fits(value: JBigDecimal): Boolean = value.scale <= MostDigits && value.scale >= -MostDigits && value.precision <= MostDigits
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
