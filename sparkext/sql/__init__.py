"""Spark SQL over live views: prepared once, ordered anew as the data change, no RDF needed.

Read `live_view.py` (what moves) and `prepared_sql.py` (what runs over it) first. `join_orders.py` is
the way to `adaptive`, which orders the joins of ordinary queries. `kept_sides.py` shows what unchanged streaming jobs
need not read again.
"""

from sparkext.sql.kept_sides import KeptSide, kept_sides
from sparkext.sql.live_view import LiveView
from sparkext.sql.prepared_sql import PreparedSql

__all__ = ["KeptSide", "LiveView", "PreparedSql", "kept_sides"]
