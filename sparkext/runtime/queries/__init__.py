"""Queries: a parsed query and its windows in, prepared plans that the JVM runs out; uses `r2r`, and
the rooms of `runtime` beside it but none above."""
