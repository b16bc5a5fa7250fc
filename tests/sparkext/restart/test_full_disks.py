"""A disk that is full: nothing is lost as long as the process lives, and commits go on when there is room again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.errors import CheckpointError
from tests.sparkext.listening import S, listen, query, settings, triple
from tests.sparkext.sinks.small_disks import enlarge, small_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = query("WINDOW :w { ?x :at ?y }", "[LANDMARK 0]", "(COUNT(*) AS ?n)")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "256k") as made:
        yield made


def push(engine: Engine, times: range) -> None:
    for time in times:
        lines = [triple(f"x{time}-{n}", "at", f"place{(time * 7919 + n) ** 3}") for n in range(200)]
        engine.stream(S).push("\n".join(lines), time, position=time)
    engine.advance_to(times[-1])


def test_a_disk_that_is_full_for_a_while(spark: SparkSession, disk: Path) -> None:
    folder = disk / "kept"
    with settings(spark, **{"checkpoint.interval": "1 h"}):
        engine = Engine(spark, checkpoint=folder)
        engine.register_stream(S)
        heard = listen(engine, TEXT)
        push(engine, range(1, 5))
        engine.commit()
        failures = 0
        for begin in range(5, 205, 20):
            push(engine, range(begin, begin + 20))
            try:
                engine.commit()
            except CheckpointError as error:
                failures += 1
                assert "could not be written" in str(error)
        assert failures > 0, "the disk was never full"
        assert engine.checkpoint_report.failure is not None
        assert len(heard) == 204  # answers are given all the while
        enlarge(disk)
        engine.commit()
        assert engine.checkpoint_report.failure is None
        engine.close()
        with closing(Engine(spark, checkpoint=folder)) as again:
            stream = again.register_stream(S)
            more = listen(again, TEXT)
            assert stream.position == 204
            push(again, range(205, 206))
            assert int(more[-1].rows()[0][0].split('"')[1]) == 205 * 200
