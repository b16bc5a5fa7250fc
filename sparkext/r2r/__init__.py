"""R2R: a query's graph pattern turned into a Spark plan over term ids (relation to relation, as CQL names it)."""
