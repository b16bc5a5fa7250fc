"""Operators of event patterns one by one, with answers found by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sparkext.errors import CheckError
from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from tests.oracle.evaluation import stream_element
from tests.oracle.recorded import Element
from tests.sparkext.event_cases import (
    ANSWERING,
    Answering,
    E,
    answering_by,
    by_oracle,
    told,
    triple,
)
from tests.sparkext.events.operator_cases import CASES, case


@pytest.fixture(params=ANSWERING)
def answering(request: pytest.FixtureRequest, tmp_path: Path) -> Answering:
    """Whoever answers."""
    return answering_by(request, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, answering: Answering) -> None:
    asked = CASES[name]
    assert answering(asked) == {t: sorted(lines) for t, lines in asked.expected.items()}


# ---- Allen's relations

RELATIONS = {
    "MEETS": "MET BY",
    "OVERLAPS": "OVERLAPPED BY",
    "DURING": "CONTAINS",
    "STARTS": "STARTED BY",
    "FINISHES": "FINISHED BY",
    "EQUALS": "EQUALS",
    "BEFORE": "AFTER",
}
INTERVALS = {
    ((1, 2), (4, 5)): {"BEFORE"},
    ((1, 3), (3, 5)): {"MEETS"},
    ((1, 4), (3, 6)): {"OVERLAPS"},
    ((2, 3), (1, 5)): {"DURING"},
    ((1, 3), (1, 5)): {"STARTS"},
    ((3, 5), (1, 5)): {"FINISHES"},
    ((1, 5), (1, 5)): {"EQUALS"},
    # Points have no inside: they may be in two relations.
    ((3, 3), (3, 5)): {"MEETS", "STARTS"},
    ((1, 3), (3, 3)): {"MEETS", "FINISHED BY"},
    ((3, 3), (3, 3)): {"MEETS", "MET BY", "EQUALS"},
    ((2, 2), (1, 5)): {"DURING"},
}


@pytest.mark.parametrize(
    "intervals",
    [
        given if place % 3 == 0 else pytest.param(given, marks=pytest.mark.slow)
        for place, given in enumerate(INTERVALS)
    ],
)
def test_allen(intervals: tuple[tuple[int, int], tuple[int, int]], answering: Answering) -> None:
    contents: dict[int, list[str]] = {}
    parts = []
    for (start, end), (first, second) in zip(intervals, ("AB", "CD"), strict=True):
        for time, name in {(start, first), (end, second if end > start else first)}:
            contents.setdefault(time, []).append(f"x {name.lower()} {time}")
        parts.append(f"({first} SEQ {second})" if end > start else first)
    ordered = dict(sorted(contents.items()))
    for left, right in (parts, parts[::-1]):
        swapped = left != parts[0]
        for relation in dict.fromkeys([*RELATIONS, *RELATIONS.values()]):
            inverse = RELATIONS | {b: a for a, b in RELATIONS.items()}
            holds = (inverse[relation] if swapped else relation) in INTERVALS[intervals]
            times = [t for interval in intervals for t in interval]
            expected = [f"{min(times)} {max(times)}"] if holds else []
            asked = case(
                f"{{ {left} {relation} {right} FROM ?s TO ?e }}", ordered, *expected, select="?s ?e"
            )
            assert answering(asked) == asked.expected, asked.match


# ---- Elements with names, and what the oracle refuses


def _oracle(text: str, elements: list[Element]) -> dict[int, list[str]]:
    streams = {f"{E}S": [stream_element(e) for e in elements]}
    answers = ContinuousEvaluation(parse_query(f"PREFIX : <{E}> {text}"), streams).answers()
    return {t: told(answer.rows) for t, answer in answers.items()}


def test_an_element_is_a_graph_with_a_name_and_a_time_triple() -> None:
    elements = [
        Element(1, (triple("x a 1"),), f"{E}g1", (triple("g1 time 1"),)),
        Element(2, (triple("x a 2"),), f"{E}g2", (triple("g2 time 2"), triple("g2 from here"))),
    ]
    text = """SELECT ?g ?i ?t FROM NAMED WINDOW :w ON :S [LANDMARK 0] EVENT ON :w { %s } AS A
        WHERE { MATCH { A } }"""
    both = "GRAPH ?g { ?x :a ?i } ?g :time ?t"
    assert _oracle(text % both, elements) == {1: ["g1 1 1"], 2: ["g1 1 1", "g2 2 2"]}
    assert _oracle(text % "GRAPH :g2 { ?x :a ?i }", elements) == {1: [], 2: ["- 2 -"]}
    assert _oracle(text % "?x :a ?i", elements) == {1: ["- 1 -"], 2: ["- 1 -", "- 2 -"]}


def test_time_triples_are_consumed_like_others() -> None:
    elements = [
        Element(1, (triple("x a 1"),), f"{E}g1", (triple("g1 time 1"),)),
        Element(2, (triple("x c 2"),), f"{E}g2", (triple("g2 time 2"),)),
        Element(3, (triple("x c 3"),), f"{E}g3", (triple("g3 time 3"),)),
    ]
    text = """SELECT ?i ?k FROM NAMED WINDOW :w ON :S [LANDMARK 0]
        EVENT ON :w { %s } AS A EVENT ON :w { ?x :c ?k } AS C WHERE { MATCH CHRONOLOGICAL { A SEQ C } }"""
    assert _oracle(text % "GRAPH ?g { ?x :a ?i }", elements) == {1: [], 2: ["1 2"], 3: []}
    # Here the element's time only is used up: its other triple is as it was.
    only_time = "?g :time ?i FILTER(?i = 1)"
    assert _oracle(text % only_time, elements) == {1: [], 2: ["1 2"], 3: []}


@pytest.mark.parametrize(
    "match", ["{ B+ SEQ C+ }", "CHRONOLOGICAL { A SEQ B+ }", "NAIVE { B+ SEQ C }"]
)
def test_sequences_of_runs_that_have_no_meaning(match: str) -> None:
    with pytest.raises(CheckError, match="repetition"):
        by_oracle(case(match, {1: ["x b 1"]}, select="?none"))


def test_consumption_needs_to_know_the_way_of_a_path() -> None:
    asked = replace(
        case("CHRONOLOGICAL { A SEQ C }", {1: ["x a y", "y a z"], 2: ["x c 2"]}, select="?none"),
        events={"A": ("w", "?x :a+ ?i"), "C": ("w", "?x :c ?k")},
    )
    with pytest.raises(CheckError, match="path"):
        by_oracle(asked)


def test_windows_that_are_merged_are_not_those_of_events() -> None:
    text = """SELECT ?x ?i FROM NAMED WINDOW :w ON :S [RANGE 9 STEP 1] FROM NAMED WINDOW :m ON :S [RANGE 2 STEP 1]
        EVENT ON :w { ?x :a ?i } AS A WHERE { MATCH { A } ?x :a ?i }"""
    streams = {f"{E}S": [stream_element(Element(t, (triple(f"x a {t}"),))) for t in (10, 15)]}
    query = parse_query(f"PREFIX : <{E}> {text}")
    answers = ContinuousEvaluation(query, streams, profile="csparql").answers()
    assert {t: told(answer.rows) for t, answer in answers.items() if answer.rows} == {
        # NAIVE; the default graph has the last two milliseconds.
        10: ["x 10"],
        11: ["x 10"],
        15: ["x 15"],
        16: ["x 15"],
    }
