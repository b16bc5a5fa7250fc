"""The live store: what it shows is what was loaded, by every pattern, and follows every change."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.compare import isomorphic

from sparkext import Engine
from sparkext.errors import ArgumentError, ClosedEngineError, ReadOnlyStoreError
from sparkext.rdflib_view import store as viewed
from static_data.storage import stored_tables
from static_data.triple_lookups import TripleLookups
from tests.sparkext.rdflib_view.graphs import (
    E,
    as_loaded,
    graph_of,
    ground_triples,
    loaded,
    name_of,
    triple_lists,
    triples,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = rdflib.Namespace(E)
PATTERNS = list(itertools.product([True, False], repeat=3))
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared_engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine for many examples, each with graphs of its own."""
    made = Engine(spark)
    yield made
    made.close()


def patterns(triple: Any) -> Iterator[tuple[Any, ...]]:
    """All eight patterns that match a triple."""
    for bound in PATTERNS:
        yield tuple(node if b else None for node, b in zip(triple, bound, strict=True))


def load(engine: Engine, graph: rdflib.Graph, name: str | None) -> str:
    """Load a graph; returns the prefix that its blank nodes have got."""
    scope = f"f{int(engine.store.take_blank_scope()[1:-1]) + 1}_"
    engine.load_static(graph, graph=name)
    return scope


@settings(max_examples=30)
@given(first=triple_lists, second=triple_lists, other=triples)
def test_it_shows_what_was_loaded(
    shared_engine: Engine, first: list[Any], second: list[Any], other: Any
) -> None:
    name = f"{E}g{next(_numbers)}"
    parts = [(graph, load(shared_engine, graph, name)) for graph in map(graph_of, (first, second))]
    everything = sum((loaded(graph, scope) for graph, scope in parts), Counter[Any]())
    reference = graph_of(list(everything))
    for view in (
        rdflib.Graph(shared_engine.rdflib_store(), URIRef(name)),
        rdflib.Graph(shared_engine.rdflib_store(name)),
    ):
        assert len(view) == len(reference)
        assert Counter(view) == Counter(reference)
        for triple in (*itertools.islice(everything, 6), other):
            for pattern in patterns(triple):
                found = Counter(view.triples(pattern))
                assert found == Counter(reference.triples(pattern)), pattern
            assert (triple in view) == (triple in reference)


@settings(max_examples=20)
@given(
    quads=st.lists(
        st.tuples(triples, st.sampled_from([None, "g", "h", BNode("name")])), max_size=20
    )
)
def test_a_dataset_comes_back(spark: SparkSession, quads: list[Any]) -> None:
    dataset = rdflib.Dataset()
    for triple, name in quads:
        graph = dataset.default_graph
        if name is not None:
            graph = dataset.graph(name if isinstance(name, BNode) else EX[name])
        graph.add(triple)
    engine = Engine(spark)
    try:
        engine.load_static(dataset)
        view = rdflib.Dataset(engine.rdflib_store())
        expected = {
            (*(as_loaded(node, "f0_") for node in (s, p, o)), as_loaded(name_of(g), "f0_"))
            for s, p, o, g in dataset.quads()
        }
        assert {(s, p, o, name_of(g)) for s, p, o, g in view.quads()} == expected
        assert len(view) == len({quad[:3] for quad in expected})
        assert len(view.default_graph) == len([quad for quad in expected if quad[3] is None])
        union = rdflib.Dataset(engine.rdflib_store(), default_union=True)
        assert Counter(union.triples((None, None, None))) == Counter(
            {quad[:3] for quad in expected}
        )
        for triple in {quad[:3] for quad in expected}:
            for pattern in patterns(triple):
                matching = {
                    quad
                    for quad in expected
                    if all(b in (None, a) for a, b in zip(quad, pattern, strict=False))
                }
                found = {(s, p, o, name_of(g)) for s, p, o, g in view.quads((*pattern, None))}
                assert found == matching
            graphs = {name_of(graph) for graph in view.store.contexts(triple)}
            assert graphs == {quad[3] for quad in expected if quad[:3] == triple}
    finally:
        engine.close()


@settings(max_examples=10)
@given(data=st.data())
def test_it_follows_edits(shared_engine: Engine, data: st.DataObject) -> None:
    engine, name = shared_engine, f"{E}g{next(_numbers)}"
    few = st.lists(ground_triples, min_size=1, max_size=6)
    view = rdflib.Graph(engine.rdflib_store(), URIRef(name))
    reference = rdflib.Graph()
    for _ in range(4):
        kind = data.draw(st.sampled_from(["insert", "remove", "replace", "load"]))
        given_now = data.draw(few)
        if kind == "insert":
            engine.insert(graph_of(given_now), graph=name)
            reference += given_now
        elif kind == "remove":
            engine.remove(graph_of(given_now), graph=name)
            reference -= given_now
        elif kind == "replace":
            engine.replace_graph(name, graph_of(given_now))
            reference = graph_of(given_now)
        else:
            engine.load_static(graph_of(given_now), graph=name)
            reference += given_now
        assert Counter(view) == Counter(reference)
        assert len(view) == len(reference)
        for pattern in patterns(given_now[0]):
            assert Counter(view.triples(pattern)) == Counter(reference.triples(pattern))


