"""Windows filled by hand, and over a stream of numbers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri


class Window:
    """A window's table filled by hand, and a plain model of it."""

    def __init__(self, live: LiveRoom, name: str) -> None:
        self.live = live
        self.table = live.cqels.relations.WindowTable(2, False)
        self.content = live.cqels.relations.WindowContent(name, self.table)
        self.rows: set[tuple[int, int]] = set()

    def change(self, rows: set[tuple[int, int]]) -> None:
        """Have the window hold exactly these rows."""
        for row in sorted(rows - self.rows):
            self.table.insert(self._cells(row))
        for row in sorted(self.rows - rows):
            self.table.delete(self._cells(row))
        self.rows = rows

    def _cells(self, row: tuple[int, ...]) -> Any:
        cells = self.live.spark.sparkContext._gateway.new_array(self.live.jvm.long, len(row))
        for at, cell in enumerate(row):
            cells[at] = cell
        return cells


def ints(live: LiveRoom, *values: int) -> Any:
    """An array of the JVM."""
    numbers = live.spark.sparkContext._gateway.new_array(live.jvm.int, len(values))
    for at, value in enumerate(values):
        numbers[at] = value
    return numbers


def filled(live: LiveRoom, name: str, panes: dict[int, Iterable[int]]) -> tuple[Any, Any]:
    """A window over a stream with numbered subjects by time, the content of its one pattern; it is to be advanced."""
    stream = live.room.stream(iri(name))
    for time, numbers in panes.items():
        triples = [(iri(str(n)), iri("p"), iri("o")) for n in numbers]
        stream.append(block([Element(time, None, triples)]))
    window = stream.window("w")
    return window, live.room.windowPattern(window, "all", "0,0,0||0,2||set")


def random_rows(rng: random.Random, count: int, values: int, others: int) -> set[tuple[int, int]]:
    return {(rng.randrange(1, values), rng.randrange(1, others)) for _ in range(count)}
