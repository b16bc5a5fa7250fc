"""An element whose time cannot be right silences nothing, whichever way it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.command_line.replay import report_lines
from sparkext.errors import LiveViewError, StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.streams.replay import ReplayOptions
from tests.sparkext.command_line.command_inputs import (
    QUERY,
    SIGHTINGS,
    STREAM,
    Command,
    small_world,
)
from tests.sparkext.listening import E, S, T, listen, query, settings, triple
from tests.sparkext.recorded_streams.whole_replay import (
    element,
    quad,
    replay_files,
    write_elements,
)
from tests.sparkext.streams.fed_documents import feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

NOW = 1_769_853_600_000
MICROSECONDS = NOW * 1000
HOUR = 3_600_000
DAY = 24 * HOUR


def dated(time: int, name: str = "x") -> StreamElement:
    return StreamElement(time, None, (triple(name, "at", "room"),))


def wall_clock() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("many", [True, False])
def test_microseconds_are_set_aside_and_the_stream_goes_on(
    engine: Engine, first: bool, many: bool
) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }"))
    times = [NOW + second * 1000 for second in range(5)]
    if not first:
        stream.push(triple("x", "at", "room"), time=times.pop(0))
    if many:
        report = stream.push_elements([dated(MICROSECONDS + n) for n in range(3)])
    else:
        reports = [stream.push(triple("x", "at", "r"), time=MICROSECONDS + n) for n in range(3)]
        assert [r.malformed for r in reports] == [1, 1, 1]
        report = reports[0]
    assert (report.accepted, report.late) == (0, 0)
    for time in times:
        assert stream.push(triple("x", "at", "room"), time=time).accepted == 1
    engine.finish()
    assert [answers.time for answers in heard] == [NOW + second * 1000 for second in range(5)]
    assert (stream.accepted_count, stream.malformed_count, stream.late_count) == (5, 3, 0)
    assert len(stream.set_aside) == 3
    assert stream.set_aside[0] == (
        f"element at {MICROSECONDS} ms: more than 36500d (spark.cqels.maxAhead) after the clock:"
        " not milliseconds?"
    )


def test_in_a_batch_only_what_is_ahead_is_set_aside(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }"))
    report = stream.push_elements([dated(MICROSECONDS), dated(NOW), dated(NOW + 1)])
    assert (report.accepted, report.malformed, report.late) == (2, 1, 0)
    assert stream.push(triple("x", "at", "room"), time=NOW + 2).accepted == 1
    engine.finish()
    assert [answers.time for answers in heard] == [NOW, NOW + 1, NOW + 2]


def test_an_odd_element_of_one_stream_does_not_move_a_query_over_two(engine: Engine) -> None:
    first, second = engine.register_stream(S), engine.register_stream(T)
    heard = listen(
        engine, query("WINDOW :w { ?x :at ?y } WINDOW :v { ?x :at ?z }", "[NOW] and [NOW]")
    )
    assert second.push(triple("x", "at", "room"), time=MICROSECONDS).malformed == 1
    for time in (NOW, NOW + 1):
        first.push(triple("x", "at", "room"), time=time)
        second.push(triple("x", "at", "hall"), time=time)
    engine.finish()
    assert [(answers.time, len(answers)) for answers in heard] == [(NOW, 1), (NOW + 1, 1)]


@pytest.mark.parametrize("promise", ["engine", "stream"])
def test_a_promise_of_microseconds_is_refused(engine: Engine, promise: str) -> None:
    stream = engine.register_stream(S)
    promised = engine if promise == "engine" else stream
    with pytest.raises(StreamElementError, match=f"advance_to {MICROSECONDS} ms: more than 36500d"):
        promised.advance_to(MICROSECONDS)
    assert stream.push(triple("x", "at", "room"), time=NOW).accepted == 1


def test_the_limit_is_measured_from_the_clock(spark: SparkSession) -> None:
    from sparkext import Engine

    with settings(spark, maxAhead="1h"), closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        near = datetime.now(UTC) + timedelta(minutes=50)
        assert stream.push(triple("x", "at", "room"), time=near).accepted == 1
        # No step by step either: what is ahead of the clock stays so.
        assert (
            stream.push(triple("x", "at", "room"), time=near + timedelta(minutes=50)).malformed == 1
        )
        assert "more than 1h" in stream.set_aside[-1]
        assert stream.push(triple("x", "at", "room"), time=near).accepted == 1


def test_without_a_limit_every_time_is_taken(spark: SparkSession) -> None:
    from sparkext import Engine

    with settings(spark, maxAhead="0"), closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        assert stream.push(triple("x", "at", "room"), time=MICROSECONDS).accepted == 1
        assert stream.push(triple("x", "at", "room"), time=NOW).late == 1


def test_a_batch_of_a_source_goes_on_without_what_is_ahead(
    spark: SparkSession, engine: Engine
) -> None:
    """What a streaming DataFrame brings, columns or documents, comes this way."""
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :p ?y }"))
    for times in ([MICROSECONDS, NOW], [NOW + 1, MICROSECONDS], [NOW + 2]):
        feed(spark, stream, [element("g", time).encode() for time in times] + [quad("g").encode()])
    engine.finish()
    assert [answers.time for answers in heard] == [NOW, NOW + 1, NOW + 2]
    assert (stream.accepted_count, stream.malformed_count, stream.late_count) == (3, 5, 0)


def test_a_live_view_is_not_shut_by_a_promise_of_microseconds(engine: Engine) -> None:
    view = engine.live_view("ahead", "x STRING, t BIGINT", "t", "30s")
    view.append([("a", NOW)])
    for wrong in (MICROSECONDS, 1 << 80, float("nan")):
        with pytest.raises(LiveViewError, match="time"):
            view.advance_to(wrong)  # type: ignore[arg-type]
    view.advance_to(NOW)
    view.append([("b", NOW)])
    assert view.row_count == 2


def test_a_time_that_is_no_moment_is_refused(engine: Engine) -> None:
    import pandas as pd

    stream = engine.register_stream(S)
    for wrong in (float("nan"), pd.NaT, "now", 1.5):
        with pytest.raises(StreamElementError, match="a time is"):
            stream.push(triple("x", "at", "room"), time=wrong)  # type: ignore[arg-type]
    assert stream.push(triple("x", "at", "room"), time=-5).accepted == 1


@pytest.fixture
def replaying(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    with closing(Engine(spark)) as made:
        made.register_stream(S)
        made.register_stream(T)
        yield made


@pytest.mark.parametrize("arrival_order", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        [MICROSECONDS],
        [MICROSECONDS + n for n in range(2)],
        [
            -(62_135_596_800_000)
        ],  # the first of January of the year 1, which many systems write for none
    ],
)
def test_odd_elements_of_a_recording_silence_nothing(
    replaying: Engine, tmp_path: Path, odd: list[int], arrival_order: bool
) -> None:
    """First of all in the file, where nothing has been seen yet, and between others."""
    heard = listen(replaying, query("WINDOW :w { ?x :at ?y }"))
    right = [NOW + month * 30 * DAY for month in range(6)]  # gaps of months are no reason
    elements = [dated(time) for time in (*odd, *right[:3], *odd, *right[3:])]
    # A year 1 in the middle comes too late, as any old element does.
    file = write_elements(tmp_path / "s.nq", elements)
    found = replay_files(replaying, {S: [file]}, ReplayOptions(arrival_order=arrival_order))
    assert [answers.time for answers in heard if answers.time > 0] == right
    stream = replaying.stream(S)
    late = len(odd) if odd[0] < 0 and arrival_order else 0
    assert stream.late_count == late
    assert stream.malformed_count == (0 if odd[0] < 0 else 2 * len(odd))
    if odd[0] > 0:
        first, reason, *_ = report_lines(replaying, found)
        assert first == f"stream <{S}>: {2 * len(odd)} malformed, set aside:"
        assert "(spark.cqels.maxAhead) after the newest time before it" in reason


def test_a_recording_of_another_age_is_replayed(replaying: Engine, tmp_path: Path) -> None:
    """Whatever the clock says."""
    heard = listen(replaying, query("WINDOW :w { ?x :at ?y }"))
    times = [MICROSECONDS + hour * HOUR for hour in range(3)]
    replay_files(replaying, {S: [write_elements(tmp_path / "s.nq", map(dated, times))]})
    assert [answers.time for answers in heard] == times


def test_a_derived_stream_takes_the_instants_of_its_query(spark: SparkSession) -> None:
    """An instant may lie ahead by the width of a window: it is no claim of a source."""
    from sparkext import Engine

    with settings(spark, maxAhead="1min"), closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        made = "FROM NAMED WINDOW :w ON :s [RANGE P2D STEP P2D] WHERE { WINDOW :w { ?x :at ?y } }"
        engine.register_query(
            f"PREFIX : <{E}> REGISTER RSTREAM :d AS CONSTRUCT {{ ?x :was ?y }} {made}"
        )
        read = "SELECT * FROM NAMED WINDOW :w ON :d [NOW] WHERE { WINDOW :w { ?x :was ?y } }"
        heard = listen(engine, f"PREFIX : <{E}> REGISTER RSTREAM :r AS {read}")
        stream.push(triple("x", "at", "room"), time=wall_clock())
        engine.finish()
        assert [len(answers) for answers in heard] == [1]
        assert engine.stream(f"{E}d").malformed_count == 0


@pytest.mark.parametrize("order", [[], ["--arrival-order"]])
def test_a_recorded_file_with_an_element_in_microseconds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    order: list[str],
) -> None:
    world = small_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    world.write("query.rspql", QUERY)
    command = Command(capsys)
    arguments = ["query.rspql", "--static", "people.ttl"]
    arguments += [
        "--static-graph",
        f"{rooms(QUERY)}=rooms.ttl",
        "--stream",
        f"{STREAM}=sightings.trig",
    ]
    whole = command("run", *arguments, *order)
    head, _, rest = SIGHTINGS.partition(":g1")
    odd = f":odd prov:generatedAtTime {MICROSECONDS} .\n:odd {{ :ann loc:at :r1 }}\n"
    world.write("sightings.trig", f"{head}{odd}:g1{rest}")
    done = command("run", *arguments, *order)
    assert (done.status, done.out) == (0, whole.out)
    assert f"stream <{STREAM}>: 1 malformed, set aside:" in done.err
    if order:
        return  # one element comes late: the oracle would have it
    world.write("answers.jsonl", done.out)
    judged = command("check", *arguments, "--answers", "answers.jsonl")
    assert (judged.status, judged.err) == (
        0,
        f"cqels: stream <{STREAM}>: 1 ahead of time, set aside\n",
    )
    assert judged.out.startswith("correct: ")


def rooms(text: str) -> str:
    from tests.sparkext.command_line.command_inputs import ROOMS

    assert ROOMS in text
    return ROOMS
