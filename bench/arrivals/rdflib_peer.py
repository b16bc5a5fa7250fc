"""rdflib: everything in one graph in memory, a predicate for each window, and the texts of `bench/queries/ordered`.

With windows as named graphs, its SPARQL engine took minutes for one answer of Q2. All is in Python: beyond a world of
scale 0.1 loading alone takes minutes, and beyond one of 0.01 an answer of Q3 or Q4; it is left out there.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import rdflib
from rdflib.plugins.sparql import prepareQuery

from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import WINDOWS, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.rdf_files import QUERIES
from bench.data.world import World

MOST_PEOPLE = 20_000
MOST_PEOPLE_CITING = 2_000
_SEEN = {window: rdflib.URIRef(f"http://example.org/{window}") for window in ("now", "w30")}
_SIGHTED = re.compile(r"GRAPH (:\w+) \{ (\S+) loc:at (\S+) \}")
_COUNTS = re.compile(
    r"SELECT \?person1 \?person2 \?loc .*?GROUP BY \?person1 \?person2 \?loc", re.DOTALL
)
_IN_GRAPH = re.compile(r"GRAPH <\S+> \{ (.*?) \}")


class Peer:
    """The triples of a window's predicate come and go."""

    version = rdflib.__version__

    def __init__(self) -> None:
        self._data = rdflib.Graph()

    def load(self, world: World, folder: Path) -> None:
        """Loads the RDF files of the folder."""
        self._size = world.people
        if world.people > MOST_PEOPLE:
            raise NotImplementedError(
                f"left out: a world of {world.people:,} people takes minutes to load; --scale 0.1 does not"
            )
        for path in sorted(folder.glob("dblp-*.nt.gz")):
            self._data.parse(data=gzip.decompress(path.read_bytes()), format="nt")
        self._data.parse(str(folder / "localization.ttl"), format="turtle")
        tables = static_tables(world)
        people, rooms = (tables[name]["iri"].to_pylist() for name in ("people", "rooms"))
        self._windows = PairWindows(people, rooms)
        self._people = [rdflib.URIRef(iri[1:-1]) for iri in people]
        self._rooms = [rdflib.URIRef(iri[1:-1]) for iri in rooms]

    def begin(self, query: str) -> None:
        """Reads the query and empties the windows."""
        if query in ("q3", "q4") and self._size > MOST_PEOPLE_CITING:
            raise NotImplementedError(
                f"{query} left out: over {self._size:,} people an answer takes about a minute; --scale 0.01"
            )
        self._windows.clear()
        for seen in _SEEN.values():
            self._data.remove((None, seen, None))
        text = (QUERIES / "ordered" / f"{query}.rq").read_text(encoding="utf-8")
        if query == "q4":
            text = text[: text.index("SELECT")] + _COUNTS.findall(text)[0]
        self._query = prepareQuery(_IN_GRAPH.sub(r"\1 .", _SIGHTED.sub(r"\2 \1 \3 .", text)))
        self._named = WINDOWS[query]

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Changes the windows and runs the query."""
        self.pass_by(rows, instant)
        result: Any = self._data.query(self._query)
        names = [str(variable) for variable in result.vars]
        solutions = [list(row) for row in result]
        if "numPub" in names:
            solutions = _most_cited(solutions)
            names.remove("loc")
        solutions = [[term.n3() for term in row] for row in solutions]
        columns = zip(*solutions, strict=True) if solutions else [()] * len(names)
        return Answered(pa.table([pa.array(c, pa.string()) for c in columns], names=names))

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Changes the windows."""
        for window, gone, fresh in self._windows.moved(rows, instant, self._named):
            self._change(window, gone, fresh)

    def _change(self, window: str, gone: np.ndarray, new: np.ndarray) -> None:
        for triple in self._triples(gone, _SEEN[window]):
            self._data.remove(triple)
        for triple in self._triples(new, _SEEN[window]):
            self._data.add(triple)

    def _triples(
        self, pairs: np.ndarray, seen: rdflib.URIRef
    ) -> list[tuple[rdflib.URIRef, rdflib.URIRef, rdflib.URIRef]]:
        persons, rooms = (numbers.tolist() for numbers in self._windows.split(pairs))
        return [
            (self._people[person], seen, self._rooms[room])
            for person, room in zip(persons, rooms, strict=True)
        ]


def _most_cited(solutions: list[list[Any]]) -> list[list[Any]]:
    """The greatest counts of each first person: rdflib hands outer bindings into the sub-select that finds them."""
    most: dict[Any, int] = {}
    for person, _, _, count in solutions:
        most[person] = max(most.get(person, 0), count.toPython())
    return [
        [person, other, count]
        for person, other, _, count in solutions
        if count.toPython() == most[person]
    ]


if __name__ == "__main__":
    serve(Peer)
