"""Equivalences of the query algebra, one function each, and the passes that are built of them."""
