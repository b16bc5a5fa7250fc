"""Spark SQL over live views: prepared once, ordered anew as the data change, no RDF needed.

Read `live_view.py` (what moves) and `prepared_sql.py` (what runs over it) first. `join_orders.py` is
the way to `adaptive`, `order_choice.py` decides when a prepared query changes its join order.
"""

from sparkext.sql.live_view import LiveView
from sparkext.sql.order_choice import OrderSwitch
from sparkext.sql.prepared_sql import PreparedSql

__all__ = ["LiveView", "OrderSwitch", "PreparedSql"]
