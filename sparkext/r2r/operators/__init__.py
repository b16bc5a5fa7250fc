"""One operator of the algebra in, its solutions out: GROUP BY, OPTIONAL, MINUS, EXISTS, cut sub-selects, path searches.

What they ask of the compiler around them is `pattern_compiling`; they may use `relations` and what is below it.
"""
