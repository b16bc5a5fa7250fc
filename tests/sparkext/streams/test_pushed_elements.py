"""What may be pushed into a stream, and what becomes of what may not: times, texts, terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sparkext.errors import StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.s2r.event_time import GREATEST_TIME
from tests.sparkext.listening import settings
from tests.sparkext.recorded_streams.whole_replay import replay_files, write_elements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

E = "http://e/"
S = f"{E}s"
TRIPLE = (f"{E}a", f"{E}p", f"{E}o")
QUERY = f"""
PREFIX : <{E}>
REGISTER RSTREAM :q AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ WINDOW :w {{ ?s :p ?o }} }}
"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    made.register_stream(S)
    yield made
    made.close()


def listen(engine: Engine) -> list[Answers]:
    """Register the query; the list fills with its answers."""
    heard: list[Answers] = []
    engine.register_query(QUERY).subscribe(heard.append)
    return heard


def test_an_engine_is_advanced_to_what_its_streams_are(engine: Engine) -> None:
    heard = listen(engine)
    engine.push(S, TRIPLE, time=1000)
    for wrong in (1000.5, "1970-01-01T00:00:01Z", True):
        with pytest.raises(StreamElementError, match="whole number of milliseconds or a datetime"):
            engine.advance_to(wrong)  # type: ignore[arg-type]
    assert heard == []
    engine.advance_to(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert [answers.time for answers in heard] == [1000]
    assert engine.push(S, TRIPLE, time=1000).late == 1  # type: ignore[attr-defined]


def objects(heard: list[Answers]) -> list[list[str | None]]:
    return [sorted(row["o"] for row in answers) for answers in heard]


def test_lines_end_where_n_triples_says(engine: Engine) -> None:
    """Other characters at which Python cuts lines are legal in literals."""
    heard = listen(engine)
    held = '"a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b"'
    lines = (f"<{E}a> <{E}p> {o} ." for o in (held, '"1"', '"2"', '"3"'))
    text = "{}\r\n{}\r{}\n \t\n{}\n".format(*lines)
    assert engine.push(S, text, time=1).accepted == 1  # type: ignore[attr-defined]
    engine.finish()
    assert objects(heard) == [['"1"', '"2"', '"3"', held]]


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ('"a\nb"', r'"a\nb"'),
        ('"a\r\nb\\n\\\\"@en', r'"a\r\nb\n\\"@en'),
        (f'"\n"^^<{E}d>', rf'"\n"^^<{E}d>'),
        (f'<< <{E}a> <{E}p> "\n\\"\n" >>', rf'<< <{E}a> <{E}p> "\n\"\n" >>'),
        ('"a"\n', '"a"'),
        (f"{E}o\r\n", f"<{E}o>"),
    ],
)
def test_a_line_break_in_a_literal_stays_one(engine: Engine, term: str, found: str) -> None:
    heard = listen(engine)
    assert engine.push(S, (f"{E}a", f"{E}p", term), time=1).accepted == 1  # type: ignore[attr-defined]
    engine.finish()
    assert objects(heard) == [[found]]


@pytest.mark.parametrize(
    "term",
    [
        '"a\\\nb"',  # an escaped line break, or a backslash and a line break
        '"a"\n@en',
        "a\nb",
        f"<{E}a\nb>",
        f"<{E}o>\n<{E}o>",
        '"a\nb',
    ],
)
def test_a_line_break_elsewhere_costs_its_element(engine: Engine, term: str) -> None:
    heard = listen(engine)
    stream = engine.stream(S)
    both = [(f"{E}a", f"{E}p", 1), (f"{E}a", f"{E}p", term)]
    assert stream.push(both, time=1).malformed == 1
    assert stream.push(TRIPLE, time=2).accepted == 1
    assert (stream.accepted_count, stream.malformed_count) == (1, 1)
    (reason,) = stream.set_aside
    assert "element at 1 ms: a line break in " in reason
    engine.finish()
    assert objects(heard) == [[f"<{E}o>"]]


