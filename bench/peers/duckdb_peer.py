"""DuckDB: integers and name tables, plain or with pre-joined and indexed pairs."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import pyarrow as pa

from bench.data.world import World
from bench.peers import relational
from bench.peers.protocol import Evaluation, FastestVariant, milliseconds_since, serve
from bench.windows import WINDOWS, WindowContent

# The citing pairs (10 M at scale 1) are made only while they are a matter of seconds.
CITING_LIMIT = 2_000_000

WAYS = ("registered", "inserted")


def variants(citing: bool) -> dict[str, list[str]]:
    """The variants by query: a form of the SQL and a way of bringing in the windows."""
    return {
        query: [
            f"{form}, {way}"
            for form in forms
            if citing or (query, form) != ("q4", "pairs")
            for way in WAYS
        ]
        for query, forms in relational.SQL.items()
    }


class Peer:
    """Chooses what is fastest for each query: plain or pre-joined tables, windows registered as
    Arrow tables or copied into tables of DuckDB's own.
    """

    version = duckdb.__version__

    def __init__(self, threads: int = 2) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {threads}")
        self._choice = FastestVariant(variants(citing=True))

    def load(self, world: World, folder: Path) -> None:
        """Makes the tables, the pairs, and indexes on the pairs' first column."""
        for name, table in relational.static_tables(world).items():
            self._connection.register("arriving", table)
            self._connection.execute(f"CREATE TABLE {name} AS FROM arriving")
            self._connection.unregister("arriving")
        pairs = {"joint": relational.JOINT}
        if len(world.reference_paper) <= CITING_LIMIT:
            pairs["citing"] = relational.CITING
        for name, select in pairs.items():
            self._connection.execute(f"CREATE TABLE {name} AS {select} ORDER BY person1, person2")
            self._connection.execute(f"CREATE INDEX {name}_person1 ON {name} (person1)")
        self._choice = FastestVariant(variants(citing="citing" in pairs))

    def evaluate(self, query: str, content: WindowContent, warm_up: bool) -> Evaluation:
        """Runs every variant while warming up, then the fastest."""
        done: list[Evaluation] = []
        for variant in self._choice.to_run(query, warm_up):
            done.append(self.run_variant(query, content, variant))
            if warm_up:
                self._choice.note(query, variant, done[-1].ms)
        return min(done, key=lambda evaluation: evaluation.ms)

    def run_variant(self, query: str, content: WindowContent, variant: str) -> Evaluation:
        """Answers the query in one of its variants."""
        form, way = variant.split(", ")
        arrived = {
            window: pa.table(dict(zip(("person", "room"), content.pairs(window), strict=True)))
            for window in WINDOWS[query]
        }
        start = time.perf_counter()
        for window, table in arrived.items():
            if way == "registered":
                self._connection.register(window, table)
            else:
                self._connection.register("arriving", table)
                self._connection.execute(f"CREATE OR REPLACE TABLE {window}_table AS FROM arriving")
        window_ms = milliseconds_since(start)
        sql = relational.SQL[query][form]
        if way == "inserted":
            sql = sql.replace("now n", "now_table n").replace("w30 w", "w30_table w")
        start = time.perf_counter()
        answers = self._connection.sql(sql).to_arrow_table()
        return Evaluation(answers, milliseconds_since(start), window_ms, variant)


if __name__ == "__main__":
    serve(Peer)