@pytest.mark.parametrize("kept", [1 << 24, 60, 0])
def test_tables_in_files(engine: Engine, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_tables, "_ROWS_IN_MEMORY", 0)
    graph = graph_of(
        [(EX[f"s{i % 13}"], EX[f"p{i % 7}"], Literal(i % 11)) for i in range(13 * 7 * 11)]
    )
    engine.load_static(graph)
    engine.load_static(graph_of([(EX.s1, EX.p1, EX.o)]), graph=E + "g")
    store = engine.rdflib_store()
    store._lookups = TripleLookups(engine.spark, engine.store, kept)
    view = rdflib.Graph(store)
    assert Counter(view) == Counter(graph)
    for pattern in patterns((EX.s1, EX.p1, Literal(1))):
        assert Counter(view.triples(pattern)) == Counter(graph.triples(pattern))
    engine.remove((EX.s1, EX.p1, Literal(1)))
    engine.insert((EX.s1, EX.p1, Literal(99)))
    graph.remove((EX.s1, EX.p1, Literal(1)))
    graph.add((EX.s1, EX.p1, Literal(99)))
    for pattern in (*patterns((EX.s1, EX.p1, Literal(1))), *patterns((EX.s1, EX.p1, Literal(99)))):
        assert Counter(view.triples(pattern)) == Counter(graph.triples(pattern))
    assert set(rdflib.Graph(store, EX.g)) == {(EX.s1, EX.p1, EX.o)}


def test_graphs_and_their_names(engine: Engine) -> None:
    engine.load_static(graph_of([(EX.a, EX.p, EX.b)]))
    engine.load_static(graph_of([(EX.a, EX.p, EX.b), (EX.a, EX.p, EX.c)]), graph=E + "g")
    store = engine.rdflib_store()
    dataset = rdflib.Dataset(store)
    assert {(name_of(graph), len(graph)) for graph in dataset.graphs()} == {(None, 1), (EX.g, 2)}
    assert len(dataset) == 2
    assert list(rdflib.Graph(store)) == [(EX.a, EX.p, EX.b)]
    assert list(rdflib.Graph(store, EX.unknown)) == []
    assert list(rdflib.Graph(engine.rdflib_store(E + "unknown"))) == []
    assert (EX.a, EX.p, EX.c, EX.g) in dataset
    assert (EX.a, EX.p, EX.c) not in dataset
    assert (EX.a, EX.p, EX.b) in dataset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(list(rdflib.ConjunctiveGraph(store).triples((None, None, None)))) == 2
    engine.load_static(graph_of([(EX.z, EX.p, EX.c)]), graph=E + "unknown")
    assert list(rdflib.Graph(store, EX.unknown)) == [(EX.z, EX.p, EX.c)]
    assert isomorphic(rdflib.Graph(store, EX.g), rdflib.Graph(engine.rdflib_store(E + "g")))
    with pytest.raises(ArgumentError, match="graph"):
        engine.rdflib_store("")
    with pytest.raises(ArgumentError, match="sparql"):
        engine.rdflib_store(sparql="none")


def test_prefixes_are_the_stores_own(engine: Engine) -> None:
    graph = rdflib.Graph(engine.rdflib_store())
    graph.bind("my", EX)
    assert dict(graph.namespaces())["my"] == URIRef(E)
    assert graph.qname(E + "a") == "my:a"
    graph.bind("my", URIRef("http://f/"), override=False)
    assert dict(graph.namespaces())["my"] == URIRef(E)
    graph.bind("my", URIRef("http://f/"), replace=True)
    assert dict(graph.namespaces())["my"] == URIRef("http://f/")
    engine.load_static(graph_of([(URIRef("http://f/a"), URIRef("http://f/p"), Literal(1))]))
    assert "my:a my:p 1" in graph.serialize(format="turtle")


