"""Triples to change, and a query whose answers show which graph it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sparkext.paper_examples.test_rspql_examples import E

if TYPE_CHECKING:
    from sparkext import Engine

ROOMS = f"""PREFIX : <{E}> SELECT ?p ?room FROM NAMED WINDOW :w ON <{E}seen> [NOW]
  {{ WINDOW :w {{ ?p :at ?place }} GRAPH :plan {{ ?place :in ?room }} }}"""


def triple(subject: str, predicate: str, object_: str | int) -> str:
    shown = f"<{E}{object_}>"
    if isinstance(object_, int):
        shown = f'"{object_}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return f"<{E}{subject}> <{E}{predicate}> {shown} ."


def local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">").strip('"')


class Watched:
    """A query over sightings whose answers are kept by instant."""

    def __init__(self, engine: Engine, text: str, stream: str = "seen") -> None:
        self.stream = engine.register_stream(f"{E}{stream}")
        self.query = engine.register_query(text)
        self.told: dict[int, list[str]] = {}
        self.query.subscribe(
            lambda a: self.told.__setitem__(
                a.time, sorted(" ".join(map(local, row)) for row in a.rows())
            )
        )

    def sight(self, time: int, *lines: str) -> list[str]:
        self.stream.push("\n".join(lines), time)
        self.stream.advance_to(time)
        return self.told[time]
