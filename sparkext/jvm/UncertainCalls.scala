package org.apache.spark.sql.cqels

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, LongAdder}

/** What the calls of uncertainty functions of one engine share: read literals, results that may be had again, call sites.
 *
 *  Within an evaluation a call with the same arguments is made once (uncertainty paper, section 5, function cache); with
 *  `acrossEvaluations` results stay for later ones. Several threads of an evaluation may call at once.
 */
final class UncertainCalls(private[cqels] val room: Long) {
  private val read = new ConcurrentHashMap[java.lang.Long, AnyRef]()
  private val results = new ConcurrentHashMap[AnyRef, AnyRef]()
  private val functions = new java.util.concurrent.CopyOnWriteArrayList[RegisteredFunction]()
  private val sites = new ConcurrentHashMap[Int, CallSite]()
  private val numbers = new AtomicInteger
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

  /** The number of a new place in a query that calls. */
  def newSite(): Int = { val site = new CallSite(this, numbers.incrementAndGet()); sites.put(site.number, site); site.number }
  def site(number: Int): CallSite = sites.get(number)

  /** The distribution that a term stands for; null if it is none. */
  def distribution(id: Long): Distribution = {
    val known = read.get(id)
    if (known != null) known match { case d: Distribution => d; case _ => null }
    else {
      val found = UncertainCalls.parse(room, id)
      if (read.size < UncertainCalls.MostRead) read.put(id, if (found == null) UncertainCalls.None else found)
      found
    }
  }

  /** Takes a function of a user's, and gives the number that it is called by. */
  def addFunction(function: UserFunction, givesNumber: Boolean): Int = synchronized {
    functions.add(new RegisteredFunction(function, givesNumber))
    functions.size - 1
  }
  private[cqels] def function(number: Int): RegisteredFunction = functions.get(number)

  /** The value of a call: from the cache, or computed and put there; `key` stands for the function and its arguments. */
  private[cqels] def value[T <: AnyRef](site: CallSite, key: => AnyRef)(compute: => T): T =
    if (size == 0) site.make(burden)(compute)
    else {
      val call = key
      val known = results.get(call)
      if (known != null) { site.spare(); UncertainCalls.opened(known) }
      else if (results.size >= size) site.make(burden)(compute)
      else {
        // Of threads that call with the same arguments at a time, one computes and the others wait for it.
        var here = false
        val kept = results.computeIfAbsent(call, (_: AnyRef) => {
          here = true
          val value = site.make(burden)(compute)
          if (value == null) UncertainCalls.None else value
        })
        if (!here) site.spare()
        UncertainCalls.opened(kept)
      }
    }
}

/** One filter, BIND or other expression of a query in which uncertainty functions are called, and what is counted there. */
final class CallSite(calls: UncertainCalls, val number: Int) {
  private val made = new LongAdder
  private val spared = new LongAdder
  private val timed = new LongAdder
  private val nanos = new LongAdder
  private val rowsIn = new LongAdder
  private val rowsPassed = new LongAdder
  private var tick = 0 // lost updates do no harm

  def room: Long = calls.room
  def distribution(id: Long): Distribution = calls.distribution(id)

  def apply[T <: AnyRef](function: Int, a: Distribution, b: Distribution, c: Distribution)(compute: => T): T =
    calls.value(this, new Call(function, a, b, c))(compute)

  def keyed[T <: AnyRef](key: => AnyRef)(compute: => T): T = calls.value(this, key)(compute)
  private[cqels] def function(number: Int): RegisteredFunction = calls.function(number)

  /** A row has been looked at; it has `passed` a filter, or has a value for a BIND. */
  def row(passed: Boolean): Unit = { rowsIn.increment(); if (passed) rowsPassed.increment() }

  private[cqels] def spare(): Unit = spared.increment()

  private[cqels] def make[T](burden: Long)(compute: => T): T = {
    made.increment()
    tick += 1
    if (burden == 0 && (tick & CallSite.TimedOneIn - 1) != 1) compute
    else {
      val started = System.nanoTime()
      val value = compute
      while (System.nanoTime() - started < burden) Thread.onSpinWait()
      nanos.add(System.nanoTime() - started)
      timed.increment()
      value
    }
  }

  /** Calls made, calls spared by the cache, nanoseconds of the calls made, rows in, rows passed; since the start. */
  def counts: Array[Long] = {
    val sample = timed.sum
    val time = if (sample == 0) 0L else math.round(made.sum.toDouble * nanos.sum / sample)
    Array(made.sum, spared.sum, time, rowsIn.sum, rowsPassed.sum)
  }
}

private object CallSite {
  final val TimedOneIn = 64
}

/** The arguments of one call; distributions are equal when their literals are. */
private[cqels] final class Call(val function: Int, val a: Distribution, val b: Distribution, val c: Distribution) {
  private val hash = ((function * 31 + a.hashCode) * 31 + (if (b == null) 0 else b.hashCode)) * 31 + (if (c == null) 0 else c.hashCode)
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case o: Call => function == o.function && a == o.a && b == o.b && c == o.c
    case _ => false
  }
}

object UncertainCalls {
  private final val MostRead = 1 << 16
  private val None = new Object
  private def opened[T <: AnyRef](kept: AnyRef): T = if (kept eq None) null.asInstanceOf[T] else kept.asInstanceOf[T]

  private val rooms = new ConcurrentHashMap[Long, UncertainCalls]()
  def register(room: Long): UncertainCalls = { val made = new UncertainCalls(room); rooms.put(room, made); made }
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
