package org.apache.spark.sql.cqels
package join

import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, GenericInternalRow}

/** One row of a vector as expressions read it: variables by number, 0 being unbound; other views of it are derived from it. */
class VectorRow(variables: Int) extends BaseGenericInternalRow {
  var columns: Array[Array[Long]] = _
  var at = 0

  override def numFields: Int = variables
  override def isNullAt(ordinal: Int): Boolean = columns(ordinal)(at) == 0L
  override def getLong(ordinal: Int): Long = columns(ordinal)(at)
  override protected def genericGet(ordinal: Int): Any = { val id = columns(ordinal)(at); if (id == 0L) null else id }
  override def setNullAt(ordinal: Int): Unit = throw new UnsupportedOperationException("a vector is read here")
  override def update(ordinal: Int, value: Any): Unit = throw new UnsupportedOperationException("a vector is read here")
  override def copy(): GenericInternalRow = throw new UnsupportedOperationException("a vector is read here")
}
