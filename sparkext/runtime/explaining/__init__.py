"""Why and how: choices, counts of operators and changes of orders in, `explain()`, `history()` and
its plot out; uses `adaptive` and the choices of `r2r`."""
