"""Clocks that are set, summer time that ends, days that there are every four years: no element or instant is lost."""

from __future__ import annotations

import time as clocks
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from sparkext.runtime.parts import pushed_times
from sparkext.runtime.parts.pushed_times import ArrivalClock
from tests.sparkext.listening import E, S, listen, query, triple
from tests.sparkext.recorded_streams.whole_replay import replay_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

HOUR = 3_600_000
BERLIN = ZoneInfo("Europe/Berlin")
COUNT = "(COUNT(*) AS ?n)"


def number_of(literal: str) -> int:
    return int(literal.split('"')[1])


@pytest.mark.parametrize("step", [-3600, -1, 0, 3600])
def test_elements_without_a_time_while_the_clock_is_set(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """None is late, and they follow each other as they came."""
    at_first = 1_769_853_600_000
    walls = (at_first + 10 * n + (step * 1000 if n > 4 else 0) for n in count())
    steady = count(0, 10_000_000)
    clock = ArrivalClock(lambda: next(walls) * 1_000_000, lambda: next(steady))
    monkeypatch.setattr(pushed_times, "_arrivals", clock)
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }", "[RANGE 7200000]", "?x"))
    for number in range(10):
        stream.push(triple(f"x{number}", "at", "r"))
    engine.finish()
    assert stream.late_count == 0
    times = [answers.time for answers in heard]
    assert times == sorted(times)
    assert {row[0] for row in heard[-1].rows()} == {f"<{E}x{n}>" for n in range(10)}


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def zone(
    spark: SparkSession, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The time zone of the process and of the session."""
    before = spark.conf.get("spark.sql.session.timeZone")
    monkeypatch.setenv("TZ", request.param)
    clocks.tzset()
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    monkeypatch.undo()
    clocks.tzset()
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(
    "first", [datetime(2026, 10, 24, 23, tzinfo=UTC), datetime(2027, 3, 27, 23, tzinfo=UTC)]
)
def test_hours_are_hours_when_summer_time_ends_and_begins(
    engine: Engine, zone: str, first: datetime
) -> None:
    """Given in local time, in which an hour comes twice, or not at all."""
    stream = engine.register_stream(S)
    heard = listen(
        engine, query("WINDOW :w { ?x :at ?y }", "[RANGE PT2H STEP PT1H]", COUNT), "counts"
    )
    begin = round(first.timestamp() * 1000)
    for quarter in range(16):
        local = (first + timedelta(minutes=15 * quarter)).astimezone(BERLIN)
        stream.push(triple(f"x{quarter}", "at", "r"), local)
    engine.finish()
    assert stream.late_count == 0
    counted = {(a.time - begin) // HOUR: number_of(a.rows()[0][0]) for a in heard}
    assert [counted[hour] for hour in (1, 2, 3)] == [5, 8, 8]


def test_leap_days(engine: Engine, zone: str) -> None:
    stream = engine.register_stream(S)
    said = query(
        "WINDOW :w { ?x :since ?t } BIND(MONTH(?t) AS ?m) BIND(DAY(?t) AS ?d)",
        "[RANGE PT24H STEP PT24H]",
        "?m ?d",
    )
    heard = listen(engine, said)
    day = datetime(2028, 2, 28, 12, tzinfo=UTC)
    for number in range(4):
        at = day + timedelta(days=number)
        text = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        literal = f'"{text}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        stream.push(f"<{E}x{number}> <{E}since> {literal} .", at)
    engine.finish()
    found = [tuple(map(number_of, row)) for answers in heard for row in answers.rows()]
    assert found == [(2, 28), (2, 29), (3, 1), (3, 2)]


@pytest.mark.parametrize(("year", "is_leap"), [(2028, True), (2027, False), (2100, False)])
def test_a_day_that_is_none_is_no_time(
    engine: Engine, tmp_path: Path, year: int, is_leap: bool
) -> None:
    """An element of such a day is set aside, and others go on."""
    lines = []
    for number, day in enumerate([f"{year}-02-28", f"{year}-02-29", f"{year}-03-01"]):
        graph = f"<{E}g{number}>"
        lines.append(f"<{E}x{number}> <{E}at> <{E}r> {graph} .")
        lines.append(
            f"{graph} <http://www.w3.org/ns/prov#generatedAtTime>"
            f' "{day}T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
        )
    file = tmp_path / "days.nq"
    file.write_text("\n".join(lines) + "\n")
    stream = engine.register_stream(S)
    listen(engine, query("WINDOW :w { ?x :at ?y }"))
    found = replay_files(engine, {S: [file]})[S]
    assert [f"{year}-02-29T12" in str(flaw) for flaw in found.set_aside] == (
        [] if is_leap else [True]
    )
    assert stream.accepted_count == (3 if is_leap else 2)
