package org.apache.spark.sql.execution.joins {

  import java.io.{ObjectInput, ObjectOutput}

  import org.apache.spark.sql.catalyst.InternalRow
  import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
  import org.apache.spark.sql.cqels.{LongTable, RowPages}
  import org.apache.spark.sql.types.LongType

  /** An immutable index over packed rows of any columns: the numbers of the rows grouped by key.
   *
   *  Memory: 4 bytes a row and about 20 a distinct key, whose value is kept too unless it is one long.
   */
  final class StaticRowIndex private[joins] (
      rows: RowPages, arity: Int, order: Array[Int], groups: Array[Int], slots: Array[Int],
      longKeys: Array[Long], rowKeys: RowPages, hashes: Array[Int]) extends IdRelation {
    private val row = new UnsafeRow(rows.fields)
    private val groupKey = new UnsafeRow(arity)
    private val found = new Matches

    override val keyColumns: Array[Int] = Array.range(0, arity)
    def keyCount: Int = groups.length - 1
    override def estimatedSize: Long = 4L * (order.length + groups.length + slots.length) +
      (if (longKeys != null) 8L * longKeys.length else rowKeys.memoryBytes + 4L * hashes.length)

    // A copy a task: it re-uses its row and its iterator.
    override def asReadOnlyCopy(): StaticRowIndex =
      new StaticRowIndex(rows, arity, order, groups, slots, longKeys, rowKeys, hashes)

    override def get(key: Long): Iterator[InternalRow] = {
      val mask = slots.length - 1
      var slot = StaticRowIndex.spread(key) & mask
      while (slots(slot) >= 0) {
        if (longKeys(slots(slot)) == key) return found.of(slots(slot))
        slot = (slot + 1) & mask
      }
      null
    }

    override protected def matches(key: InternalRow): Iterator[InternalRow] =
      if (longKeys != null) get(key.getLong(0))
      else {
        val mask = slots.length - 1
        val hash = key.hashCode()
        var slot = StaticRowIndex.spread(hash) & mask
        while (slots(slot) >= 0) {
          val g = slots(slot)
          if (hashes(g) == hash) {
            rowKeys.point(groupKey, g)
            if (groupKey == key) return found.of(g)
          }
          slot = (slot + 1) & mask
        }
        null
      }

    private final class Matches extends Iterator[InternalRow] {
      private var at = 0
      private var until = 0
      def of(group: Int): Matches = { at = groups(group); until = groups(group + 1); this }
      override def hasNext: Boolean = at < until
      override def next(): InternalRow = { rows.point(row, order(at)); at += 1; row }
    }

    override def writeExternal(out: ObjectOutput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
    override def readExternal(in: ObjectInput): Unit = throw new UnsupportedOperationException("an index of rows stays on the driver")
  }

  object StaticRowIndex {
    @inline private def spread(key: Long): Int = (LongTable.mix(0L, key) >>> 32).toInt

    /** Builds the index of rows by a bound key; rows whose key has a null join nothing and are left out. */
    def build(rows: RowPages, key: Seq[Expression]): StaticRowIndex = {
      val longKey = key.length == 1 && key.head.dataType == LongType
      val project = UnsafeProjection.create(key)
      val n = rows.rowCount
      if (n > (1 << 29)) throw new IllegalArgumentException(s"$n rows are too many for one in-memory index")
      var capacity = 16
      while (capacity < n * 3L / 2) capacity <<= 1
      val mask = capacity - 1
      val slots = new Array[Int](capacity)
      java.util.Arrays.fill(slots, -1)
      val group = new Array[Int](n)
      val sizes = new GrowingInts(1024)
      var longs = new Array[Long](if (longKey) 1024 else 0)
      val hashes = new GrowingInts(if (longKey) 1 else 1024)
      val rowKeys = if (longKey) null else new RowPages(key.length)
      val row = new UnsafeRow(rows.fields)
      val known = new UnsafeRow(key.length)
      var r = 0
      while (r < n) {
        rows.point(row, r)
        val k = project(row)
        if (k.anyNull()) group(r) = -1
        else {
          val long = if (longKey) k.getLong(0) else 0L
          val hash = if (longKey) 0 else k.hashCode()
          var slot = spread(if (longKey) long else hash) & mask
          var g = -1
          while (g < 0) {
            val there = slots(slot)
            if (there < 0) {
              g = sizes.size
              slots(slot) = g
              sizes.add(0)
              if (longKey) {
                if (g == longs.length) longs = java.util.Arrays.copyOf(longs, g * 2)
                longs(g) = long
              } else { hashes.add(hash); rowKeys.append(k) }
            } else {
              val same = if (longKey) longs(there) == long else hashes(there) == hash && { rowKeys.point(known, there); known == k }
              if (same) g = there else slot = (slot + 1) & mask
            }
          }
          group(r) = g
          sizes(g) = sizes(g) + 1
        }
        r += 1
      }
      val groups = new Array[Int](sizes.size + 1)
      var g = 0
      while (g < sizes.size) { groups(g + 1) = groups(g) + sizes(g); g += 1 }
      val order = new Array[Int](groups(sizes.size))
      val next = groups.clone()
      r = 0
      while (r < n) {
        if (group(r) >= 0) { order(next(group(r))) = r; next(group(r)) += 1 }
        r += 1
      }
      val kept = if (longKey) java.util.Arrays.copyOf(longs, sizes.size) else null
      val hashArray = if (longKey) null else Array.tabulate(hashes.size)(hashes(_))
      new StaticRowIndex(rows, key.length, order, groups, slots, kept, rowKeys, hashArray)
    }
  }
}

package org.apache.spark.sql.cqels {

  import java.util.concurrent.ConcurrentHashMap

  import org.apache.spark.sql.catalyst.InternalRow
  import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
  import org.apache.spark.sql.execution.joins.{LongHashedRelation, StaticRowIndex}
  import org.apache.spark.sql.types.StructType

  /** The rows of a static part of a query, computed once, with an index a join key. */
  final class StaticRows(name: String, schema: StructType, rows: RowPages) extends RowContent(name, schema) {
    private val indexes = new ConcurrentHashMap[Seq[Expression], StaticRowIndex]()
    private val counted = new ConcurrentHashMap[Expression, java.lang.Double]()

    override def live: Boolean = false
    override def rowCount: Long = rows.rowCount

    override def scan(slice: Int, slices: Int): Iterator[InternalRow] = {
      val from = (rows.rowCount.toLong * slice / slices).toInt
      val until = (rows.rowCount.toLong * (slice + 1) / slices).toInt
      new Iterator[InternalRow] {
        private val row = new UnsafeRow(rows.fields)
        private var at = from
        override def hasNext: Boolean = at < until
        override def next(): InternalRow = { rows.point(row, at); at += 1; row }
      }
    }

    override def copies(): Array[UnsafeRow] = scan(0, 1).map(_.asInstanceOf[UnsafeRow].copy()).toArray

    override def index(key: Seq[Expression]): LongHashedRelation =
      indexes.computeIfAbsent(RowContent.normalised(key), StaticRowIndex.build(rows, _))

    override def distinct(value: Expression): Double = {
      val known = RowContent.normalised(Seq(value))
      val index = indexes.get(known)
      if (index != null) index.keyCount
      else counted.computeIfAbsent(known.head, v => DistinctValues.estimate(scan(0, 1), rowCount, v))
    }

    def indexCount: Int = indexes.size
    def memoryBytes: Long = { var sum = rows.memoryBytes; indexes.values.forEach(i => sum += i.estimatedSize); sum }
  }
}
