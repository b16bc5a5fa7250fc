package org.apache.spark.sql.cqels

/** What a prepared query rests on beside live views, and whether that is still the same.
 *
 *  In comes a query as it was written; out goes what it means now, and, asked before each run, whether it would mean the same
 *  and read the same again. It uses `kept`, for versions, and what is below.
 */
package object written
