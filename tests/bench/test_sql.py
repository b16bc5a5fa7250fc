"""The batches of the bench of Spark SQL."""

from __future__ import annotations

import pyarrow.compute as pc

from bench.sql import VIEWS, batches


def test_windows_hold_what_arrived_in_their_width() -> None:
    made = list(batches(rate=50, count=3, sensors=1_000, people=100, seed=1))
    assert [batch.time for batch in made] == [60_000, 61_000, 62_000, 63_000]
    for batch in made:
        assert set(batch.now) == set(batch.held) == set(VIEWS)
        assert batch.held["readings"] is batch.now["readings"]
        assert batch.now["readings"].num_rows == 50
        for name, width in (("presence", 30_000), ("alarms", 60_000)):
            held, now = batch.held[name], batch.now[name]
            assert held.num_rows == now.num_rows * width // 1_000
            assert pc.min(held["at"]).as_py() == batch.time - width + 1_000
            assert pc.max(held["at"]).as_py() == batch.time


def test_the_same_seed_gives_the_same_batches() -> None:
    first, second = (next(batches(20, 1, 1_000, 100, 5)).held for _ in range(2))
    assert first == second
    assert next(batches(20, 1, 1_000, 100, 6)).held != first
