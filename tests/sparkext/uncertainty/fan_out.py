"""Two streams whose join trims or multiplies the rows of the first, and the query's place in it after each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.sparkext.uncertainty.readings import PREFIXES, E, local, oxygen, temperature

if TYPE_CHECKING:
    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

READINGS, PLACES, HOT = 30, 10, 6
TRIMMED, MULTIPLIED = READINGS // PLACES, READINGS * HOT
Answers = list[tuple[str | None, ...]]


def text(shown: str, first: str, after: str = "") -> str:
    """A query that joins a window of oxygen, with `first` behind its patterns, and one of temperatures on the place."""
    return f"""{PREFIXES} SELECT {shown}
        FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE PT10S STEP PT10S]
        FROM NAMED WINDOW :w2 ON <{E}heat> [RANGE PT10S STEP PT10S]
        WHERE {{
          WINDOW :w1 {{
            ?o :oxygen ?level ; :at ?place . << ?o :oxygen ?level >> rspu:uncertainty ?error {first} }}
          WINDOW :w2 {{ ?t :at ?place }} {after} }}"""


def is_low(number: int) -> bool:
    """Few readings are: the filter is selective."""
    return number % 6 == 0


def push(engine: Engine, step: int, fans_out: bool) -> list[tuple[int, str]]:
    """Fill the windows of one step; numbers of readings of oxygen, each with a temperature of its place.

    Either all places have many readings of the temperature, or one place has a single one.
    """
    start = step * 10
    engine.stream(E + "oxygen").push_elements(
        [
            oxygen(
                f"o{n}",
                f"L{n % PLACES}",
                f"0.{171 if is_low(n) else 211 + n}",
                start + 1,
                "N(0, 0.0001)",
            )
            for n in range(READINGS)
        ]
    )
    hot = [(f"t{p}-{k}", p) for p in range(PLACES) for k in range(HOT)] if fans_out else [("t", 0)]
    engine.stream(E + "heat").push_elements(
        [temperature(name, f"L{place}", 30, start + 1) for name, place in hot]
    )
    engine.advance_to((start + 10) * 1000)
    return [(n, name) for n in range(READINGS) for name, place in hot if n % PLACES == place]


def answers(query: RegisteredQuery) -> Answers:
    """The local parts of the last answers."""
    assert query.last_answers is not None
    return sorted(tuple(map(local, row)) for row in query.last_answers.rows())


def rows_looked_at(query: RegisteredQuery) -> list[int]:
    """The rows that came to each filter and BIND in the last evaluation."""
    return [int(site["last"]["rows_in"]) for site in query.explain().data["calls"]]


def order_of(query: RegisteredQuery) -> list[str]:
    """Where the join began in the last evaluation, and its steps."""
    (choice,) = query.explain().data["choices"]
    return list(choice["order"]["order"])


def step_of(query: RegisteredQuery, part: str) -> dict[str, Any]:
    """What the last evaluation counted at the step in whose name this stands."""
    (choice,) = query.explain().data["choices"]
    (found,) = [step for step in choice["order"]["steps"] if part in step["step"]]
    return dict(found)


def is_early(query: RegisteredQuery, part: str) -> bool:
    """Whether the step in whose name this stands came before the temperatures were joined."""
    order = order_of(query)
    (item,) = [place for place, step in enumerate(order) if part in step]
    return item < min(place for place, step in enumerate(order) if "?t at" in step)


def started(engine: Engine, query: str) -> RegisteredQuery:
    """The query registered, with the streams that it reads."""
    for stream in ("oxygen", "heat"):
        engine.register_stream(E + stream)
    return engine.register_query(query)
