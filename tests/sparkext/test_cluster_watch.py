"""What is measured of a cluster reaches `adaptive`, whenever it is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from adaptive import (
    Catalogue,
    ColumnStatistics,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from sparkext.language.algebra import TriplePattern, Variable
from sparkext.r2r.cluster_plans import ClusterSearch
from sparkext.r2r.leaves import DefaultGraph, StaticLeaf, WindowLeaf
from sparkext.runtime.cluster_watch import ClusterWatch, WatchedContents
from static_data.terms import Iri

A, B, ROOM = Variable("a"), Variable("b"), Variable("room")


def test_a_pair_that_is_read_while_it_is_added_is_told() -> None:
    search = ClusterSearch(
        QueryGraph(
            (
                Relation("window", ("a", "room"), RelationKind.WINDOW),
                Relation("static", ("a", "b"), RelationKind.STATIC),
            )
        ),
        Catalogue(
            {
                "window": RelationStatistics(1.0, {"a": ColumnStatistics(1.0)}),
                "static": RelationStatistics(100.0, {"a": ColumnStatistics(100.0)}),
            }
        ),
        {
            "window": WindowLeaf(Iri("http://e/w"), TriplePattern(A, Iri("http://e/in"), ROOM)),
            "static": StaticLeaf(DefaultGraph(), TriplePattern(A, Iri("http://e/knows"), B)),
        },
    )
    contents = WatchedContents(
        lambda leaf: None, lambda leaf: SimpleNamespace(makeIndexOn=lambda columns: None)
    )
    found = []

    def add_static(*told: Any) -> None:
        # As an evaluation does that begins meanwhile: the JVM does not tell the same numbers again.
        found.append(watch.read([*window, 7.0]))

    window = [10.0, 20.0, 5.0]  # rows, changed ones, and different values of ?a
    measures = SimpleNamespace(addWindow=lambda *told: None, addStatic=add_static)
    watch = ClusterWatch(search, contents, measures)
    assert watch.read(window)[1] == {}
    watch.watch_static()
    [(statistics, matches)] = found
    assert statistics["window"].rows == 10.0
    assert matches == {("window", "static"): 7.0}
