"""Answers as rdflib has them: every term comes back as it was, from prepared and from registered queries."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import rdflib
from hypothesis import given, settings
from rdflib import BNode, Literal, Variable
from rdflib.query import Result

from sparkext import Engine
from sparkext.answers.rdflib_bridge import from_rdflib, node_text, to_rdflib
from tests.sparkext.rdflib_view.graphs import BLANKS, E, graph_of, literals, loaded, triple_lists

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = rdflib.Namespace(E)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared_engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine for many examples, each with a graph of its own."""
    made = Engine(spark)
    yield made
    made.close()


@settings(max_examples=300)
@given(literal=literals)
def test_literals_there_and_back(literal: Literal) -> None:
    back = to_rdflib(from_rdflib(literal))
    assert (str(back), back.datatype) == (str(literal), literal.datatype)
    assert back == literal
    assert node_text(literal).lower() == from_rdflib(literal).n3().lower()  # but for language tags


def test_labels_of_blank_nodes_stay_apart() -> None:
    odd = [*BLANKS, BNode("78"), BNode("x78"), BNode("\ud800"), BNode("x7"), BNode("X78")]
    assert len({from_rdflib(node).n3() for node in odd}) == len(odd)
    assert from_rdflib(BNode("x7")).n3() == "_:x7"


@settings(max_examples=10)
@given(triples=triple_lists)
def test_graphs_there_and_back(shared_engine: Engine, triples: list[Any]) -> None:
    name = f"{E}g{next(_numbers)}"
    scope = f"f{int(shared_engine.store.take_blank_scope()[1:-1]) + 1}_"
    graph = graph_of(triples)
    shared_engine.load_static(graph, graph=name)
    expected = loaded(graph, scope)
    where = f"FROM <{name}> WHERE {{ ?s ?p ?o }}"
    selected = shared_engine.select(f"SELECT ?s ?p ?o {where}").answer().to_rdflib()
    assert Counter(tuple(row) for row in selected) == expected
    constructed = shared_engine.select(f"CONSTRUCT {{ ?s ?p ?o }} {where}").answer().to_rdflib()
    assert constructed.type == "CONSTRUCT"
    assert Counter(constructed.graph) == expected
    asked = shared_engine.select(f"ASK {where}").answer().to_rdflib()
    assert asked.askAnswer is bool(triples)


def test_answers_of_registered_queries(engine: Engine) -> None:
    stream = engine.register_stream(E + "s")
    window = f"ON <{E}s> [RANGE PT10S STEP PT10S]"
    pattern = f"{{ WINDOW <{E}w> {{ ?s <{E}p> ?o }} }}"
    select = engine.register_query(f"SELECT ?s ?o ?no FROM NAMED WINDOW <{E}w> {window} {pattern}")
    construct = engine.register_query(
        f"CONSTRUCT {{ ?o <{E}of> ?s }} FROM NAMED WINDOW <{E}w> {window} {pattern}"
    )
    ask = engine.register_query(f"ASK FROM NAMED WINDOW <{E}w> {window} {pattern}")
    stream.push(graph_of([(EX.a, EX.p, BNode("b")), (EX.b, EX.p, EX.c)]), time=1)  # type: ignore[arg-type]
    engine.advance_to(10_000)
    answered = []
    for query in (select, construct, ask):
        assert query.last_answers is not None
        answered.append(query.last_answers.to_rdflib())
    rows, made, truth = answered
    assert all(isinstance(result, Result) for result in answered)
    assert rows.vars == [Variable("s"), Variable("o"), Variable("no")]
    assert {row.s for row in rows} == {EX.a, EX.b}
    assert all(row.no is None for row in rows)
    assert made.graph.value(EX.c, EX.of) == EX.b
    assert [type(s) for s in made.graph.subjects(EX.of, EX.a)] == [BNode]
    assert truth.askAnswer is True
    assert b'"value":' in rows.serialize(format="json").replace(b" ", b"")


def test_what_rdflib_cannot_hold(engine: Engine) -> None:
    engine.insert(f"<{E}a> <{E}p> << <{E}a> <{E}q> 1 >> .".replace(" 1 ", ' "1" '))
    engine.insert(f'<{E}a> <{E}q> "x"@ar--rtl .')
    for form in ("SELECT ?o", "CONSTRUCT { ?s ?p ?o }"):
        for predicate, message in (("p", "quoted triples: <<"), ("q", "base directions.*--rtl")):
            text = f"{form} {{ ?s ?p ?o FILTER(?p = <{E}{predicate}>) }}"
            with pytest.raises(TypeError, match=f"rdflib has no {message}"):
                engine.select(text).answer().to_rdflib()
