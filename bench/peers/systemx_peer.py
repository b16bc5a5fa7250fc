"""In the style of System X in Figure 5 of the CQELS report: the static part materialised, no more.

The report's baseline was a relational stream engine. This stand-in is stock Spark: what a query
asks of static data alone is computed once and cached as a table of strings (IRIs and names; no
dictionary of terms shared with the stream, no index that stays), and every evaluation joins the
windows, DataFrames of strings, with it. Spark plans each evaluation anew, with its own optimizer.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame

from bench.data.world import World
from bench.peers import relational
from bench.peers.protocol import Evaluation, milliseconds_since, serve
from bench.peers.spark_stock import cached_view, launch_settings, stock_session
from bench.windows import WINDOWS, WindowContent

# The static part of each query over creator(paper, person) and reference(paper, cited), as ids.
_CITES = """SELECT a.person AS one, b.person AS two FROM creator a
JOIN reference r ON r.paper = a.paper JOIN creator b ON b.paper = r.cited
WHERE a.person <> b.person"""
STATIC_PARTS = {
    "q2": relational.JOINT.replace("person1", "one").replace("person2", "two"),
    "q3": f"SELECT one, two FROM ({_CITES}) UNION ALL SELECT two, one FROM ({_CITES})",
    "q4": f"SELECT one, two, count(*) AS papers FROM ({_CITES}) GROUP BY one, two",
}

_MET = """now n JOIN w30 w ON w.room = n.room
JOIN pairs j ON j.person1 = n.person AND j.person2 = w.person"""
_NAMED = f"""SELECT x.name AS author1Name, y.name AS author2Name, r.name AS locName FROM {_MET}
JOIN people x ON x.iri = n.person JOIN people y ON y.iri = w.person
JOIN rooms r ON r.iri = n.room"""
SQL = {
    "q1": """SELECT p.name AS name, r.name AS locName
FROM w30 w JOIN people p ON p.iri = w.person JOIN rooms r ON r.iri = w.room""",
    "q2": _NAMED,
    "q3": _NAMED,
    "q4": f"""SELECT person1, person2, numPub
FROM (SELECT n.person AS person1, w.person AS person2, j.papers AS numPub,
             max(j.papers) OVER (PARTITION BY n.person) AS most FROM {_MET})
WHERE numPub = most""",
}


class Peer:
    """A plain PySpark session; the static part of a query is made and cached at its first use."""

    version = pyspark.__version__

    def __init__(self) -> None:
        self._pairs: DataFrame | None = None
        self._query = ""

    def load(self, world: World, folder: Path) -> None:
        """Starts the session and caches the names."""
        settings = launch_settings(world.scale)
        settings["spark.driver.memory"] = f"{round(2 + min(world.scale, 10) * 4)}g"
        self._spark = stock_session(settings)
        tables = relational.static_tables(world)
        for name in ("creator", "reference"):
            self._spark.createDataFrame(tables[name]).createOrReplaceTempView(name)
        ids = self._spark.createDataFrame(tables["people"].select(["id", "iri"]))
        ids.cache().createOrReplaceTempView("ids")
        rooms = pa.table({"iri": world.room_iris(), "name": world.room_names()})
        cached_view("people", self._spark.createDataFrame(tables["people"].select(["iri", "name"])))
        cached_view("rooms", self._spark.createDataFrame(rooms))
        self._people, self._rooms = world.person_iris(), world.room_iris()

    def _materialise(self, query: str) -> None:
        """Caches the static part of a query in place of the one before."""
        if self._query == query:
            return
        self._query = query
        if self._pairs is not None:
            self._pairs.unpersist(blocking=True)
            self._pairs = None
        if query in STATIC_PARTS:
            papers = ", papers" if query == "q4" else ""
            part = f"""SELECT x.iri AS person1, y.iri AS person2{papers} FROM ({STATIC_PARTS[query]})
JOIN ids x ON x.id = one JOIN ids y ON y.id = two"""
            self._pairs = cached_view("pairs", self._spark.sql(part))

    def evaluate(self, query: str, content: WindowContent, warm_up: bool) -> Evaluation:
        """Joins the windows with the static part."""
        self._materialise(query)
        arrived = {}
        for window in WINDOWS[query]:
            persons, rooms = content.pairs(window)
            arrived[window] = pa.table(
                {
                    "person": self._people.take(pa.array(persons)),
                    "room": self._rooms.take(pa.array(rooms)),
                }
            )
        start = time.perf_counter()
        for window, table in arrived.items():
            self._spark.createDataFrame(table).createOrReplaceTempView(window)
        window_ms = milliseconds_since(start)
        start = time.perf_counter()
        answers = self._spark.sql(SQL[query]).toArrow()
        return Evaluation(answers, milliseconds_since(start), window_ms)


if __name__ == "__main__":
    serve(Peer)
