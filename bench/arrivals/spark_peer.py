"""Stock Spark: cached static tables, DataFrames of the windows, which arrays hold, built for every second."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyspark

from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import WINDOWS, XSD_INTEGER, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.world import World
from bench.peers import relational
from bench.peers.spark_stock import cached_view, launch_settings, stock_session

_INTEGER = f"""concat('"', numPub, '"^^<{XSD_INTEGER}>') AS numPub"""


class Peer:
    """A plain PySpark session; tables of ids and names, all cached."""

    version = pyspark.__version__

    def load(self, world: World, folder: Path) -> None:
        """Starts the session and caches the tables."""
        self._spark = stock_session(launch_settings(world.scale))
        tables = static_tables(world)
        for name, table in tables.items():
            cached_view(name, self._spark.createDataFrame(table))
        iris = (tables[name]["iri"].to_pylist() for name in ("people", "rooms"))
        self._windows = PairWindows(*iris)

    def begin(self, query: str) -> None:
        """Empties the windows; caches the co-author pairs where they serve."""
        self._windows.clear()
        self._named = WINDOWS[query]
        if query == "q2":
            cached_view("joint", self._spark.sql(relational.JOINT))
        sql = relational.SQL[query]
        if query == "q4":
            sql = f"SELECT person1, person2, {_INTEGER} FROM ({sql})"
        self._sql = sql

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Moves the windows, makes DataFrames of them and runs the SQL."""
        self._windows.arrive(rows, instant)
        contents = {"now": self._windows.now, "w30": self._windows.alive}
        for name in self._named:
            frame = self._spark.createDataFrame(self._windows.table(contents[name]))
            frame.createOrReplaceTempView(name)
        return Answered(self._spark.sql(self._sql).toArrow())

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Moves the windows."""
        self._windows.arrive(rows, instant)


if __name__ == "__main__":
    serve(Peer)
