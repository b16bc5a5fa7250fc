"""Windows of every kind, composed ones and REPORT clauses, from their definitions."""

from __future__ import annotations

import pytest

from sparkext.errors import CheckError
from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from sparkext.oracle.streams import element

E = "http://example.org/"
TIMES = (0, 5, 10, 15, 19, 20)
STREAM = {
    f"{E}s": [
        element(t, f'<{E}o{k}> <{E}value> "{k}" .', graph=f"{E}g{k}") for k, t in enumerate(TIMES)
    ]
}


def shown(
    window: str, profile: str = "rspql", registered: str = "", **options: bool | int
) -> dict[int, str]:
    """The elements that the window shows at each instant, by number."""
    register = f"REGISTER STREAM :q {registered} AS " if registered else ""
    pattern = "{ WINDOW :w { GRAPH ?g { ?s ?p ?o } } }"
    text = f"PREFIX : <{E}> {register}SELECT ?g FROM NAMED WINDOW :w ON :s {window} {pattern}"
    evaluation = ContinuousEvaluation(parse_query(text), STREAM, None, profile, **options)  # type: ignore[arg-type]
    return {
        t: "".join(sorted(str(row[0])[-2] for row in answer.rows))
        for t, answer in evaluation.answers().items()
    }


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("[ELEMENTS 2]", {0: "0", 5: "01", 10: "12", 15: "23", 19: "34", 20: "45"}),
        ("[ELEMENTS 3 STEP 2]", {5: "01", 15: "123", 20: "345"}),
        ("[LANDMARK 10]", {10: "2", 15: "23", 19: "234", 20: "2345"}),
        ("[INTERVAL 5 19]", {19: "1234"}),
        ("[NOW-10 TO NOW-5]", {5: "0", 10: "1", 15: "2", 20: "3", 24: "34", 25: "45"}),
        ("[RANGE 10 STEP 10] . [LANDMARK 6]", {10: "2", 20: "345"}),
        ("[RANGE 10 STEP 10] REPORT ON CC", {5: "1", 10: "12", 15: "3", 19: "34", 20: "345"}),
        (
            "[RANGE 5] REPORT ON STRICT CC AND NC",
            {0: "0", 5: "1", 10: "2", 15: "3", 19: "34", 20: "45", 24: "5"},
        ),
    ],
)
def test_windows(window: str, expected: dict[int, str]) -> None:
    assert shown(window) == expected


def test_rspqlstar_definition_15() -> None:
    """At instants given from outside close < t is strict; a report of a close shows what closes (S-002-1)."""
    rows = {10: "", 11: "01", 15: "01", 16: "12", 20: "12", 21: "234", 25: "234", 26: "345"}
    every = shown("[RANGE 10 STEP 5]", "rspqlstar", "COMPUTED EVERY 1")
    assert {t: every[t] for t in rows} == rows
    assert shown("[RANGE 10 STEP 5]", "rspqlstar") == {
        10: "01",
        15: "12",
        20: "234",
        25: "345",
        30: "5",
    }


def test_rspqlstar_sees_time_triples_outside_graph() -> None:
    time = f'<{E}g> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    from sparkext.recorded_streams import StreamElement

    stream = {f"{E}s": [StreamElement(1, f"<{E}g>", (f"<{E}o> <{E}value> <{E}v> .",), time)]}
    text = f"SELECT ?o FROM NAMED WINDOW <{E}w> ON <{E}s> [RANGE 5 STEP 5] {{ WINDOW <{E}w> {{ ?s ?p ?o }} }}"
    found = {
        profile: len(
            ContinuousEvaluation(parse_query(text), stream, None, profile).answers()[5].rows
        )
        for profile in ("rspql", "rspqlstar")
    }
    assert found == {"rspql": 2, "rspqlstar": 1}


def test_bounds_and_starts_can_be_set() -> None:
    assert shown("[RANGE 10 STEP 10]", closed_open=True) == {10: "01", 20: "234", 30: "5"}
    assert shown("[RANGE 10 STEP 10]", starting_at=5) == {15: "23", 25: "45"}


def test_what_a_profile_does_not_have() -> None:
    text = f"REGISTER RSTREAM <{E}q> AS SELECT * FROM NAMED WINDOW <{E}w> ON <{E}s> [NOW] {{}}"
    with pytest.raises(CheckError, match="has only ISTREAM"):
        ContinuousEvaluation(parse_query(text), STREAM, None, "cqels")
    with pytest.raises(CheckError, match="no window"):
        shown("[RANGE 5]", "csparql")
