"""One text registered for many terms: parameters, and lists of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import (
    ArgumentError,
    CqelsError,
    DuplicateNameError,
    ParameterError,
    UnknownStreamError,
)
from tests.sparkext.listening import E, S, query
from tests.sparkext.runtime.test_many_queries import at, evaluated, in_room, names

if TYPE_CHECKING:
    from sparkext import Engine

PARAMETERS = query("WINDOW :w { ?p :at ?room }", select="?p ?room")


@pytest.fixture(autouse=True)
def stream(engine: Engine) -> None:
    engine.register_stream(S)


def test_parameters(engine: Engine) -> None:
    first = engine.register_query(PARAMETERS, parameters={"room": f"{E}r1"})
    second = first.with_parameters({"room": f"{E}r2"}, name="second")
    made = engine.register_queries(
        PARAMETERS, [{"room": f"{E}r{n}"} for n in (3, 4)], names=["third", "fourth"]
    )
    assert [q.name for q in (first, second, *made)] == [f"{E}q", "second", "third", "fourth"]
    assert evaluated(engine) == ["q", "template-1"]
    at(engine, 1, "ann", "r2")
    at(engine, 2, "bob", "r4")
    found = [q.last_answers for q in (first, second, *made)]
    assert [a and names(a.rows()) if a is None or len(a) else [] for a in found] == [
        [],
        ["ann", "r2"],
        [],
        ["bob", "r4"],
    ]
    assert f"{E}r4" in str(made[1].query)


def test_texts_at_once(engine: Engine) -> None:
    made = engine.register_queries([in_room(f"r{n}") for n in range(6)])
    assert len(made) == 6
    with pytest.raises(DuplicateNameError):
        engine.register_queries([in_room("r7"), in_room("r0")])
    assert len(engine.queries) == 6
    with pytest.raises(UnknownStreamError):
        engine.register_queries([in_room("r7"), in_room("r8").replace("ON :s", "ON :none")])
    assert len(engine.queries) == 6


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"none": 1}, r"no variable \?none"),
        ({"room": "no term"}, r"\?room"),
        ({"room": "_:b"}, r"\?room cannot be a blank node"),
        ({"made": 1}, r"gives \?made a value"),
        ({"given": 1}, r"gives \?given values"),
        ({"g": 1}, r"\?g must be an IRI"),
    ],
)
def test_parameters_that_cannot_be(engine: Engine, parameters: dict[str, Any], said: str) -> None:
    text = query(
        "WINDOW :w { GRAPH ?g { ?p :at ?room } } BIND(1 AS ?made) VALUES ?given { 1 }", select="?p"
    )
    with pytest.raises(ParameterError, match=said):
        engine.register_query(text, parameters=parameters)
    assert not engine.queries


@pytest.mark.parametrize("parameters", ["room", 3, [{"room": 1}], {3: 4}])
def test_odd_parameters(engine: Engine, parameters: Any) -> None:
    with pytest.raises(ArgumentError):
        engine.register_query(PARAMETERS, parameters=parameters)


def test_odd_calls(engine: Engine) -> None:
    for odd in (
        lambda: engine.register_queries(PARAMETERS),
        lambda: engine.register_queries(PARAMETERS, {"room": 1}),
        lambda: engine.register_queries([PARAMETERS], [{"room": 1}]),
        lambda: engine.register_queries(PARAMETERS, [{"room": 1}], names=["a", "b"]),
    ):
        with pytest.raises(CqelsError):
            odd()
    assert not engine.queries
