"""R2R: a query's graph pattern turned into a Spark plan over term ids (relation to relation, as CQL names it).

A `Query` of the language comes in, DataFrames with the choices made for them go out. `query_plans` takes the whole
query, `compiler` its patterns. Rooms, each of which may use those before it: `patterns`, `functions`, `leaves`,
`relations`, `operators`, `clusters`.
"""
