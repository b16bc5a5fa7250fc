"""Answers as typed DataFrames, and terms, graphs and answers to and from rdflib."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sparkext.answers.rdflib_bridge import from_rdflib, to_rdflib
from sparkext.answers.typed_columns import typed_column
from sparkext.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

rdflib = pytest.importorskip("rdflib")

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(*lexicals: str | None, datatype: str) -> pa.Array:
    texts = [None if text is None else f'"{text}"^^<{XSD}{datatype}>' for text in lexicals]
    return typed_column(pa.chunked_array([texts], pa.string()))


@pytest.mark.parametrize(
    ("datatype", "lexicals", "kind", "values"),
    [
        ("integer", ["1", "-2", None, "1"], "int64", [1, -2, None, 1]),
        ("unsignedByte", ["7"], "int64", [7]),
        ("byte", ["-128", "127"], "int64", [-128, 127]),
        ("boolean", ["true", "0", "1"], "bool", [True, False, True]),
        ("decimal", ["1.50", "-3"], "decimal128(38, 18)", [Decimal("1.5"), Decimal(-3)]),
        ("double", ["1e3", "INF"], "double", [1000.0, float("inf")]),
        ("float", ["0.5"], "float", [0.5]),
        ("date", ["2026-01-31"], "date32[day]", [date(2026, 1, 31)]),
        ("dateTime", ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00.5+01:00"], "timestamp[us, tz=UTC]",
         [datetime(2026, 1, 31, 10, tzinfo=UTC), datetime(2026, 1, 31, 9, 0, 0, 500000, tzinfo=UTC)]),
        ("decimal", ["12345678901.5"], "decimal128(38, 18)", [Decimal("12345678901.5")]),
        ("dateTime", ["2026-01-31T10:00:00"], "timestamp[us]", [datetime(2026, 1, 31, 10)]),
        ("dateTime", ["2026-01-31T10:00:00.1234560"], "timestamp[us]", [datetime(2026, 1, 31, 10, 0, 0, 123456)]),
    ],
)  # fmt: skip
def test_one_datatype_makes_a_typed_column(
    datatype: str, lexicals: list[str | None], kind: str, values: list[object]
) -> None:
    column = typed(*lexicals, datatype=datatype)
    assert (str(column.type), column.to_pylist()) == (kind, values)


@pytest.mark.parametrize(
    ("datatype", "lexicals"),
    [
        ("integer", ["1", "9223372036854775808"]),
        ("integer", ["1", "one"]),
        ("integer", ["1", "1_000"]),
        ("decimal", ["1e5"]),
        ("decimal", ["0.1234567890123456789"]),
        ("decimal", ["123456789012345678901.5"]),
        ("double", ["1.5", "infinity"]),
        ("boolean", ["yes"]),
        ("dateTime", ["2026-01-31T10:00:00", "2026-01-31T10:00:00Z"]),
        ("dateTime", ["2026-01-31"]),
        ("dateTime", ["2026-01-31 10:00:00"]),
        ("dateTime", ["2026-01-31T10:00"]),
        ("dateTime", ["2026-01-31T10:00:00.1234567"]),
        ("dateTime", ["2026-01-31T10:00:00+15:00"]),
        ("dateTime", ["20260131T100000Z"]),
        ("date", ["20260131"]),
        ("date", ["2026-W05-6"]),
        ("byte", ["300"]),
        ("unsignedInt", ["-1"]),
        ("positiveInteger", ["1", "0"]),
        ("gYear", ["2026"]),
    ],
)
def test_what_does_not_fit_stays_text(datatype: str, lexicals: list[str]) -> None:
    column = typed(*lexicals, datatype=datatype)
    assert column.to_pylist() == [f'"{text}"^^<{XSD}{datatype}>' for text in lexicals]


def test_mixed_columns_stay_text_and_strings_lose_their_quotes() -> None:
    mixed = ['"a"', '"b"@en', None]
    assert typed_column(pa.chunked_array([mixed])).to_pylist() == mixed
    assert typed_column(pa.chunked_array([['"a"', '"say \\"x\\""']])).to_pylist() == [
        "a",
        'say "x"',
    ]
    assert typed_column(pa.chunked_array([], pa.string())).to_pylist() == []


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    graph = rdflib.Dataset()
    ns = rdflib.Namespace("http://e/")
    graph.add((ns.a, ns.age, rdflib.Literal(30)))
    graph.add((ns.b, ns.age, rdflib.Literal("007", datatype=rdflib.XSD.integer, normalize=False)))
    graph.add((ns.a, ns.name, rdflib.Literal('line 1\nline 2 "x"', lang="en-GB")))
    graph.add((rdflib.BNode("not a label!"), ns.knows, ns.a))
    graph.graph(ns.g).add((ns.a, ns["in"], ns.g))
    made = Engine(spark)
    made.load_static(graph)
    made.load_static(rdflib.Graph().add((ns.c, ns.age, rdflib.Literal(5))), graph="http://e/h")
    yield made
    made.close()


PREFIX = "PREFIX : <http://e/> "


def test_typed_data_frames(engine: Engine, spark: SparkSession) -> None:
    answers = engine.select(PREFIX + "SELECT ?x ?n { ?x :age ?n }").answer()
    frame = answers.to_dataframe(spark, typed=True)
    assert [field.dataType.simpleString() for field in frame.schema] == ["string", "bigint"]
    assert sorted(tuple(row) for row in frame.collect()) == [
        ("<http://e/a>", 30),
        ("<http://e/b>", 7),
    ]
    assert (
        engine.select(PREFIX + "ASK { :a :age 30 }")
        .answer()
        .to_dataframe(spark)
        .collect()[0]
        .boolean
        is True
    )


def test_answers_as_rdflib_gives_them(engine: Engine) -> None:
    select = (
        engine.select(PREFIX + "SELECT ?n ?u { :a :name ?n OPTIONAL { ?n :none ?u } }")
        .answer()
        .to_rdflib()
    )
    assert [list(row) for row in select] == [
        [rdflib.Literal('line 1\nline 2 "x"', lang="en-gb"), None]
    ]
    named = engine.select(PREFIX + "SELECT * { GRAPH ?g { ?s ?p ?o } }").answer().to_rdflib()
    assert {str(binding[rdflib.Variable("g")]) for binding in named.bindings} == {
        "http://e/g",
        "http://e/h",
    }
    graph = engine.select(PREFIX + "CONSTRUCT WHERE { ?x :age ?n }").answer().to_rdflib().graph
    assert {str(o) for o in graph.objects()} == {"30", "007"}
    assert engine.select("ASK { ?s <http://e/knows> ?o }").answer().to_rdflib().askAnswer is True


def test_pushing_rdflib_terms_and_graphs(engine: Engine) -> None:
    stream = engine.register_stream("http://e/s")
    query = engine.register_query(
        PREFIX
        + "SELECT ?s ?o FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S] { WINDOW :w { ?s :p ?o } }"
    )
    ns = rdflib.Namespace("http://e/")
    stream.push((ns.x, ns.p, rdflib.Literal("two words\n", lang="de")), time=1000)
    stream.push(rdflib.Graph().add((rdflib.BNode(), ns.p, rdflib.Literal(True))), time=2000)
    engine.advance_to(10_000)
    assert query.last_answers is not None
    objects = {row[1] for row in query.last_answers.rows()}
    assert objects == {'"two words\\n"@de', f'"true"^^<{XSD}boolean>'}
    query.stop()


@pytest.mark.parametrize(
    "text",
    ["<http://e/ä>", "_:b1", '"x"', '"x"@en', f'"1.0"^^<{XSD}decimal>', '"<>"^^<http://e/t>'],
)
def test_terms_there_and_back(text: str) -> None:
    assert from_rdflib(to_rdflib(text)).n3() == text


def test_terms_without_a_class_there() -> None:
    for text in ("<< <http://e/a> <http://e/p> <http://e/b> >>", '"a"@en--ltr'):
        with pytest.raises(TypeError, match="rdflib has no"):
            to_rdflib(text)
    with pytest.raises(TypeError, match="not an RDF term"):
        from_rdflib(rdflib.Variable("x"))
