package org.apache.spark.sql.cqels

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

/** What the calls of uncertainty functions of one engine share: read literals, results that may be had again, counts.
 *
 *  Within an evaluation a call with the same arguments is made once (uncertainty paper, section 5, function cache); with
 *  `acrossEvaluations` results stay for later ones. Several threads of an evaluation may call at once.
 */
final class UncertainCalls {
  private val read = new ConcurrentHashMap[java.lang.Long, AnyRef]()
  private val results = new ConcurrentHashMap[Call, AnyRef]()
  private val made = new LongAdder
  private val spared = new LongAdder
  private val timedCalls = new LongAdder
  private val timedNanos = new LongAdder
  @volatile private var size = 0
  @volatile private var lasting = false
  @volatile private var burden = 0L

  /** `size` results are kept at most (0: none); `extraNanos` makes every call so much dearer, for experiments. */
  def configure(size: Int, acrossEvaluations: Boolean, extraNanos: Long): Unit = {
    this.size = size
    lasting = acrossEvaluations
    burden = extraNanos
    results.clear()
  }

  /** A new evaluation begins: what the last one knew goes. */
  def begin(): Unit = {
    // Ids of literals that left the dictionary may come back as those of others.
    read.clear()
    if (!lasting) results.clear()
  }

  /** Calls made, calls spared by the cache, and the mean nanoseconds of a call that was made; since the start. */
  def counts: String = {
    val timed = timedCalls.sum
    s"""{"calls":${made.sum},"cache_hits":${spared.sum},"call_ns":${if (timed == 0) 0 else timedNanos.sum / timed}}"""
  }

  /** The distribution that a term stands for; null if it is none. */
  def distribution(room: Long, id: Long): Distribution = {
    val known = read.get(id)
    if (known != null) known match { case d: Distribution => d; case _ => null }
    else {
      val found = UncertainCalls.parse(room, id)
      if (read.size < UncertainCalls.MostRead) read.put(id, if (found == null) UncertainCalls.None else found)
      found
    }
  }

  /** The value of a call: from the cache, or computed and put there. */
  def apply[T <: AnyRef](function: Int, a: Distribution, b: Distribution, c: Distribution)(compute: => T): T =
    if (size == 0) make(compute)
    else {
      val call = new Call(function, a, b, c)
      val known = results.get(call)
      if (known != null) { spared.increment(); known.asInstanceOf[T] }
      else {
        val value = make(compute)
        if (results.size < size) results.put(call, value)
        value
      }
    }

  private def make[T](compute: => T): T = {
    made.increment()
    val timed = (made.sum & UncertainCalls.TimedOneIn - 1) == 0 || burden > 0
    val started = if (timed) System.nanoTime() else 0L
    val value = compute
    if (burden > 0) while (System.nanoTime() - started < burden) Thread.onSpinWait()
    if (timed) { timedCalls.increment(); timedNanos.add(System.nanoTime() - started) }
    value
  }
}

/** The arguments of one call; distributions are equal when their literals are. */
private final class Call(val function: Int, val a: Distribution, val b: Distribution, val c: Distribution) {
  private val hash = ((function * 31 + a.hashCode) * 31 + (if (b == null) 0 else b.hashCode)) * 31 + (if (c == null) 0 else c.hashCode)
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case o: Call => function == o.function && a == o.a && b == o.b && c == o.c
    case _ => false
  }
}

object UncertainCalls {
  private final val MostRead = 1 << 16
  private final val TimedOneIn = 64
  private val None = new Object

  private val rooms = new ConcurrentHashMap[Long, UncertainCalls]()
  def register(room: Long): UncertainCalls = { val made = new UncertainCalls; rooms.put(room, made); made }
  def unregister(room: Long): Unit = rooms.remove(room)
  def of(room: Long): UncertainCalls = {
    val found = rooms.get(room)
    if (found == null) throw new IllegalStateException("texts of distributions are at the driver only: this plan must run there")
    found
  }

  private val Suffix = "\"^^<" + Distribution.Datatype + ">"
  private def parse(room: Long, id: Long): Distribution =
    if (TermId.kind(id) != TermId.TypedLiteral) null
    else {
      val text = TermValues.text(room, id)
      if (text.endsWith(Suffix)) Distribution.parse(TermText.lexical(text)) else null
    }
}

/** The functions of `rspu:` (uncertainty paper, Definitions 3 to 7 and 14); an argument of a wrong kind is an error, null.
 *
 *  A first argument is a distribution, the others may be numbers: points, then.
 */
object UncertaintyFunctions {
  private final val Add = 1
  private final val Subtract = 2
  private final val Greater = 3
  private final val GreaterOrEqual = 4
  private final val Less = 5
  private final val LessOrEqual = 6
  private final val Between = 7
  private final val Quantile = 8

  def distribution(room: Long, id: Long): Distribution = UncertainCalls.of(room).distribution(room, id)

  def operand(room: Long, id: Long): Distribution =
    if (TermCodec.isInline(id) || TermId.kind(id) == TermId.TypedLiteral)
      if (Numbers.rank(room, id) > 0) {
        val value = Numbers.double(room, id)
        if (value.isNaN || value.isInfinite) null else new PointDistribution(value)
      } else distribution(room, id)
    else null

  /** The literal of a distribution as a term. */
  def term(room: Long, d: Distribution): java.lang.Long =
    TermValues.encode(room, TermText.quote(d.literal) + "^^<" + Distribution.Datatype + ">")

  def add(room: Long, x: Distribution, y: Distribution): Distribution = UncertainCalls.of(room)(Add, x, y, null)(DistributionSum.add(x, y))
  def subtract(room: Long, x: Distribution, y: Distribution): Distribution =
    UncertainCalls.of(room)(Subtract, x, y, null)(DistributionSum.subtract(x, y))

  def greaterThan(room: Long, x: Distribution, y: Distribution): java.lang.Double = UncertainCalls.of(room)(Greater, x, y, null) {
    y match { case p: PointDistribution if p.values.length == 1 => Probabilities.greater(x, p.values(0)); case _ => Probabilities.less(y, x) }
  }
  def greaterThanOrEqual(room: Long, x: Distribution, y: Distribution): java.lang.Double =
    UncertainCalls.of(room)(GreaterOrEqual, x, y, null) {
      y match {
        case p: PointDistribution if p.values.length == 1 => Probabilities.greaterOrEqual(x, p.values(0))
        case _ => Probabilities.lessOrEqual(y, x)
      }
    }
  def lessThan(room: Long, x: Distribution, y: Distribution): java.lang.Double =
    UncertainCalls.of(room)(Less, x, y, null)(Probabilities.less(x, y))
  def lessThanOrEqual(room: Long, x: Distribution, y: Distribution): java.lang.Double =
    UncertainCalls.of(room)(LessOrEqual, x, y, null)(Probabilities.lessOrEqual(x, y))
  def between(room: Long, x: Distribution, low: Distribution, high: Distribution): java.lang.Double =
    UncertainCalls.of(room)(Between, x, low, high)(Probabilities.between(x, low, high))
  def mean(room: Long, x: Distribution): java.lang.Double = x.mean
  def variance(room: Long, x: Distribution): java.lang.Double = x.variance

  /** The p-quantile, for 0 < p < 1 (0 and 1: the ends of the support, where there are any). */
  def quantile(room: Long, x: Distribution, p: java.lang.Double): java.lang.Double =
    if (p.isNaN || p < 0 || p > 1) null
    else {
      val value: Double = if (p == 0.0) x.lower else if (p == 1.0) x.upper else x.quantile(p)
      if (value.isInfinite) null else value
    }
}
