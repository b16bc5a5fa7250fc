"""Expressions in, Spark columns over term ids out; which functions there are, and what their calls are taken to cost.

It may use `patterns`, `language`, `rewriting`, and the call costs of `adaptive`.
"""
