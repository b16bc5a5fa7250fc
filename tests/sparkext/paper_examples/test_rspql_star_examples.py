"""The worked examples of the RSP-QL* paper, one time unit a millisecond, through the engine."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import QuerySyntaxError, UnsupportedFeatureError
from sparkext.recorded_streams import StreamElement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
TIMES = (0, 5, 10, 15, 19, 20)


def value(subject: str, number: int) -> str:
    """The triple of a reading, without its dot."""
    return f'<{E}{subject}> <{E}value> "{number}"^^<{INTEGER}>'


def reading(number: int, time: int) -> StreamElement:
    """E_number: a named graph with a value and its confidence, and the time triple beside it."""
    name, stated = f"<{E}g{number}>", value(f"o{number}", number)
    triples = (f"{stated} .", f'<< {stated} >> <{E}conf> "0.9" .')
    return StreamElement(time, name, triples, f'{name} <{E}time> "{time}"^^<{INTEGER}> .', ())


STREAM = [reading(number, time) for number, time in enumerate(TIMES)]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    """One engine for all; each test has a stream of its own."""
    from sparkext import Engine

    made = Engine(spark)
    yield made
    made.close()


def answers(
    engine: Engine,
    name: str,
    pattern: str,
    elements: Sequence[StreamElement] = STREAM,
    window: str = "[RANGE 10 STEP 5]",
    select: str = "*",
    more: str = "",
) -> dict[int, list[str]]:
    """Answers by instant, each a line of the terms' local parts in the order of the variables' names."""
    iri = f"{E}{name}"
    engine.register_stream(iri)
    text = f"""PREFIX : <{E}> SELECT {select} FROM NAMED WINDOW :w ON <{iri}> {window} {more}
        {{ {pattern} }}"""
    query = engine.register_query(text, name=name)
    told: dict[int, list[str]] = {}

    def note(answered) -> None:  # type: ignore[no-untyped-def]
        order = sorted(range(len(query.variables)), key=lambda i: query.variables[i])
        told[answered.time] = sorted(
            " ".join(_local(row[place]) for place in order) for row in answered.rows()
        )

    query.subscribe(note)
    engine.stream(iri).push_elements(elements)
    engine.stream(iri).watermark.finish()
    engine.evaluate_due()
    query.stop()
    return told


def _local(term: str | None) -> str:
    if term is None:
        return "-"
    return re.sub(rf"<{E}([^>]*)>", r"\1", term.replace(f"^^<{INTEGER}>", "")).replace('"', "")


def test_definition_5_window_with_both_edges(engine: Engine) -> None:
    """(10, 20] holds E3, E4 and E5; [10, 20) is another profile's."""
    told = answers(engine, "def5", "WINDOW :w { ?o :value ?v }")
    assert told[20] == ["o3 3", "o4 4", "o5 5"]
    assert told[10] == ["o1 1", "o2 2"]


def test_definition_6_default_and_named_graphs(engine: Engine) -> None:
    told = answers(
        engine, "def6", "WINDOW :w { ?g :time ?t OPTIONAL { GRAPH ?g { ?o :value ?v } } }"
    )
    assert told[20] == ["g3 o3 15 3", "g4 o4 19 4", "g5 o5 20 5"]


def test_definition_14_1_quoted_triple_pattern_in_one_element(engine: Engine) -> None:
    told = answers(engine, "def14-1", "WINDOW :w { GRAPH ?g { << ?o :value ?v >> :conf ?c } }")
    assert told[20] == ["0.9 g3 o3 3", "0.9 g4 o4 4", "0.9 g5 o5 5"]


def test_definition_14_1_quoting_does_not_assert(engine: Engine) -> None:
    only_quoted = StreamElement(1, None, (f'<< {value("o", 7)} >> <{E}conf> "0.2" .',), None, ())
    window = "[RANGE 10]"
    asserted = answers(engine, "quoted-1", "WINDOW :w { ?o :value ?v }", [only_quoted], window)
    quoted = answers(
        engine, "quoted-2", "WINDOW :w { << ?o :value ?v >> :conf ?c }", [only_quoted], window
    )
    assert asserted == {1: []}
    assert quoted == {1: ["0.2 o 7"]}


def test_definition_14_2_and_3_graph_binds_its_variable(engine: Engine) -> None:
    told = answers(engine, "def14-2", "WINDOW :w { GRAPH ?g { ?o :value ?v } }")
    assert told[20] == ["g3 o3 3", "g4 o4 4", "g5 o5 5"]
    told = answers(engine, "def14-3", "WINDOW :w { GRAPH :g4 { ?o :value ?v } }")
    assert told == {10: [], 15: [], 20: ["o4 4"], 25: ["o4 4"]}


def test_definition_14_4_outside_graph_by_default(engine: Engine) -> None:
    """The merge of the elements' graphs and their time triples (slip S-002-8)."""
    told = answers(engine, "def14-4", "WINDOW :w { ?s ?p ?o }", select="?s ?p")
    assert told[20] == sorted(
        f"{p} {s}"
        for n in (3, 4, 5)
        for p, s in (("value", f"o{n}"), ("conf", f"<< o{n} value {n} >>"), ("time", f"g{n}"))
    )


