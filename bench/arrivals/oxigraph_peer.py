"""Oxigraph: static data in a store, windows in named graphs, queries in the texts that it answers fastest.

The texts of `bench/queries/ordered` give the same answers as Q1-Q4 with GRAPH in place of WINDOW, but name the patterns
in the order in which Oxigraph answers them fastest, and Q4 counts only the citations between people who met: as
written, Q2 takes 12 times, Q3 6 times as long at scale 1, and Q4 75 seconds.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyoxigraph as ox

from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import WINDOWS, integer_texts, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.rdf_files import QUERIES
from bench.data.vocabulary import LOC, LOCALIZATION_GRAPH
from bench.data.world import World

GRAPHS = {window: ox.NamedNode(f"http://example.org/{window}") for window in ("now", "w30")}
_AT = ox.NamedNode(f"{LOC}at")


class Peer:
    """The store is in memory; the graph of a window is changed by what comes and what goes."""

    version = ox.__version__

    def __init__(self) -> None:
        self._store = ox.Store()
        self._people: dict[int, ox.NamedNode] = {}

    def load(self, world: World, folder: Path) -> None:
        """Loads the RDF files of the folder."""
        for path in sorted(folder.glob("dblp-*.nt.gz")):
            with io.BufferedReader(gzip.open(path)) as text:
                self._store.bulk_load(text, ox.RdfFormat.N_TRIPLES)
        self._store.bulk_load(
            path=str(folder / "localization.ttl"),
            format=ox.RdfFormat.TURTLE,
            to_graph=ox.NamedNode(LOCALIZATION_GRAPH),
        )
        tables = static_tables(world)
        people, rooms = (tables[name]["iri"].to_pylist() for name in ("people", "rooms"))
        self._windows = PairWindows(people, rooms)
        self._iris = people
        self._rooms = [ox.NamedNode(iri[1:-1]) for iri in rooms]

    def begin(self, query: str) -> None:
        """Reads the query and empties the windows."""
        self._windows.clear()
        for graph in GRAPHS.values():
            self._store.clear_graph(graph)
        self._query = (QUERIES / "ordered" / f"{query}.rq").read_text(encoding="utf-8")
        self._named = WINDOWS[query]

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Changes the graphs and runs the query."""
        self.pass_by(rows, instant)
        solutions = self._store.query(self._query)
        assert isinstance(solutions, ox.QuerySolutions)
        return Answered(_table(solutions))

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Changes the graphs."""
        for window, gone, fresh in self._windows.moved(rows, instant, self._named):
            self._change(window, gone, fresh)

    def _change(self, window: str, gone: np.ndarray, new: np.ndarray) -> None:
        for quad in self._quads(gone, GRAPHS[window]):
            self._store.remove(quad)
        self._store.extend(self._quads(new, GRAPHS[window]))

    def _quads(self, pairs: np.ndarray, graph: ox.NamedNode) -> list[ox.Quad]:
        persons, rooms = (numbers.tolist() for numbers in self._windows.split(pairs))
        return [
            ox.Quad(self._person(person), _AT, self._rooms[room], graph)
            for person, room in zip(persons, rooms, strict=True)
        ]

    def _person(self, number: int) -> ox.NamedNode:
        known = self._people.get(number)
        if known is None:
            known = self._people[number] = ox.NamedNode(self._iris[number][1:-1])
        return known


def _table(solutions: ox.QuerySolutions) -> pa.Table:
    """The solutions by way of the SPARQL 1.1 TSV format, whose terms are N-Triples text but for integers."""
    names = [variable.value for variable in solutions.variables]
    text = solutions.serialize(format=ox.QueryResultsFormat.TSV)
    assert text is not None
    table = pa.csv.read_csv(
        io.BytesIO(text),
        read_options=pa.csv.ReadOptions(column_names=names, skip_rows=1),
        parse_options=pa.csv.ParseOptions(delimiter="\t", quote_char=False),
        convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    if "numPub" in names:
        counts = integer_texts(table["numPub"].combine_chunks())
        table = table.set_column(names.index("numPub"), "numPub", counts)
    return table


if __name__ == "__main__":
    serve(Peer)
