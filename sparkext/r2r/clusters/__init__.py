"""A cluster of leaves in, its solutions in an order that `adaptive` chose out.

It asks the compiler around it for what is in `cluster_compiling`; it may use `adaptive`, `operators` and what is below.
"""
