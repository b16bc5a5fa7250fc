"""Functions in Python that queries call by an IRI."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import (
    DuplicateNameError,
    FunctionError,
    UnsupportedFeatureError,
    first_line,
)
from sparkext.runtime.parts.user_functions import python_value
from static_data.terms import Iri, parse_term
from tests.sparkext.uncertainty.readings import PREFIXES, RSPU, XSD, E, engine_with, local

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def test_calls_in_filters_and_binds(spark: SparkSession) -> None:
    asked: list[tuple[Any, ...]] = []

    def twice(value: Any) -> Any:
        asked.append((value,))
        return 2 * value if isinstance(value, int | float) else None

    def kind(*values: Any) -> Any:
        return ", ".join(type(value).__name__ for value in values)

    with engine_with(spark) as engine:
        engine.register_function(E + "twice", twice, returns="double", cost_us=50)
        engine.register_function(E + "kind", kind)
        engine.register_function(E + "same", lambda term: term)
        query = engine.select(
            PREFIXES
            + """SELECT ?x ?two ?kind ?same {
              VALUES ?x { 1 1.5 2e0 "a" true :i "b"@en "2024-01-01"^^<http://www.w3.org/2001/XMLSchema#date> }
              BIND(:twice(?x) AS ?two) BIND(:kind(?x, ?x) AS ?kind) BIND(:same(?x) = ?x AS ?same) }"""
        )
        rows = [tuple(map(local, row)) for row in query.answer().rows()]
        counted = sum(site["total"]["calls"] for site in query.calls.describe())
        assert [
            local(row[0])
            for row in engine.select(
                PREFIXES
                + "SELECT ?x { VALUES ?x { 1 2 3 } FILTER(:twice(?x) > 3 && :twice(:none) != 1 || ?x = 3) }"
            )
            .answer()
            .rows()
        ] == ["3"]
    assert Counter(rows) == Counter(
        [
            ("1", "2.0E0", "int, int", "true"),
            ("1.5", "3.0E0", "float, float", "true"),
            ("2e0", "4.0E0", "float, float", "true"),
            ("a", "-", "str, str", "true"),
            ("true", "2.0E0", "bool, bool", "true"),
            ("i", "-", "Iri, Iri", "true"),
            ("b", "-", "Literal, Literal", "true"),
            ("2024-01-01", "-", "Literal, Literal", "true"),
        ]
    )
    assert counted == 24
    assert (Iri(E + "none"),) in asked


def test_a_call_is_made_once_for_the_same_arguments(spark: SparkSession) -> None:
    asked = []

    def note(value: Any) -> Any:
        asked.append(value)
        return float(value)

    text = "SELECT ?x ?y { VALUES (?x ?z) { (1 1) (1 2) (1 3) (2 4) } BIND(:note(?x) AS ?y) }"
    for cached, calls in (("true", 2), ("false", 4)):
        asked.clear()
        with engine_with(spark, functionCache__enabled=cached) as engine:
            engine.register_function(E + "note", note, returns="double")
            assert len(engine.select(PREFIXES + text).answer().rows()) == 4
        assert len(asked) == calls


def test_what_is_refused(spark: SparkSession) -> None:
    with engine_with(spark) as engine:
        with pytest.raises(UnsupportedFeatureError, match=f"the function <{E}f> is not supported"):
            engine.select(PREFIXES + "SELECT * { FILTER(:f(1)) }")
        engine.register_function(E + "f", lambda: 1)
        with pytest.raises(DuplicateNameError, match="already"):
            engine.register_function(E + "f", lambda: 1)
        for iri, options, message in (
            ("f", {}, "absolute IRI"),
            (RSPU + "g", {}, "namespace"),
            (XSD + "g", {}, "namespace"),
            (E + "g", {"returns": "integer"}, "'double' or 'term'"),
            (E + "g", {"cost_us": -1}, "0 microseconds or more"),
            (E + "g", {"cost_us": float("inf")}, "0 microseconds or more"),
            (E + "g", {"cost_us": float("nan")}, "0 microseconds or more"),
        ):
            with pytest.raises(FunctionError, match=message):
                engine.register_function(iri, lambda: 1, **options)
        engine.register_function(E + "wrong", lambda: object())
        with pytest.raises(Exception, match="gave a value that is no term"):
            engine.select(PREFIXES + "SELECT * { BIND(:wrong() AS ?x) }").answer()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('" 12 "^^xsd:integer', "int"),
        ('"+7"^^xsd:byte', "int"),
        ('"1_000"^^xsd:integer', "Literal"),
        ('"١"^^xsd:integer', "Literal"),
        ('"1.5"^^xsd:integer', "Literal"),
        ('".5"^^xsd:decimal', "float"),
        ('"1e3"^^xsd:decimal', "Literal"),
        ('"1_0.5"^^xsd:decimal', "Literal"),
        ('"1e3"^^xsd:double', "float"),
        ('"-INF"^^xsd:float', "float"),
        ('"NaN"^^xsd:double', "float"),
        ('"infinity"^^xsd:double', "Literal"),
        ('"nan"^^xsd:double', "Literal"),
        ('"0"^^xsd:boolean', "bool"),
        ('"maybe"^^xsd:boolean', "Literal"),
        ('"True"^^xsd:boolean', "Literal"),
    ],
)
def test_what_no_value_is_comes_as_a_term(text: str, kind: str) -> None:
    value = python_value(parse_term(text.replace("xsd:", f"<{XSD}").rstrip() + ">"))
    assert type(value).__name__ == kind


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_function_must_not_use_the_engine(spark: SparkSession, threads: str) -> None:
    """The evaluation that calls it has the engine, and waits for the function."""
    text = PREFIXES + "SELECT ?y { VALUES ?x { 1 2 3 } BIND(:asks(?x) AS ?y) }"
    with engine_with(spark, driverExecution__threads=threads) as engine:
        other = engine.select("SELECT ?x { VALUES ?x { 1 } }")
        uses: dict[str, Callable[[], object]] = {
            "answer": other.answer,
            "select": lambda: engine.select("SELECT ?x { VALUES ?x { 1 } }"),
            "push": lambda: engine.push(E + "s", (E + "a", E + "b", 1), time=1),
            "finish": engine.finish,
        }
        engine.register_stream(E + "s")
        asked: list[str] = []
        engine.register_function(E + "asks", lambda _: str(uses[asked[-1]]()))
        query = engine.select(text)
        told: list[str | None] = []

        def answer() -> None:
            try:
                query.answer()
                told.append(None)
            except Exception as error:
                told.append(first_line(error))

        for use in uses:
            asked.append(use)
            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            thread.join(timeout=120)
            assert not thread.is_alive()
            assert "FunctionError" in (told[-1] or "") and f"<{E}asks>" in (told[-1] or "")
        assert len(other.answer().rows()) == 1
