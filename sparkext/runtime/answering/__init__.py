"""Answers: what the JVM wrote in, tables, terms, DataFrames and sinks' files out; uses `answers`."""
