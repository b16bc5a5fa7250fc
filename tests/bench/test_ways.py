"""The bench of ways in: one set of readings in every form, all of it arrives, and what does not is noticed."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from bench import ways
from bench.__main__ import discover
from bench.ways_in.engine import AnswersDifferError
from bench.ways_in.readings import AREAS, EXAMPLE, WINDOW_MS, Readings
from bench.ways_in.replaying import NAME as REPLAY
from bench.ways_in.replaying import record
from bench.ways_in.ways import PushElements
from sparkext.recorded_streams import read_recorded_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW = 300


def test_windows_follow_each_other_and_end_where_their_readings_do() -> None:
    first, second = (Readings.of_window(number, WINDOW) for number in (0, 1))
    times = np.concatenate([first.time, second.time])
    assert (np.diff(times) >= 0).all()
    assert first.end_ms % WINDOW_MS == 0 and second.end_ms == first.end_ms + WINDOW_MS
    for readings in (first, second):
        assert readings.end_ms - WINDOW_MS < readings.time[0]
        assert readings.time[-1] < readings.end_ms == readings.first(1).end_ms
    assert len(first.first(7)) == 7


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    windows = [Readings.of_window(number, WINDOW) for number in (0, 1)]
    record(windows, tmp_path / "readings.nq")
    recorded = read_recorded_stream(tmp_path / "readings.nq").elements
    lines = [line for readings in windows for line in readings.lines()]
    times = [time for readings in windows for time in readings.time.tolist()]
    assert [element.triples for element in recorded] == [(line,) for line in lines]
    assert [element.time_ms for element in recorded] == times
    readings = windows[0]
    for dictionary in (False, True):
        rows = zip(*readings.terms(dictionary).to_pydict().values(), strict=True)
        assert [(f"{s} {p} {o} .", t) for s, p, o, t in rows] == list(
            zip(readings.lines(), readings.time.tolist(), strict=True)
        )
    mapped = [
        f"<{EXAMPLE}sensor/{row['sensor']}> <{EXAMPLE}at> <{EXAMPLE}place/{row['place']}> ."
        for row in readings.numbers().to_pylist()
    ]
    assert mapped == readings.lines()
    observed = [table.column("number").to_pylist() for table in (w.numbered() for w in windows)]
    assert len(set(observed[0] + observed[1])) == 2 * WINDOW
    assert windows[0].numbered().drop_columns("number").equals(readings.numbers())


def test_answers_are_those_worked_out_by_hand() -> None:
    readings = Readings.of_window(3, 20_000)
    by_area: dict[int, set[tuple[int, int]]] = {area: set() for area in range(AREAS)}
    for sensor, place in zip(readings.sensor.tolist(), readings.place.tolist(), strict=True):
        by_area[place % AREAS].add((sensor, place))
    assert sum(map(len, by_area.values())) < len(readings)  # some occur twice
    assert readings.answer_counts().tolist() == [len(by_area[area]) for area in range(AREAS)]
    assert readings.answers(17) == Counter(
        (f"<{EXAMPLE}sensor/{sensor}>", f"<{EXAMPLE}place/{place}>")
        for sensor, place in by_area[17]
    )
    each = readings.answers(17, each=True)
    assert set(each) == set(readings.answers(17))
    assert readings.answer_counts(each=True)[17] == each.total()
    assert readings.answer_counts(each=True).sum() == len(readings)


@pytest.mark.parametrize("name", ways.NAMES)
def test_a_row_of_each_way(spark: SparkSession, name: str) -> None:
    taken = ways.measure(spark, name, 2, WINDOW, 0.05)
    row = taken.row(name, 2)
    assert tuple(row) == ways.COLUMNS
    assert row["elements"] == sum(map(len, taken.windows)) > 0
    assert row["us_per_element"] > row["evaluation_us"] > 0
    assert row["elements_per_s"] == pytest.approx(1e6 / row["us_per_element"], rel=0.01, abs=1)


def test_a_replayed_file_has_ten_windows(spark: SparkSession) -> None:
    taken = ways.measure(spark, REPLAY, 1, 100, 1e6)
    assert len(taken.windows) == 10 and sum(map(len, taken.windows)) == 1000


class Forgetful(PushElements):
    """Pushes every other one."""

    name: ClassVar[str] = "forgetful"

    def take(self, given: tuple[list[str], list[int]], until: float) -> int | None:
        lines, times = given
        return super().take((lines[::2], times[::2]), until)


class Confused(PushElements):
    """Pushes as many, but of other sensors."""

    name: ClassVar[str] = "confused"

    def in_hand(self, readings: Readings) -> tuple[list[str], list[int]]:
        other = Readings(readings.sensor + 1, readings.place, readings.time)
        return super().in_hand(other)


@pytest.mark.parametrize(
    ("way", "said"),
    [(Forgetful, r"query \d of 10 has"), (Confused, "other answers to the last window")],
)
def test_a_way_that_brings_in_something_else_is_found_out(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, way: Any, said: str
) -> None:
    monkeypatch.setattr(ways, "WAYS", (way,))
    with pytest.raises(AnswersDifferError, match=said):
        ways.measure(spark, way.name, 10, WINDOW, 0.01)


def test_options_choose_ways_and_numbers() -> None:
    parser = argparse.ArgumentParser()
    ways.add_arguments(parser)
    chosen = parser.parse_args(["--way", "push", "--way", REPLAY, "--queries", "7"])
    assert (chosen.way, chosen.queries) == (["push", REPLAY], [7])
    with pytest.raises(SystemExit):
        parser.parse_args(["--way", "by hand"])


def test_the_quick_run_is_without_observations() -> None:
    left_out = set(ways.NAMES) - set(ways.QUICK_NAMES)
    assert left_out == {"push_table, observations", "push_table, observations joined"}


def test_the_bench_is_discovered() -> None:
    assert discover()["ways"] is ways
