package org.apache.spark.sql.cqels

/** Packed bytes: how far they may unpack.
 *
 *  In come packed files and how many times their size may come out of them; out come their bytes, or that it is more. It
 *  uses no other room.
 */
package object unpacking
