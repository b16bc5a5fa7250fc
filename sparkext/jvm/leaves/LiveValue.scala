package org.apache.spark.sql.cqels
package leaves

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/** What has one value in each run of a kept plan: a subquery, or the clock; it travels to tasks as it is then. */
final class LiveScalar(val label: String) extends Serializable {
  private var current: Any = _
  private var known = false

  def value: Any = if (known) current else throw new IllegalStateException(s"$label has no value yet")

  def set(value: Any): Unit = {
    current = value
    known = true
  }
}

/** Reads a value of the run of now; generated code does so too, and thus stays the same.
 *
 *  `version` tells one bind from the next, as in [[RowScanExec]].
 */
case class LiveValue(scalar: LiveScalar, dataType: DataType, nullable: Boolean, version: Long = 0) extends LeafExpression {
  override def foldable: Boolean = false
  override def eval(input: InternalRow): Any = scalar.value

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val holder = ctx.addReferenceObj("liveScalar", scalar)
    val found = ctx.freshName("found")
    ev.copy(code = code"""
      final Object $found = $holder.value();
      final boolean ${ev.isNull} = $found == null;
      ${CodeGenerator.javaType(dataType)} ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      if (!${ev.isNull}) ${ev.value} = (${CodeGenerator.boxedType(dataType)}) $found;
    """)
  }

  override def toString: String = scalar.label
}

object LiveValue {
  def isIn(e: Expression): Boolean = e.exists(_.isInstanceOf[LiveValue])

  /** The same expression, unequal to that of any other bind. */
  def bound(e: Expression, version: Long): Expression = e.transform { case v: LiveValue => v.copy(version = version) }
}
