"""Algebra in, algebra that means the same out: equivalences, one function each, and the passes that are built of them.

It may use `language`; no Spark.
"""
