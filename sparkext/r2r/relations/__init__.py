"""Leaves in, solutions as DataFrames out: a query's dataset, kept static relations, and how many rows to expect.

It may use `leaves` and the rooms below it, the bridge, the estimates of `adaptive` and the catalogue of `static_data`.
"""
