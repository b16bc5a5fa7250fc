package org.apache.spark.sql.cqels
package runs

import java.io.{Externalizable, ObjectInputStream, ObjectOutputStream}

import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}

/** What says itself what of it travels, whichever serializer Spark is told to use: Kryo would take the fields one by one. */
private[cqels] trait OwnSerialization extends Externalizable with KryoSerializable {
  override def write(kryo: Kryo, output: Output): Unit = { val out = new ObjectOutputStream(output); writeExternal(out); out.flush() }
  override def read(kryo: Kryo, input: Input): Unit = readExternal(new ObjectInputStream(input))
}
