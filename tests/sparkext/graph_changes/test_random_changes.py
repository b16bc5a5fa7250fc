"""Random changes of static graphs against Oxigraph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.graph_changes.watched import triple
from tests.sparkext.listening import settings
from tests.sparkext.paper_examples.test_rspql_examples import E

if TYPE_CHECKING:
    import pyoxigraph as ox
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

# `WINDOW :w` is `GRAPH :w` to Oxigraph, which gets the window's content as a graph.
QUERIES = [
    "WINDOW :w { ?x :at ?d } ?d :in ?r . ?r :in ?h",
    "WINDOW :w { ?x :at ?d } ?d :likes ?t . ?e :likes ?t FILTER(?d != ?e)",
    "WINDOW :w { ?x :at ?d } { SELECT ?d (COUNT(*) AS ?n) (SUM(?v) AS ?s) { ?d :in ?r . ?r :size ?v } GROUP BY ?d }",
    "WINDOW :w { ?x :at ?d } GRAPH ?g { ?d :in ?r } FILTER(?g != :w)",
    "WINDOW :w { ?x :at ?d } ?d ?p ?r",
    "WINDOW :w { ?x :at ?d } ?d :in+ ?r",
    "WINDOW :w { ?x :at ?d } OPTIONAL { GRAPH :g1 { ?d :in ?r . ?r :size ?v } FILTER(?v > 1) }",
    "WINDOW :w { ?x :at ?d } { ?d :in :n1 } UNION { :n1 :likes ?d }",
]
PREDICATES = ("in", "likes", "size")
GRAPHS = (None, f"{E}g1", f"{E}g2")
IN_FILES = {"load.driverMaxBytes": "0", "mappedIndexes.minRows": "0"}


def some_triples(random: Random, count: int) -> list[str]:
    found = set()
    for _ in range(count):
        predicate = random.choice(PREDICATES)
        object_: str | int = (
            random.randint(0, 3) if predicate == "size" else f"n{random.randint(0, 4)}"
        )
        found.add(triple(f"n{random.randint(0, 4)}", predicate, object_))
    return sorted(found)


def change_both(engine: Engine, store: ox.Store, random: Random, at: int | None) -> None:
    """One random change, scheduled in the engine, made at once in the store."""
    import pyoxigraph as ox

    graph = random.choice(GRAPHS)
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    kind = random.choice(("insert", "insert", "remove", "remove", "replace"))
    lines = some_triples(random, random.randint(0, 8))
    quads = [ox.Quad(*t.triple, name) for t in ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES)]
    text = "\n".join(lines)
    if kind == "replace":
        engine.replace_graph(graph, text, at=at)
        store.clear_graph(name)
        store.extend(quads)
    elif kind == "insert":
        engine.insert(text, graph, at=at)
        store.extend(quads)
    else:
        engine.remove(text, graph, at=at)
        for quad in quads:
            store.remove(quad)


def expected(store: ox.Store, pattern: str, seen: Sequence[str]) -> list[str]:
    import pyoxigraph as ox

    window = ox.NamedNode(f"{E}w")
    for parsed in ox.parse("\n".join(seen), ox.RdfFormat.N_TRIPLES):
        store.add(ox.Quad(*parsed.triple, window))
    found = store.query(f"PREFIX : <{E}> SELECT * {{ {pattern.replace('WINDOW', 'GRAPH')} }}")
    assert isinstance(found, ox.QuerySolutions)
    names = [v.value for v in found.variables]
    rows = sorted(
        sorted((n, v) for n, v in zip(names, map(text_of, row), strict=True)) for row in found
    )
    store.clear_graph(window)
    return [str(row) for row in rows]


def text_of(term: object) -> str:
    return "" if term is None else str(term)


@pytest.mark.parametrize(("seed", "in_files"), [(0, False), (1, True)])
def test_random_changes_against_oxigraph(
    spark: SparkSession, tmp_path: Path, seed: int, in_files: bool
) -> None:
    """Some graphs come from files and are changed row by row, others exist beside files only.

    With `in_files`, their tables are large ones, which are looked up in index files.
    """
    import pyoxigraph as ox

    from sparkext import Engine

    with settings(spark, **(IN_FILES if in_files else {})):
        random, store, engine = Random(seed), ox.Store(), Engine(spark)
    try:
        for graph in GRAPHS[:2]:
            lines = some_triples(random, 12)
            (tmp_path / "start.nt").write_text("\n".join(lines) + "\n")
            engine.load_static(tmp_path / "start.nt", graph=graph, progress=False)
            name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
            store.load("\n".join(lines).encode(), ox.RdfFormat.N_TRIPLES, to_graph=name)
        stream = engine.register_stream(f"{E}seen")
        told: dict[tuple[str, int], list[str]] = {}
        for pattern in QUERIES:
            query = engine.register_query(
                f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{E}seen> [NOW] {{ {pattern} }}"
            )

            def note(answers: Answers, pattern: str = pattern) -> None:
                rows = [
                    sorted((n, v or "") for n, v in zip(answers.variables, row, strict=True))
                    for row in answers.rows()
                ]
                told[pattern, answers.time] = [str(row) for row in sorted(rows)]

            query.subscribe(note)
        for time in range(10, 100, 10):
            seen = [triple("ann", "at", f"n{n}") for n in range(5) if random.random() < 0.7]
            seen = seen or [triple("ann", "at", "n0")]
            stream.push("\n".join(seen), time - 1)
            before = [expected(store, pattern, seen) for pattern in QUERIES]
            scheduled = random.random() < 0.5
            if not scheduled:
                stream.advance_to(time - 1)
            for _ in range(random.randint(1, 3)):
                change_both(engine, store, random, time if scheduled else None)
            stream.push("\n".join(seen), time)
            stream.advance_to(time)
            after = [expected(store, pattern, seen) for pattern in QUERIES]
            assert [told[pattern, time - 1] for pattern in QUERIES] == before
            assert [told[pattern, time] for pattern in QUERIES] == after
        assert engine.graph_versions.late_count == 0
        check_catalogue(engine)
    finally:
        engine.close()


def check_catalogue(engine: Engine) -> None:
    """Rows and literals are counted exactly whatever was changed."""
    store = engine.store
    catalogue = store.catalogue()
    for graph in [graph.id for graph in store.graphs()]:
        counted = 0
        for predicate in store.predicates(graph):
            pairs = store.table(graph, predicate).collect()
            relation = catalogue.relation(graph, predicate)
            literals = sum(pair["o"] >= 3 << 58 for pair in pairs)
            assert len(pairs) == len(set(pairs)) == relation.rows
            assert relation.object.literal_rows == literals
            counted += len(pairs)
        assert catalogue.relation(graph, None).rows == counted == store.row_count(graph)
