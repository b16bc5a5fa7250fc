"""Readings as messages in several formats, and a query that tells which have come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.sparkext.listening import PROV_TIME, E, S

if TYPE_CHECKING:
    from sparkext import Engine

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
ALL = f"""
PREFIX : <{E}>
REGISTER RSTREAM :all AS SELECT ?s ?v
FROM NAMED WINDOW :w ON <{S}> [ALL] WHERE {{ WINDOW :w {{ ?s :value ?v }} }}
"""


def reading(number: int, at: int | None = None) -> str:
    """A reading as N-Triples, with its time unless that is elsewhere; at 1000 ms times its number if not said."""
    moment = number * 1000 if at is None else at
    return (
        f'<{E}r{number}> <{E}value> "{number}"^^<{INTEGER}> .\n'
        f'<{E}r{number}> <{PROV_TIME}> "{moment}"^^<{INTEGER}> .\n'
    )


def document(*numbers: int) -> str:
    """Readings as N-Quads, each a graph with its time."""
    return "".join(
        f'<{E}r{n}> <{E}value> "{n}"^^<{INTEGER}> <{E}g{n}> .\n'
        f'<{E}g{n}> <{PROV_TIME}> "{n * 1000}"^^<{INTEGER}> .\n'
        for n in numbers
    )


def values(engine: Engine) -> Callable[[], list[int]]:
    """Registers `ALL`; the result tells the values that the last evaluation saw."""
    query = engine.register_query(ALL)

    def seen() -> list[int]:
        engine.finish()
        last = query.last_answers
        rows = [] if last is None else last.rows()
        return sorted(int(str(value).split('"')[1]) for _, value in rows)

    return seen


def until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait until something has come about; it is an error if it has not in a long time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
