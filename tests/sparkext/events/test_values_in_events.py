"""Quoted triples and uncertain values inside events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sparkext import Engine

E = "http://e/"
RSPU = "http://w3id.org/rsp/rspu#"


def asked(engine: Engine, events: str, select: str) -> list[list[tuple[str | None, ...]]]:
    """The answers of a sequence A SEQ B over readings of two sensors, instant by instant."""
    engine.register_stream(f"{E}s")
    query = engine.register_query(
        f"PREFIX : <{E}> PREFIX rspu: <{RSPU}> REGISTER ISTREAM :query COMPUTED EVERY PT0.01S AS SELECT {select} "
        f"FROM NAMED WINDOW :w ON :s [RANGE PT1S] {events} WHERE {{ MATCH {{ A SEQ B }} }}"
    )
    answers: list[list[tuple[str | None, ...]]] = []
    query.subscribe(lambda told: answers.append(told.rows()))
    for time, sensor, value, sure in (
        (10, "a", "N(20.5, 1)", "0.9"),
        (20, "b", "N(18.0, 1)", "0.2"),
        (30, "b", "N(25.0, 1)", "0.8"),
    ):
        level = f'"{value}"^^<{RSPU}distribution>'
        triple = (f"<{E}{sensor}>", f"<{E}level>", level)
        annotation = (
            f"<< {' '.join(triple)} >>",
            f"<{E}conf>",
            f'"{sure}"^^<http://www.w3.org/2001/XMLSchema#decimal>',
        )
        engine.push(f"{E}s", [triple, annotation], time)
    engine.advance_to(50)
    return [rows for rows in answers if rows]


def test_uncertainty_functions_in_events(engine: Engine) -> None:
    event = (
        "EVENT ON :w {{ ?{v} :level ?l{v} BIND(rspu:greaterThan(?l{v}, 19.5) AS ?p{v}) "
        "FILTER(?p{v} > 0.5) }} AS {name} "
    )
    ((row,),) = asked(
        engine, event.format(v="x", name="A") + event.format(v="y", name="B"), "?x ?px ?y ?py"
    )
    assert (row[0], row[2]) == (f"<{E}a>", f"<{E}b>")
    assert row[1] is not None and float(row[1].split('"')[1]) == pytest.approx(0.841345, abs=1e-6)
    assert row[3] is not None and float(row[3].split('"')[1]) > 0.999


def test_quoted_triples_in_events(engine: Engine) -> None:
    event = "EVENT ON :w {{ << ?{v} :level ?l{v} >> :conf ?c{v} FILTER(?c{v} > 0.5) }} AS {name} "
    ((row,),) = asked(
        engine, event.format(v="x", name="A") + event.format(v="y", name="B"), "?x ?cx ?y ?cy"
    )
    decimal = "^^<http://www.w3.org/2001/XMLSchema#decimal>"
    assert row == (f"<{E}a>", f'"0.9"{decimal}', f"<{E}b>", f'"0.8"{decimal}')
