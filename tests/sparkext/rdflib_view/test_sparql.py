"""SPARQL over the live store: rdflib's evaluation of it, the engine's, and rdflib's of the graph itself agree."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.plugins.sparql import prepareQuery

from sparkext import Engine
from sparkext.errors import UnknownGraphError
from sparkext.rdflib_view.sparql import EngineSparql
from tests.sparkext.rdflib_view.graphs import E, graph_of, triples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = rdflib.Namespace(E)
SELECTS = [
    "SELECT * { ?s ex:p ?o }",
    "SELECT ?s ?x { ?s ex:p ?o . ?o ex:q ?x }",
    "SELECT * { ?s ex:p ?o OPTIONAL { ?s ex:q ?x } }",
    "SELECT DISTINCT ?s { { ?s ex:p ?o } UNION { ?s ex:r ?o } }",
    "SELECT * { ?s ?y ?o FILTER(isIRI(?o) && ?y != ex:q) }",
    "SELECT (COUNT(?o) AS ?n) { ?s ex:p ?o }",
    "SELECT * { ?s ex:p ?o FILTER NOT EXISTS { ?s ex:q ?x } }",
    "SELECT * { ?s ex:p/ex:q ?o }",
    "SELECT ?o (STRLEN(STR(?o)) AS ?n) { ?s ex:p ?o FILTER isLiteral(?o) }",
]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared_engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine for many examples, each with a graph of its own."""
    made = Engine(spark)
    yield made
    made.close()


