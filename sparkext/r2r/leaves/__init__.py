"""A group of patterns in, a join of leaves and its conditions out; where each looks, and what deltas make of them.

It may use `patterns`, `functions` and the rooms below them.
"""