def test_it_is_for_reading(engine: Engine) -> None:
    engine.load_static(graph_of([(EX.a, EX.p, EX.b)]))
    store = engine.rdflib_store()
    graph, dataset = rdflib.Graph(store), rdflib.Dataset(store)
    changes = [
        lambda: graph.add((EX.a, EX.p, EX.c)),
        lambda: graph.addN([(EX.a, EX.p, EX.c, graph)]),
        lambda: graph.remove((None, None, None)),
        lambda: graph.set((EX.a, EX.p, EX.c)),
        lambda: graph.parse(data="<a:a> <a:b> <a:c> .", format="turtle"),
        lambda: graph.update("DELETE WHERE { ?s ?p ?o }"),
        lambda: dataset.remove_graph(EX.g),
        lambda: graph.destroy(""),
    ]
    for change in changes:
        with pytest.raises(ReadOnlyStoreError, match="insert, remove, replace_graph"):
            change()
    assert list(graph) == [(EX.a, EX.p, EX.b)]


def test_an_iteration_sees_the_data_of_its_beginning(engine: Engine) -> None:
    engine.load_static(graph_of([(EX[f"s{i}"], EX.p, Literal(i)) for i in range(200)]))
    graph = rdflib.Graph(engine.rdflib_store())
    under_way = graph.triples((None, EX.p, None))
    first = next(under_way)
    engine.replace_graph(None, f'<{E}new> <{E}p> "no" .')
    assert len({first, *under_way}) == 200
    assert list(graph) == [(EX.new, EX.p, Literal("no"))]


def test_what_rdflib_has_no_class_for(engine: Engine) -> None:
    engine.insert(f'<{E}a> <{E}p> << <{E}a> <{E}p> <{E}b> >> .\n<{E}a> <{E}q> "x"@en--ltr .')
    engine.insert((EX.a, EX.r, EX.b))
    graph = rdflib.Graph(engine.rdflib_store())
    assert len(graph) == 3
    assert list(graph.triples((EX.a, EX.r, None))) == [(EX.a, EX.r, EX.b)]
    with pytest.raises(TypeError, match="quoted triples"):
        list(graph.objects(EX.a, EX.p))
    with pytest.raises(TypeError, match="base directions"):
        list(graph.objects(EX.a, EX.q))


def test_what_rdflib_has_a_class_for_comes_before_what_it_has_none_for(engine: Engine) -> None:
    for graph, sound, odd in (("g", "p", "q"), ("h", "q", "p")):  # whichever predicate comes first
        lines = [f"<{E}a> <{E}{sound}> <{E}b{n}> ." for n in range(5)]
        lines.append(f"<{E}a> <{E}{odd}> << <{E}a> <{E}p> <{E}b> >> .")
        engine.insert("\n".join(lines), graph=E + graph)
    store = engine.rdflib_store()
    found: list[Any] = []
    for graph in ("g", "h"):
        with pytest.raises(TypeError, match="quoted triples"):
            found.extend(rdflib.Graph(store, EX[graph]))
    assert len(found) == 5


def test_names_of_graphs_that_are_gone_are_forgotten(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewed, "_MOST_NAMES", 5)
    engine.insert((EX.a, EX.p, EX.b))
    store = engine.rdflib_store()
    for number in range(20):
        assert list(rdflib.Graph(store)) == [(EX.a, EX.p, EX.b)]
        assert not list(rdflib.Graph(store, EX[f"unknown{number}"]))
    assert len(store._named_then[1]) <= 6


def test_odd_nodes_are_just_not_there(engine: Engine) -> None:
    engine.load_static(graph_of([(EX.a, EX.p, Literal("x", datatype=rdflib.XSD.string))]))
    graph = rdflib.Graph(engine.rdflib_store())
    assert list(graph) == [(EX.a, EX.p, Literal("x"))]  # one term in RDF 1.1
    assert (EX.a, EX.p, Literal("x", datatype=rdflib.XSD.string)) in graph
    odd = [URIRef("no iri"), URIRef("\ud800"), Literal("\ud800"), BNode("?"), rdflib.Variable("v")]
    odd += [URIRef(f"< <{E}a> <{E}p> <{E}b> >"), Literal(f"{E}a"), URIRef("")]
    for node in odd:
        for pattern in ((node, None, None), (None, node, None), (None, None, node)):
            assert list(graph.store.triples(pattern, graph)) == []


def test_a_closed_engine(spark: SparkSession) -> None:
    engine = Engine(spark)
    graph = rdflib.Graph(engine.rdflib_store())
    engine.close()
    for ask in (lambda: list(graph), lambda: len(graph), lambda: engine.rdflib_store()):
        with pytest.raises(ClosedEngineError):
            ask()


def test_blank_nodes_have_the_labels_of_answers(engine: Engine) -> None:
    engine.load_static(graph_of([(BNode("x"), EX.p, BNode("odd one"))]))
    ((s, _, o),) = rdflib.Graph(engine.rdflib_store())
    ((row),) = engine.select("SELECT ?s ?o { ?s ?p ?o }").answer().to_rdflib()
    assert (row.s, row.o) == (s, o)
    graph = rdflib.Graph(engine.rdflib_store())
    assert list(graph.objects(row.s, EX.p)) == [o]
