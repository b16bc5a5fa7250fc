package org.apache.spark.sql.cqels
package spark

import java.util.Properties
import java.util.concurrent.ScheduledExecutorService

import scala.reflect.ClassTag

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapreduce.InputSplit
import org.apache.spark.{Partition, SparkContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.rdd.{NewHadoopPartition, RDD}
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.util.{SerializableConfiguration, ThreadUtils, Utils}

/** What jobs of ours ask of Spark's scheduler. */
private[cqels] object Jobs {
  def activeContext: SparkContext = SparkContext.getActive.get

  /** The executors of now, as tasks may prefer them: the same part goes to the same one, as long as there are no others. */
  def executors(sc: SparkContext): Array[String] =
    sc.env.blockManager.master.getMemoryStatus.keysIterator.filterNot(_.isDriver).toArray
      .sortBy(id => (id.executorId.length, id.executorId)).map(id => ExecutorCacheTaskLocation(id.host, id.executorId).toString)

  /** A broadcast of which the driver keeps no value, only what travels. */
  def broadcastSerialized[T: ClassTag](sc: SparkContext, value: T): Broadcast[T] = sc.broadcastInternal(value, serializedOnly = true)

  /** As `mapPartitions`, for code of ours, which need not be looked through for what cannot be serialised. */
  def mapPartitions[T: ClassTag, U: ClassTag](rdd: RDD[T])(map: Iterator[T] => Iterator[U]): RDD[U] = rdd.mapPartitionsInternal(map)

  /** How this process, the driver or an executor, reaches file systems. */
  def hadoopConf: Configuration = SparkHadoopUtil.get.conf

  /** The driver's way to reach file systems, for tasks. */
  def sendHadoopConf(sc: SparkContext): Broadcast[SerializableConfiguration] = sc.broadcast(new SerializableConfiguration(sc.hadoopConfiguration))
  def confOf(sent: Broadcast[SerializableConfiguration]): Configuration = sent.value.value

  /** A copy of this thread's properties, and something done with such ones on another thread. */
  def propertiesHere(sc: SparkContext): Properties = Utils.cloneProperties(sc.getLocalProperties)
  def withProperties[T](sc: SparkContext, properties: Properties)(body: => T): T = {
    val before = sc.getLocalProperties
    sc.setLocalProperties(Utils.cloneProperties(properties))
    try body finally sc.setLocalProperties(before)
  }

  /** The split of a file that a partition reads. */
  def splitOf(part: Partition): InputSplit = part.asInstanceOf[NewHadoopPartition].serializableHadoopSplit.value

  /** A thread for what is to happen later, which keeps no process alive. */
  def scheduler(name: String): ScheduledExecutorService = ThreadUtils.newDaemonSingleThreadScheduledExecutor(name)
}
