"""Queries whose answers follow from those of other queries, so that nobody has to know which answers are right."""