@pytest.fixture
def no_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine must answer: rdflib is not asked."""
    answer = EngineSparql.answer

    def strictly(self: EngineSparql, *arguments: Any) -> Any:
        try:
            return answer(self, *arguments)
        except NotImplementedError:
            raise AssertionError("handed back to rdflib") from None

    monkeypatch.setattr(EngineSparql, "answer", strictly)


def bag(result: Any) -> Counter[Any]:
    """The solutions of a result."""
    return Counter(frozenset(binding.items()) for binding in result.bindings)


@settings(max_examples=12)
@given(given_triples=st.lists(triples, max_size=20), text=st.sampled_from(SELECTS))
def test_select(shared_engine: Engine, given_triples: list[Any], text: str) -> None:
    name = f"{E}g{next(_numbers)}"
    shared_engine.load_static(graph_of(given_triples), graph=name)
    reference = graph_of(list(rdflib.Graph(shared_engine.rdflib_store(name))))
    prefixes = {"ex": EX}
    expected = bag(reference.query(text, initNs=prefixes))
    for sparql in ("rdflib", "engine"):
        one = rdflib.Graph(shared_engine.rdflib_store(name, sparql))
        among = rdflib.Graph(shared_engine.rdflib_store(sparql=sparql), URIRef(name))
        assert bag(one.query(text, initNs=prefixes)) == expected
        assert bag(among.query(text, initNs=prefixes)) == expected


DATA = [
    (EX.a, EX.p, EX.b),
    (EX.b, EX.q, Literal(1)),
    (EX.a, EX.name, Literal("A", lang="en")),
    (BNode("x"), EX.p, EX.b),
    (EX.c, EX.p, BNode("x")),
]


def test_every_form(engine: Engine, no_way_back: None) -> None:
    engine.load_static(graph_of(DATA))
    graph = rdflib.Graph(engine.rdflib_store(sparql="engine"))
    graph.bind("my", EX)  # the graph's own prefixes hold
    assert graph.query("ASK { my:a my:p ?o }").askAnswer is True
    assert graph.query("ASK { my:a my:q ?o }").askAnswer is False
    rows = list(graph.query("SELECT ?n { my:a my:name ?n }"))
    assert [row.n for row in rows] == [Literal("A", lang="en")]
    made = graph.query("CONSTRUCT { ?o my:back ?s } WHERE { ?s my:p ?o }").graph
    plain = graph_of(list(graph)).query(
        f"PREFIX my: <{E}> CONSTRUCT {{ ?o my:back ?s }} WHERE {{ ?s my:p ?o }}"
    )
    assert isomorphic(made, plain.graph)
    assert set(graph.query("DESCRIBE my:b").graph) >= {(EX.b, EX.q, Literal(1))}
    engine.insert((EX.a, EX.q, EX.new))
    assert graph.query("ASK { my:a my:q ?o }").askAnswer is True


@pytest.mark.parametrize(
    ("text", "bindings"),
    [
        ("SELECT * { ?s ex:p ?o }", {"s": EX.a}),
        ("SELECT ?o { ?s ex:p ?o }", {"s": EX.a}),
        ("SELECT * { ?s ?y ?o }", {"y": EX.q, "o": Literal(1)}),
        ("SELECT ?s ?o { ?s ex:p ?o FILTER(?o = ?wanted) }", {"wanted": EX.b}),
        ("SELECT ?s ?z { ?s ex:p ?o BIND(STR(?t) AS ?z) }", {"t": EX.a}),
        ("SELECT * { ?s ex:p ?o OPTIONAL { ?o ex:q ?x } }", {"x": Literal(2)}),
        ("SELECT ?s ?x { ?s ex:p ?o OPTIONAL { ?o ex:q ?x FILTER(?x = ?v) } }", {"v": Literal(1)}),
        ("SELECT * { { ?s ex:p ?o } UNION { ?s ex:q ?o } }", {"s": EX.b}),
        ("SELECT ?s { ?s ex:p ?o FILTER EXISTS { ?o ex:q ?v } }", {"v": Literal(1)}),
        ("SELECT (COUNT(*) AS ?n) { ?s ex:p ?o }", {"s": EX.a}),
        ("ASK { ?s ex:p ?o }", {"s": EX.b}),
    ],
)
def test_initial_bindings(engine: Engine, text: str, bindings: Mapping[str, Any]) -> None:
    engine.load_static(graph_of(DATA))
    asked = rdflib.Graph(engine.rdflib_store(sparql="engine"))
    reference = rdflib.Graph(engine.rdflib_store())
    found = asked.query(text, initNs={"ex": EX}, initBindings=bindings)
    expected = reference.query(text, initNs={"ex": EX}, initBindings=bindings)
    assert found.askAnswer == expected.askAnswer
    if not text.startswith("ASK"):
        names = [str(name) for name in expected.vars or ()]
        rows = Counter(tuple(row.get(name) for name in names) for row in found)
        assert rows == Counter(tuple(row.get(name) for name in names) for row in expected)


def test_a_blank_node_as_initial_binding(engine: Engine) -> None:
    engine.load_static(graph_of(DATA))
    graph = rdflib.Graph(engine.rdflib_store(sparql="engine"))
    (blank,) = [s for s in graph.subjects() if isinstance(s, BNode)]
    rows = graph.query("SELECT ?o { ?s ?p ?o }", initBindings={"s": blank})
    assert [row.o for row in rows] == [EX.b]


def test_datasets(engine: Engine) -> None:
    engine.load_static(graph_of(DATA[:1]))
    engine.load_static(graph_of(DATA[:2]), graph=E + "g")
    texts = [
        f"SELECT * {{ GRAPH ?g {{ ?s <{E}p> ?o }} }}",
        f"SELECT * {{ ?s <{E}p> ?o }}",
        f"SELECT * {{ ?s ?y ?o GRAPH <{E}g> {{ ?o <{E}q> ?x }} }}",
    ]
    for text, union in itertools.product(texts, (False, True)):
        found, expected = (
            bag(rdflib.Dataset(engine.rdflib_store(sparql=sparql), union).query(text))
            for sparql in ("engine", "rdflib")
        )
        assert found == expected
        assert found
    dataset = rdflib.Dataset(engine.rdflib_store(sparql="engine"))
    own = dataset.query(f"SELECT * FROM <{E}g> {{ ?s ?y ?o }}")
    assert len(own) == 2
    with pytest.raises(UnknownGraphError):  # rdflib would ask the web for it
        dataset.query(f"SELECT * FROM <{E}nowhere> {{ ?s ?y ?o }}")
    assert len(rdflib.Graph(engine.rdflib_store(E + "nowhere", "engine")).query(texts[1])) == 0


def test_the_union_of_named_graphs_alone(engine: Engine, no_way_back: None) -> None:
    dataset = rdflib.Dataset(engine.rdflib_store(sparql="engine"), default_union=True)
    assert len(dataset.query("SELECT * { ?s ?p ?o }")) == 0
    engine.load_static(graph_of(DATA[:2]), graph=E + "g")
    engine.load_static(graph_of(DATA[1:3]), graph=E + "h")
    assert len(dataset.query("SELECT * { ?s ?p ?o }")) == 3
    assert len(dataset.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")) == 4


def test_what_the_engine_does_not_run(engine: Engine) -> None:
    engine.load_static(graph_of(DATA))
    graph = rdflib.Graph(engine.rdflib_store(sparql="engine"))
    rdflib.plugins.sparql.operators.register_custom_function(
        EX.twice, lambda x: Literal(int(x) * 2)
    )
    try:
        rows = graph.query(f"SELECT ?n {{ ?s <{E}q> ?x BIND(<{E}twice>(?x) AS ?n) }}")
        assert [row.n for row in rows] == [Literal(2)]
    finally:
        rdflib.plugins.sparql.operators.unregister_custom_function(EX.twice)
    with pytest.raises(Exception, match="Expected"):
        graph.query("SELECT nonsense")


def test_prepared_queries(engine: Engine, no_way_back: None) -> None:
    engine.load_static(graph_of(DATA))
    graph = rdflib.Graph(engine.rdflib_store(sparql="engine"))
    prepared = prepareQuery("SELECT ?o { ?s ex:p ?o }", initNs={"ex": EX})
    assert [row.o for row in graph.query(prepared, initBindings={"s": EX.a})] == [EX.b]
    assert len(graph.query(prepared)) == 3
    relative = graph.query("SELECT ?o { <a> <p> ?o }", base=E)
    assert [row.o for row in relative] == [EX.b]
    for number in range(20):
        assert len(graph.query(f"SELECT ?o {{ ?s ?p ?o }} LIMIT {number % 4}")) == number % 4
