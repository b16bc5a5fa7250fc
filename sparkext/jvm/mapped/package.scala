package org.apache.spark.sql.cqels

/** Mapped rows: columns and what a mapping says of them in, stream elements and blocks of static quads of encoded terms out.
 *
 *  What a term map makes is encoded once for each distinct value; no text is made of what is a number already. It uses
 *  `columns` and `streams` and what is below.
 */
package object mapped
