"""In the style of System X in Figure 5 of the CQELS report: the static part materialised, no more.

The report's baseline was a relational stream engine. This stand-in is stock Spark: what a query asks of static data
alone is computed once and cached as a table of strings (IRIs and names; no dictionary of terms shared with the stream,
no index that stays), and every second joins the windows, DataFrames of strings, with it. Spark plans each evaluation
anew, with its own optimizer.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pyarrow as pa
import pyspark

from bench.arrivals.rows import RANGE_SECONDS, WINDOWS, XSD_INTEGER, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.world import World
from bench.peers import relational
from bench.peers.spark_stock import cached_view, launch_settings, stock_session

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
    "q4": f"""SELECT person1, person2, concat('"', numPub, '"^^<{XSD_INTEGER}>') AS numPub
FROM (SELECT n.person AS person1, w.person AS person2, j.papers AS numPub,
             max(j.papers) OVER (PARTITION BY n.person) AS most FROM {_MET})
WHERE numPub = most""",
}


class Peer:
    """A plain PySpark session; the static part of a query is made and cached when it begins."""

    version = pyspark.__version__

    def load(self, world: World, folder: Path) -> None:
        """Starts the session and caches the names."""
        settings = launch_settings(world.scale)
        settings["spark.driver.memory"] = f"{round(2 + min(world.scale, 10) * 4)}g"
        self._spark = stock_session(settings)
        tables = static_tables(world)
        for name in ("creator", "reference"):
            self._spark.createDataFrame(tables[name]).createOrReplaceTempView(name)
        ids = self._spark.createDataFrame(tables["people"].select(["id", "iri"]))
        ids.cache().createOrReplaceTempView("ids")
        for name in ("people", "rooms"):
            cached_view(name, self._spark.createDataFrame(tables[name].select(["iri", "name"])))

    def begin(self, query: str) -> None:
        """Empties the windows; caches the static part of the query in place of the one before."""
        self._seconds: deque[pa.Table] = deque(maxlen=RANGE_SECONDS)
        self._named, self._sql = WINDOWS[query], SQL[query]
        if self._spark.catalog.tableExists("pairs"):
            self._spark.table("pairs").unpersist(blocking=True)
        if query in STATIC_PARTS:
            papers = ", papers" if query == "q4" else ""
            part = f"""SELECT x.iri AS person1, y.iri AS person2{papers} FROM ({STATIC_PARTS[query]})
JOIN ids x ON x.id = one JOIN ids y ON y.id = two"""
            cached_view("pairs", self._spark.sql(part))

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Moves the windows, makes DataFrames of what is in them and joins these with the static part."""
        self.pass_by(rows, instant)
        for name in self._named:
            held = rows if name == "now" else pa.concat_tables(self._seconds)
            distinct = held.group_by(["person", "room"]).aggregate([])
            self._spark.createDataFrame(distinct).createOrReplaceTempView(name)
        return Answered(self._spark.sql(self._sql).toArrow())

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Moves the windows."""
        self._seconds.append(rows)


if __name__ == "__main__":
    serve(Peer)
