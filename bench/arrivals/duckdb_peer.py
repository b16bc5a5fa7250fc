"""DuckDB: SQL over windows that arrays hold, which it gets by the way that is fastest for each query."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import WINDOWS, XSD_INTEGER, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.world import World
from bench.peers import relational

# For these the windows are copied into tables of DuckDB's own. Kept there altogether, moved by SQL, they took longer in
# all four; as Arrow tables, of whose rows DuckDB knows less, these two were joined badly now and then; and all pairs of
# people who cite each other were no faster for q4.
_COPIED = ("q3", "q4")
_INTEGER = f"""'"' || numPub || '"^^<{XSD_INTEGER}>' AS numPub"""


class Peer:
    """Integers and tables of names, plain and with the pairs of co-authors joined and indexed beforehand."""

    version = duckdb.__version__

    def __init__(self, threads: int = 2) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {threads}")

    def load(self, world: World, folder: Path) -> None:
        """Makes the tables and the pairs."""
        tables = static_tables(world)
        for name, table in tables.items():
            self._connection.register("arriving", table)
            self._connection.execute(f"CREATE TABLE {name} AS FROM arriving")
            self._connection.unregister("arriving")
        self._connection.execute(
            f"CREATE TABLE joint AS {relational.JOINT} ORDER BY person1, person2"
        )
        self._connection.execute("CREATE INDEX joint_person1 ON joint (person1)")
        iris = (tables[name]["iri"].to_pylist() for name in ("people", "rooms"))
        self._windows = PairWindows(*iris)

    def begin(self, query: str) -> None:
        """Reads the SQL, and empties the windows."""
        self._windows.clear()
        self._named = WINDOWS[query]
        self._copies = query in _COPIED
        sql = relational.SQL[query]
        if query == "q4":
            sql = f"SELECT person1, person2, {_INTEGER} FROM ({sql})"
        if self._copies:
            sql = sql.replace("now n", "now_table n").replace("w30 w", "w30_table w")
        self._sql = sql

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Moves the windows and runs the SQL."""
        self._windows.arrive(rows, instant)
        contents = {"now": self._windows.now, "w30": self._windows.alive}
        for name in self._named:
            self._connection.register(name, self._windows.table(contents[name]))
            if self._copies:
                self._connection.execute(f"CREATE OR REPLACE TABLE {name}_table AS FROM {name}")
        return Answered(self._connection.sql(self._sql).to_arrow_table())

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Moves the windows."""
        self._windows.arrive(rows, instant)


if __name__ == "__main__":
    serve(Peer)
