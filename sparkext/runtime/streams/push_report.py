"""What became of pushed elements, in numbers and in words, and who is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PushReport:
    """What became of pushed elements: taken in, set aside as malformed, too late."""

    accepted: int = 0
    malformed: int = 0
    late: int = 0


class Evaluations(Protocol):
    """Who evaluates queries over a stream: told what arrives, and when to look what is due."""

    def settled_up_to(self, iri: str) -> int: ...
    def due_bound(self, iri: str) -> int: ...
    def note_arrivals(self, iri: str, times: Sequence[int], counts: Sequence[int]) -> None: ...
    def evaluate_due(self) -> None: ...


def reason_of(time: int | None, column: int, reason: str) -> str:
    if time is None:  # a row of a table
        return reason if column < 0 else f"row {column}: {reason}"
    place = f", column {column}" if column else ""
    return f"element at {time} ms{place}: {reason}"
