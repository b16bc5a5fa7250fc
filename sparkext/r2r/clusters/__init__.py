"""A cluster of leaves in, its solutions in an order that `adaptive` chose out.

What it asks of the compiler around it is `cluster_compiling`; it may use `operators` and the rooms below it.
"""
