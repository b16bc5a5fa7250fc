"""rdflib's graphs as input: loaded, pushed and put into graphs; what is malformed is told with its statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import BNode, Literal, URIRef, Variable

from sparkext import Engine
from sparkext.errors import ArgumentError, StreamElementError
from static_data.errors import ArgumentError as StaticArgumentError
from static_data.errors import MalformedRdfError
from static_data.loading import given_statements
from tests.sparkext.rdflib_view.graphs import E, graph_of

EX = rdflib.Namespace(E)
SOUND = (EX.a, EX.p, EX.b)


class Ordered(rdflib.Graph):
    """A graph whose triples come in this order."""

    def __init__(self, *triples: Any) -> None:
        super().__init__()
        self.given = triples

    def __iter__(self) -> Any:
        return iter(self.given)


MALFORMED = [
    (URIRef("relative"), 28, "an absolute IRI"),
    (URIRef(E + "a b"), 38, "found ' '"),
    (URIRef(E + "\\u0041"), 37, "found '\\'"),
    (URIRef(f"{E}a> <{E}b"), None, "angle bracket"),
    (URIRef(f"{E}a\n"), None, "line break"),
    (URIRef(f"{E}\ud800"), 37, "a lone surrogate"),
    (Literal("\ude00"), 28, "a lone surrogate"),
    (Literal("a", datatype=rdflib.RDF.langString), 32, "a language tag"),
    (Literal("a", datatype=URIRef("t")), 33, "an absolute IRI"),
    (Literal("a", datatype=URIRef("a:b>")), None, "angle bracket"),
    (Variable("x"), None, "not an RDF term"),
]


@pytest.mark.parametrize(("node", "column", "message"), MALFORMED, ids=ascii)
def test_a_malformed_term_is_told(
    engine: Engine, tmp_path: Path, node: Any, column: int | None, message: str
) -> None:
    graph = Ordered(SOUND, (EX.a, EX.p, node), (EX.a, EX.p, EX.c))
    with pytest.raises(MalformedRdfError, match=r"^files \(an rdflib graph\), line 2") as raised:
        engine.load_static(graph)
    assert message in str(raised.value)
    assert (raised.value.line, raised.value.column) == (2, column)
    assert not engine.select("ASK { ?s ?p ?o }").answer().boolean  # all or nothing
    side = tmp_path / "skipped.jsonl"
    report = engine.load_static(graph, on_error="skip", skipped_file=side)
    assert (report.statements, report.quads_added, report.skipped) == (2, 2, 1)
    (entry,) = map(json.loads, side.read_text().splitlines())
    assert (entry["line"], entry["column"]) == (2, column)
    assert message in entry["reason"]
    assert E + "a" in entry["text"]


def test_places_that_terms_cannot_have(engine: Engine) -> None:
    for triple in ((Literal("s"), EX.p, EX.o), (EX.s, Literal("p"), EX.o), (EX.s, BNode(), EX.o)):
        with pytest.raises(MalformedRdfError, match=r"line 2, column \d+: expected a (sub|pred)"):
            engine.load_static(Ordered(SOUND, triple))
    dataset = rdflib.Dataset()
    dataset.graph(URIRef("relative")).add(SOUND)
    with pytest.raises(MalformedRdfError, match="an absolute IRI"):
        engine.load_static(dataset)
    assert len(rdflib.Graph(engine.rdflib_store())) == 0


def test_iris_are_accepted_as_they_stand(engine: Engine) -> None:
    odd = [URIRef("relative"), URIRef(E + "a b"), URIRef(E + "\\u0041"), URIRef(E + "{x}")]
    report = engine.load_static(Ordered(*[(EX.a, EX.p, node) for node in odd]), on_error="accept")
    assert report.quads_added == 4
    assert set(rdflib.Graph(engine.rdflib_store()).objects()) == set(odd)
    for node in (URIRef(f"{E}a> <{E}b"), Literal("\ud800")):
        with pytest.raises(MalformedRdfError):
            engine.load_static(Ordered((EX.a, EX.p, node)), on_error="accept")


def test_blocks_count_on(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(given_statements, "_BLOCK", 3)
    triples = [(EX.a, EX.p, Literal(i)) for i in range(10)]
    triples[4] = (EX.a, EX.p, URIRef("relative"))
    triples[8] = (EX.a, EX.p, Literal("\ud800"))
    for broken, line in ((triples, 5), ([SOUND] * 6 + triples[6:], 9)):
        with pytest.raises(MalformedRdfError) as raised:
            engine.load_static(Ordered(*broken))
        assert raised.value.line == line
    side = tmp_path / "side"
    report = engine.load_static(Ordered(*triples), on_error="skip", skipped_file=side)
    assert (report.statements, report.skipped, report.files) == (8, 2, 1)
    assert [json.loads(line)["line"] for line in side.read_text().splitlines()] == [5, 9]
    node = BNode("n")
    engine.load_static(Ordered(*[(node, EX.q, Literal(i)) for i in range(7)]))
    assert len(set(rdflib.Graph(engine.rdflib_store()).subjects(EX.q))) == 1


def test_terms_with_the_same_id(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_statements, "_BLOCK", 50)
    engine.store.dictionary.setHashBits(6)
    graph = graph_of([(EX[f"s{i}"], EX[f"p{i % 5}"], Literal(f"o{i}")) for i in range(300)])
    assert engine.load_static(graph).quads_added == 300
    assert set(rdflib.Graph(engine.rdflib_store())) == set(graph)


def test_a_graph_that_breaks_off_changes_nothing(engine: Engine) -> None:
    class Breaking(rdflib.Graph):
        def __iter__(self) -> Any:
            yield SOUND
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        engine.load_static(Breaking())
    assert not engine.select("ASK { ?s ?p ?o }").answer().boolean
    assert engine.load_static(graph_of([SOUND])).quads_added == 1


def test_blank_nodes_are_new_with_each_load(engine: Engine) -> None:
    graph = graph_of([(BNode("x"), EX.p, BNode("x62")), (BNode("b"), EX.p, BNode("x"))])
    engine.load_static(graph)
    engine.load_static(graph)
    view = rdflib.Graph(engine.rdflib_store())
    assert len(view) == 4
    assert len({node for s, _, o in view for node in (s, o)}) == 6


def test_the_engines_own_graphs_can_be_loaded_again(engine: Engine) -> None:
    engine.load_static(graph_of([SOUND, (EX.a, EX.q, Literal(1))]))
    engine.load_static(rdflib.Graph(engine.rdflib_store()), graph=E + "copy")
    assert len(rdflib.Graph(engine.rdflib_store(E + "copy"))) == 2


def test_an_aggregate_is_one_graph(engine: Engine) -> None:
    parts = [graph_of([SOUND]), graph_of([SOUND, (EX.a, EX.q, Literal(1))])]
    aggregate = rdflib.graph.ReadOnlyGraphAggregate(parts)
    report = engine.load_static(aggregate)
    assert (report.statements, report.quads_added) == (3, 2)
    assert len(rdflib.Graph(engine.rdflib_store())) == 2
    engine.insert(aggregate, graph=E + "g")
    assert len(rdflib.Graph(engine.rdflib_store(E + "g"))) == 2


def test_arguments_that_a_graph_does_not_have(engine: Engine) -> None:
    graph = graph_of([SOUND])
    for name, value in {"format": "ttl", "base_iri": E, "contexts": {}}.items():
        with pytest.raises(ArgumentError, match=name):
            engine.load_static(graph, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="files"):
        engine.load_static(EX.a)  # a str, but of rdflib
    with pytest.raises(StaticArgumentError, match="graph"):
        engine.load_static(graph, graph="")


def test_a_dataset_is_pushed_as_its_default_graph(engine: Engine) -> None:
    stream = engine.register_stream(E + "s")
    query = engine.register_query(
        f"SELECT ?s ?o FROM NAMED WINDOW <{E}w> ON <{E}s> [RANGE PT10S STEP PT10S]"
        f" {{ WINDOW <{E}w> {{ ?s <{E}p> ?o }} }}"
    )
    dataset = rdflib.Dataset()
    dataset.add((BNode("x"), EX.p, Literal(1)))
    dataset.add((BNode("x"), EX.p, Literal(2)))
    stream.push(dataset, time=1000)  # type: ignore[arg-type]
    stream.push(dataset, time=2000)  # type: ignore[arg-type]
    dataset.graph(EX.g).add(SOUND)
    with pytest.raises(StreamElementError, match=r"one graph is wanted.*<http://e/g>"):
        stream.push(dataset, time=3000)  # type: ignore[arg-type]
    stream.push(dataset.graph(EX.g), time=3000)  # type: ignore[arg-type]
    engine.advance_to(10_000)
    assert query.last_answers is not None
    rows = query.last_answers.rows()
    assert len(rows) == 5
    assert len({s for s, _ in rows}) == 3  # two blank nodes, one an element
    (bindings,) = [query.last_answers.to_rdflib().bindings]
    assert {binding[Variable("o")] for binding in bindings} == {Literal(1), Literal(2), EX.b}


def test_what_would_end_an_iri_is_no_other_triple(engine: Engine) -> None:
    sly = URIRef(f"{E}a> <{E}p> <{E}b> . #")
    stream = engine.register_stream(E + "s")
    with pytest.raises(StreamElementError, match="angle bracket"):
        stream.push((sly, EX.p, EX.b), time=1)
    for change in (engine.insert, engine.remove, lambda t: engine.replace_graph(None, t)):
        with pytest.raises(StreamElementError, match="angle bracket"):
            change(graph_of([(sly, EX.p, EX.b)]))


def test_graphs_are_put_in_and_taken_out(engine: Engine) -> None:
    dataset = rdflib.Dataset()
    dataset.add(SOUND)
    engine.insert(dataset)
    engine.insert(graph_of([(BNode("x"), EX.p, Literal("a\nb", lang="en"))]), graph=E + "g")
    view = rdflib.Dataset(engine.rdflib_store())
    assert list(view.default_graph) == [SOUND]
    assert list(view.graph(EX.g).objects()) == [Literal("a\nb", lang="en")]
    engine.remove(dataset)
    assert len(view) == 1
    dataset.graph(EX.h).add(SOUND)
    with pytest.raises(StreamElementError, match="one graph is wanted"):
        engine.insert(dataset)
