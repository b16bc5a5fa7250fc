package org.apache.spark.sql.cqels

/** Random variables: families, sums and probabilities.
 *
 *  In come parameters; out go densities, distribution functions and moments. It uses the bounds of `functions`.
 */
package object distributions
