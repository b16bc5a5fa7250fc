"""Which plan: a query graph, its catalogue and a cost model in, the cheapest plan with its rivals
and reasons out; uses `graph`, `statistics`, `heuristics`."""
