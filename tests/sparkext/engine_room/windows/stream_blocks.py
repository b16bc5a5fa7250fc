"""Stream elements and the block of text in which they enter a stream's log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Element:
    """A timestamped graph: its triples, those of the default graph (its times), texts as N-Triples."""

    time: int
    graph: str | None
    triples: list[Triple]
    times: list[Triple] = field(default_factory=list)


def iri(name: str) -> str:
    """An IRI in N-Triples form."""
    return f"<http://example.org/{name}>"


def block(elements: Iterable[Element]) -> str:
    """The text that `StreamLog.append` takes."""
    lines = []
    for element in elements:
        sizes = f"{len(element.triples)} {len(element.times)}"
        lines.append(f"@{element.time} {element.graph or '-'} {sizes}")
        lines += [f"{s} {p} {o} ." for s, p, o in element.triples + element.times]
    return "\n".join(lines)
