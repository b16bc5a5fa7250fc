"""Algebra in, algebra out: a pattern rewritten so that it can be compiled, and walks over it.

It may use `language` and `rewriting`; no Spark.
"""