def test_elements_of_a_batch_whose_lines_are_none_are_set_aside(engine: Engine) -> None:
    heard = listen(engine)
    stream = engine.stream(S)
    lines = [f"<{E}a> <{E}p> {o} ." for o in ('"1"', '"2\n3"', '"4"')]
    elements = [StreamElement(5, None, (lines[0] + "\n",)), StreamElement(5, None, (lines[1],))]
    elements.append(StreamElement(5, f"<{E}g>", (lines[2],), None, (lines[1],)))
    report = stream.push_elements(elements)
    assert (report.accepted, report.malformed, report.late) == (1, 2, 0)
    assert len(stream.set_aside) == stream.malformed_count == 2
    engine.finish()
    assert objects(heard) == [['"1"']]


def dated(time: object) -> StreamElement:
    return StreamElement(time, None, (f"<{E}a> <{E}p> <{E}o> .",))  # type: ignore[arg-type]


@pytest.mark.parametrize("time", [1_769_853_600_000_000_000, GREATEST_TIME + 1, -(1 << 53)])
def test_a_time_beyond_the_greatest_is_refused(engine: Engine, time: int) -> None:
    heard = listen(engine)
    stream = engine.stream(S)
    for refused in (lambda: stream.push(TRIPLE, time), lambda: stream.advance_to(time)):
        with pytest.raises(StreamElementError, match=f"{time} is no number of milliseconds"):
            refused()
    assert (stream.accepted_count, stream.malformed_count, stream.late_count) == (0, 0, 0)
    assert stream.push(TRIPLE, time=5).accepted == 1
    engine.finish()
    assert [answers.time for answers in heard] == [5]


def test_elements_of_a_batch_without_a_proper_time_are_set_aside(engine: Engine) -> None:
    heard = listen(engine)
    stream = engine.stream(S)
    times: list[object] = [1, 10**18, 2, -(10**18), 2.5, True]
    report = stream.push_elements([*map(dated, times), dated(np.int64(3))])
    assert (report.accepted, report.malformed, report.late) == (3, 4, 0)
    assert stream.malformed_count == len(stream.set_aside) == 4
    assert f"element at {10**18} ms: {10**18} is no number of milliseconds" in stream.set_aside[0]
    assert "a whole number of milliseconds or a datetime, not 2.5" in stream.set_aside[2]
    engine.finish()
    assert [answers.time for answers in heard] == [1, 2, 3]


def test_an_element_of_a_batch_with_a_graph_name_that_is_none_is_set_aside(engine: Engine) -> None:
    stream = engine.stream(S)
    elements = [StreamElement(1, f"<{E}{name}>", ()) for name in ("g h", "g\nh", "g\u2028h", "g")]
    report = stream.push_elements(elements)
    assert (report.accepted, report.malformed) == (2, 2)
    assert stream.set_aside[0] == f"element at 1 ms: '<{E}g h>' is no graph name"


def test_recorded_elements_of_the_first_and_the_last_time_there_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The replay says before each time that nothing older comes, where there is anything older."""
    from sparkext import Engine

    times = [-GREATEST_TIME, GREATEST_TIME]
    with settings(spark, maxAhead="0"), closing(Engine(spark)) as engine:
        engine.register_stream(S)
        heard = listen(engine)
        replay_files(engine, {S: [write_elements(tmp_path / "s.nq", map(dated, times))]})
        assert [answers.time for answers in heard] == times
        assert engine.stream(S).malformed_count == 0


def test_many_elements_go_over_in_blocks(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkext.runtime.streams.element_text._BLOCK", 3)
    heard = listen(engine)
    lines = [f"<{E}s> <{E}p> <{E}o{number}> ." for number in range(8)]
    lines[4] = f"<{E}s> {E}p <{E}bad> ."
    stream = engine.register_stream(S)
    report = stream.push_elements(
        [StreamElement(1000 - n, None, (t,)) for n, t in enumerate(lines)]
    )
    assert (report.accepted, report.malformed, report.late) == (7, 1, 0)
    assert "element at 996 ms, column 14" in stream.set_aside[-1]
    engine.advance_to(1000)
    found = {row[0] for answers in heard for row in answers.rows()}
    assert found == {f"<{E}o{number}>" for number in range(8) if number != 4}