def test_definition_14_4_in_its_own_profile(spark: SparkSession) -> None:
    """Patterns outside GRAPH see the time triples of [10, 20) and nothing else; GRAPH sees the rest."""
    from sparkext import Engine

    spark.conf.set("spark.cqels.semantics", "rspqlstar")
    try:
        strict = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.semantics")
    told = answers(strict, "strict-1", "WINDOW :w { ?s ?p ?o }")
    assert told[20] == [f"{t} time g{n}" for n, t in ((2, 10), (3, 15), (4, 19))]
    pattern = "WINDOW :w { ?g :time ?t GRAPH ?g { << ?o :value ?v >> :conf ?c } }"
    told = answers(strict, "strict-2", pattern)
    assert told[20] == [f"0.9 g{n} o{n} {t} {n}" for n, t in ((2, 10), (3, 15), (4, 19))]
    strict.close()


def test_definition_14_5_window_variable(engine: Engine) -> None:
    told = answers(
        engine,
        "def14-5",
        "WINDOW ?w { ?o :value ?v }",
        more=f"FROM NAMED WINDOW :now ON <{E}def14-5> [NOW]",
    )
    assert told[20] == ["o3 3 w", "o4 4 w", "o5 5 now", "o5 5 w"]


def test_definition_14_6_join_of_two_windows(engine: Engine) -> None:
    told = answers(
        engine,
        "def14-6",
        "WINDOW :w { GRAPH ?g { ?o :value ?v } } WINDOW :now { ?g :time ?t }",
        more=f"FROM NAMED WINDOW :now ON <{E}def14-6> [NOW]",
    )
    assert told[20] == ["g5 o5 20 5"]


def test_a_window_in_a_graph_is_a_dataset_of_its_own(engine: Engine) -> None:
    told = answers(engine, "in-graph", "GRAPH :nowhere { WINDOW :w { ?o :value ?v } }")
    assert told[20] == ["o3 3", "o4 4", "o5 5"]


def test_a_window_in_a_window_is_an_error_with_its_place() -> None:
    from sparkext.language import parse_query

    with pytest.raises(QuerySyntaxError) as raised:
        parse_query(
            "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [NOW]\n"
            "{ WINDOW :w { WINDOW :w { ?a ?b ?c } } }"
        )
    assert (raised.value.line, raised.value.column) == (2, 15)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("GRAPH ?g {}", ["g4", "g5"]),
        ("GRAPH ?g { VALUES ?x { 1 2 } }", ["g4 1", "g4 2", "g5 1", "g5 2"]),
        (
            "GRAPH ?g { SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p }",
            ["g4 1 conf", "g4 1 value", "g5 1 conf", "g5 1 value"],
        ),
        (
            "GRAPH ?g { SELECT DISTINCT ?p { ?s ?p ?o } }",
            ["g4 conf", "g4 value", "g5 conf", "g5 value"],
        ),
        (
            "GRAPH ?g { GRAPH ?h { ?o :value ?v } }",
            ["g4 g4 o4 4", "g4 g5 o5 5", "g5 g4 o4 4", "g5 g5 o5 5"],
        ),
        ("GRAPH ?g { ?o :value ?v OPTIONAL { ?o :none ?x } }", ["g4 o4 4 -", "g5 o5 5 -"]),
        ("GRAPH ?g { { ?o :value 4 } UNION { ?o :value 5 } }", ["g4 o4", "g5 o5"]),
        ("GRAPH ?g { { ?o :value ?v } UNION {} }", ["g4 - -", "g4 o4 4", "g5 - -", "g5 o5 5"]),
        ("GRAPH ?g { SELECT (COUNT(*) AS ?n) { :o4 ?p ?v } }", ["g4 1", "g5 0"]),
        ("GRAPH ?g { ?o :value ?v FILTER(?g = :g4) }", []),  # the name is not known inside yet
        ("GRAPH ?g { ?o :value ?v } FILTER(?g = :g4)", ["g4 o4 4"]),
        (
            "GRAPH ?g { ?o :value ?v OPTIONAL { ?o :value ?x FILTER(BOUND(?g)) } }",
            ["g4 o4 4 -", "g5 o5 5 -"],
        ),
        ("GRAPH ?g { ?o :value ?v OPTIONAL { ?g :none ?x } }", ["g4 o4 4 -", "g5 o5 5 -"]),
        ("GRAPH ?g { ?o :value ?v OPTIONAL { ?g :value ?x } }", []),  # ?g is :o4, :o5 inside
        ("GRAPH ?g { ?g ?p ?v FILTER(BOUND(?g)) }", []),
        ("GRAPH ?g { ?o :value ?v } ?g :time ?t", ["g4 o4 19 4", "g5 o5 20 5"]),
    ],
)
def test_graph_variables_in_windows(engine: Engine, pattern: str, expected: list[str]) -> None:
    name = f"graphs-{zlib.crc32(pattern.encode())}"
    told = answers(engine, name, f"WINDOW :w {{ {pattern} }}", window="[RANGE 5 STEP 5]")
    # (15, 20] holds E4 and E5.
    assert told[20] == expected


def test_what_a_graph_variable_cannot_be_around_is_refused_with_its_place(engine: Engine) -> None:
    with pytest.raises(UnsupportedFeatureError) as raised:
        answers(engine, "refused", "WINDOW :w { GRAPH ?g { SELECT ?s { ?s ?p ?o } LIMIT 1 } }")
    assert (raised.value.line, raised.value.column) == (2, 23)
