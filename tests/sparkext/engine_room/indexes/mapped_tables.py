"""Tables in index files, made of pairs by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.sparkext.engine_room.live_room import LiveRoom

Pair = tuple[int, int]

BLOCK_ROWS = 1 << 20
"""A block is for about so many rows."""


def indexed(live: LiveRoom, pairs: Iterable[Pair], folder: Path, blocks: int = 1) -> Any:
    """An IndexedTable of pairs, as if there were enough for so many blocks."""
    rows = live.stock(sorted(pairs), "s", "o")
    told = blocks * BLOCK_ROWS
    return live.cqels.indexes.IndexedTable.of(rows._jdf, told, folder.as_uri())


def mapped(live: LiveRoom, pairs: Iterable[Pair], folder: Path, blocks: int = 1) -> Any:
    """A content of such a table."""
    table = indexed(live, pairs, folder, blocks)
    if not table.isMade():
        table.make()
    return live.cqels.indexes.MappedContent.of("mapped", table)


def scanned(live: LiveRoom, content: Any, slices: int = 1) -> list[Pair]:
    """All rows that a content gives, slice by slice."""
    table = live.cqels.memory.LongTable(2, 16)
    for number in range(slices):
        content.append(number, slices, table, 1 << 30)
    return [(row[0], row[1]) for row in live.rows(table)]
