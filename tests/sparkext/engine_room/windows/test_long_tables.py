"""Rows of longs, one after the other."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.engine_room.live_room import LiveRoom


def test_more_cells_than_an_array_has_are_refused(live: LiveRoom) -> None:
    table = live.cqels.memory.LongTable(2, 16)
    for rows in (1 << 30, (1 << 31) - 1):
        with pytest.raises(Py4JJavaError, match="cells in one relation"):
            table.appendAll(table.data(), 0, rows)
    assert table.rowCount() == 0
