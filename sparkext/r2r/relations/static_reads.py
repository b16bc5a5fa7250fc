"""Which static tables a query or a kept part reads, so that a change touches only what it concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from static_data.storage.row_edits import TableKey


@dataclass(frozen=True)
class StaticRead:
    """Triples of a graph by its id (None: of every named graph) with a predicate, by its text (None: any).

    The predicate is known by its text: its id may come only with the change.
    """

    graph: int | None
    predicate: str | None

    def touches(self, tables: Iterable[TableKey], lookup: Callable[[str], int]) -> bool:
        """Whether it reads one of these tables.

        >>> read = StaticRead(None, "<http://e/p>")
        >>> read.touches([(5, 7)], lambda text: 7), read.touches([(0, 7), (5, 8)], lambda text: 7)
        (True, False)
        """
        wanted = None if self.predicate is None else lookup(self.predicate)
        return any(
            (graph == self.graph if self.graph is not None else graph != 0)
            and wanted in (None, predicate)
            for graph, predicate in tables
        )
