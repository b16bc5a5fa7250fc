"""What is measured of a cluster reaches `adaptive`, whenever it is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sparkext.runtime.cluster_watch import ClusterWatch, Told, WatchedContents

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
from sparkext.r2r.leaves import DefaultGraph, MergedLeaf, StaticLeaf, WindowLeaf
from static_data.terms import Iri

A, B, ROOM = Variable("a"), Variable("b"), Variable("room")


def told_of(rows: list[float], *errors: float) -> Told:
    """What the JVM tells: these errors of the last numbers, the others were counted."""
    return {"rows": rows, "errors": [0.0] * (len(rows) - len(errors)) + list(errors)}


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
        found.append(watch.read(told_of([*window, 7.0], 2.0)))

    window = [10.0, 20.0, 5.0]  # rows, changed ones, and different values of ?a
    measures = SimpleNamespace(addWindow=lambda *told: None, addStatic=add_static)
    watch = ClusterWatch(search, contents, measures)
    assert watch.read(told_of(window)).matches == {}
    watch.watch_static()
    [measured] = found
    assert measured.windows["window"].rows == 10.0
    assert measured.matches == {("window", "static"): 7.0}
    assert measured.errors == {("window", "static"): 2.0}


def test_of_windows_merged_with_static_data_both_parts_count() -> None:
    """40 static rows of one pattern and 100 of the other, which have 80 in common as far as is known."""
    merged = DefaultGraph((Iri("http://e/w"),))
    leaves = {
        "at": MergedLeaf(merged, TriplePattern(A, Iri("http://e/at"), ROOM)),
        "in": MergedLeaf(merged, TriplePattern(B, Iri("http://e/in"), ROOM)),
    }
    top = ((7, 30),)
    static = {
        "at": RelationStatistics(
            40.0, {"a": ColumnStatistics(40.0), "room": ColumnStatistics(20.0, top)}
        ),
        "in": RelationStatistics(
            100.0, {"b": ColumnStatistics(100.0), "room": ColumnStatistics(50.0)}
        ),
    }
    guessed = {
        name: RelationStatistics(known.rows + 1000.0, known.columns)
        for name, known in static.items()
    }
    graph = QueryGraph(
        tuple(
            Relation(name, tuple(v.name for v in leaf.variables), RelationKind.DERIVED)
            for name, leaf in leaves.items()
        )
    )
    search = ClusterSearch(graph, Catalogue(guessed), leaves, {}, static)
    told: list[tuple[str, object]] = []

    def content(leaf: object) -> Any:
        name = next(name for name, known in leaves.items() if known is leaf)
        indexed = SimpleNamespace(makeIndexOn=lambda columns: told.append((f"{name} by", columns)))
        return SimpleNamespace(windowRows=lambda: f"{name} live", staticRows=lambda: indexed)

    measures = SimpleNamespace(
        addWindow=lambda rows, groups: told.append((rows, groups)),
        addWindows=lambda *sides: told.append(("windows", sides)),
        addStatic=lambda *sides: told.append(("static", (sides[0], sides[1], sides[3]))),
    )
    watch = ClusterWatch(search, WatchedContents(content, lambda leaf: None), measures)
    watch.watch_static()
    assert watch.worthwhile
    assert told == [
        ("at live", "1"),
        ("in live", "1"),
        ("windows", ("at live", "1", "in live", "1")),
        ("in by", "1"),
        ("static", ("at live", "1", "1")),
        ("at by", "1"),
        ("static", ("in live", "1", "1")),
    ]
    windows = [10.0, 20.0, 5.0, 200.0, 400.0, 30.0]  # rows, changed ones, different rooms of each
    measured = watch.read(told_of([*windows, 60.0, 3.0, -1.0], 0.0, 0.0, 0.0))
    statistics = measured.windows
    assert not measured.matches and not measured.errors, "one part has not been measured"
    assert (statistics["at"].rows, statistics["in"].rows) == (50.0, 300.0)
    assert statistics["at"].columns["room"] == ColumnStatistics(25.0, top)
    assert statistics["in"].columns["room"] == ColumnStatistics(80.0)
    measured = watch.read(told_of([*windows, 60.0, 3.0, 7.0], 0.0, 3.0, 4.0))
    assert list(measured.errors.values()) == [5.0]
    (rows,) = measured.matches.values()
    assert rows > 60.0 + 3.0 + 7.0, "and what the static data have in common"
