"""A streamed replay finds, sets aside and answers what a replay of whole recordings does."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from sparkext.errors import InputFileError
from sparkext.recorded_streams import TIME_PROPERTIES, SetAside, read_recorded_stream
from sparkext.runtime.streams.replay import ReplayOptions
from static_data.files.on_error import OnError
from tests.sparkext.listening import E, S, T, listen, query, settings
from tests.sparkext.recorded_streams.whole_replay import replay_files, replay_whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = count()

NAMES = st.sampled_from([f"<{E}g{n}>" for n in range(6)] + ["_:g0", "_:g1", f"<{E}gé>"])
TERMS = st.sampled_from(
    [f"<{E}a>", f"<{E}b>", "_:x", "_:y", "_:g0", f"<< <{E}a> <{E}p> _:x >>", f"<{E}g1>"]
)
OBJECTS = st.one_of(
    TERMS,
    st.sampled_from(
        [
            '"o"',
            '"a\\u00E9\\t"@EN-gb',
            f'"1"^^<{XSD}integer>',
            f'"plain"^^<{XSD}string>',
            '"é_:x"',
            '"_:x"',
            f"<<( <{E}a> <{E}p> _:y )>>",
        ]
    ),
)
TIMES = st.one_of(
    st.integers(0, 60).map(lambda n: f'"{n}"^^<{XSD}integer>'),
    st.integers(0, 60).map(lambda n: f'"1970-01-01T00:00:00.{n:03d}Z"^^<{XSD}dateTime>'),
    st.sampled_from(
        [
            '"soon"',
            f'"2026-02-30T10:00:00"^^<{XSD}dateTime>',
            f'"+0007"^^<{XSD}unsignedLong>',
            f'"1969-12-31T24:00:00+00:01"^^<{XSD}dateTimeStamp>',
            f'"99999999999999999999"^^<{XSD}integer>',
        ]
    ),
)


@st.composite
def quads(draw: st.DrawFn) -> str:
    return f"{draw(TERMS)} <{E}p> {draw(OBJECTS)} {draw(NAMES)} ."


@st.composite
def dated(draw: st.DrawFn) -> str:
    return f"{draw(NAMES)} <{draw(st.sampled_from(TIME_PROPERTIES))}> {draw(TIMES)} ."


@st.composite
def elements(draw: st.DrawFn) -> list[str]:
    """The lines of an element as most files have them."""
    name = draw(NAMES)
    number = draw(st.integers(0, 10**6))
    if draw(st.integers(0, 3)):
        name = f"<{E}n{number}>"
    lines = [
        f"{draw(TERMS)} <{E}p> {draw(OBJECTS)} {name} ." for _ in range(draw(st.integers(1, 3)))
    ]
    lines.insert(
        draw(st.integers(0, len(lines))),
        f"{name} <{TIME_PROPERTIES[0]}> {draw(TIMES)} .",
    )
    if not draw(st.integers(0, 4)):
        lines.append(f'{name} <{E}by> "somebody" .')
    return lines


ODD = st.sampled_from(
    [
        "",
        "# a comment",
        "garbage",
        f'<{E}s> <{E}p> "o <{E}g1> .',
        f"<{E}g2> <{E}p> .",
        f'<{E}g3> <{TIME_PROPERTIES[0]}> "5"^^<{XSD}integer>',
        f'<{E}s> <p> "o" <{E}g2> . # why',
        f'<{E}nobody> <{E}p> "loose" .',
        f'<{E}g0> <{E}p> "about" .',
        f'_:g1 <{E}p> "about" .',
    ]
)


@st.composite
def recordings(draw: st.DrawFn) -> bytes:
    """Elements in and out of order, some mixed, some of their lines missing, flawed or twice."""
    blocks = draw(st.lists(elements(), max_size=8))
    lines = [line for block in blocks for line in block]
    for line in draw(st.lists(st.one_of(quads(), dated(), ODD), max_size=6)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    if draw(st.booleans()):
        Random(draw(st.integers(0, 1000))).shuffle(lines)
    content = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines).encode()
    if not draw(st.integers(0, 3)):
        content = content.replace(b'"o"', b'"\xff"', 1)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + content


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("__MACOSX/s.nq", "what a packer leaves")
        archive.writestr("s.nq", content)
    return out.getvalue()


PACKINGS = {
    "": lambda content: content,
    ".gz": lambda content: gzip.compress(content[:20]) + gzip.compress(content[20:]),
    ".bz2": lambda content: bz2.compress(content[:20]) + bz2.compress(content[20:]),
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    ".zip": zipped,
}


def rows(heard: Sequence[Answers]) -> list[tuple[int, Counter[tuple[str | None, ...]]]]:
    """Answers by time, blank nodes without their labels."""
    return [
        (
            answers.time,
            Counter(
                tuple(None if t is None else re.sub(r"_:\w+", "_:", t) for t in row.values())
                for row in answers
            ),
        )
        for answers in heard
    ]


def told(aside: Sequence[SetAside]) -> list[tuple[str, int | None, str | None, str]]:
    """What was set aside; of malformed lines, readers differ in the words."""
    return [
        (
            one.file,
            one.line,
            one.graph,
            "column" if one.reason.startswith("column ") else one.reason,
        )
        for one in aside
    ]


@pytest.fixture(scope="module")
def shared(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    with settings(spark, allowedLateness="10"), closing(Engine(spark)) as made:
        yield made


def fresh(engine: Engine) -> tuple[tuple[str, str], list[Answers], str]:
    """Two streams that nobody has used, a query over both, and what is heard of it."""
    number = next(_NUMBERS)
    first, second = f"{E}s{number}", f"{E}t{number}"
    for iri in (first, second):
        engine.register_stream(iri)
    text = (
        query(
            "{ WINDOW :w { GRAPH ?g { ?x ?p ?y } } } UNION { WINDOW :v { ?x ?p ?y } }",
            "[RANGE 7 STEP 3] and [RANGE 4]",
        )
        .replace("ON :s ", f"ON <{first}> ")
        .replace("ON :t ", f"ON <{second}> ")
    )
    name = f"{E}q{number}"
    return (first, second), listen(engine, text, name), name


@examples(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    contents=st.lists(
        st.tuples(recordings(), st.sampled_from(sorted(PACKINGS))), min_size=1, max_size=3
    ),
    places=st.lists(st.integers(0, 1), min_size=3, max_size=3),
    arrival_order=st.booleans(),
)
def test_streamed_and_whole_replays_agree(
    shared: Engine,
    tmp_path: Path,
    contents: list[tuple[bytes, str]],
    places: list[int],
    arrival_order: bool,
) -> None:
    files: list[list[Path]] = [[], []]
    for number, (content, packing) in enumerate(contents):
        file = tmp_path / f"{number}.nq{packing}"
        file.write_bytes(PACKINGS[packing](content) if content else content)
        files[places[number]].append(file)
    whole = [
        read_recorded_stream(named, in_time_order=not arrival_order, scope=f"r{place}")
        for place, named in enumerate(files)
    ]
    iris, heard, name = fresh(shared)
    replay_whole(shared, dict(zip(iris, whole, strict=True)), arrival_order)
    shared.stop_query(name)
    again, heard_again, name = fresh(shared)
    options = ReplayOptions(arrival_order=arrival_order)
    found = replay_files(shared, dict(zip(again, files, strict=True)), options)
    shared.stop_query(name)
    assert rows(heard_again) == rows(heard)
    for iri, other, recording in zip(iris, again, whole, strict=True):
        assert told(found[other].set_aside) == told(recording.set_aside)
        assert found[other].ignored_triples == recording.ignored_triples
        one, two = shared.stream(iri), shared.stream(other)
        assert (two.accepted_count, two.late_count, two.newest_time) == (
            one.accepted_count,
            one.late_count,
            one.newest_time,
        )


def quad(graph: str, subject: str = f"<{E}s>", object_: str = '"o"') -> str:
    return f"{subject} <{E}p> {object_} <{E}{graph}> .\n"


def at(graph: str, time: int) -> str:
    return f'<{E}{graph}> <{TIME_PROPERTIES[0]}> "{time}"^^<{XSD}integer> .\n'


def element(graph: str, time: int) -> str:
    return quad(graph, f"<{E}{graph}>") + at(graph, time)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def narrow(spark: SparkSession) -> Iterator[Engine]:
    """An engine that looks four elements ahead."""
    from sparkext import Engine

    with settings(spark, **{"replay.lookAhead": "4"}), closing(Engine(spark)) as made:
        made.register_stream(S)
        made.register_stream(T)
        yield made


NOW = query("WINDOW :w { ?x :p ?y }", "[NOW]")


def heard_at(heard: Sequence[Answers]) -> list[tuple[int, int]]:
    return [(answers.time, len(answers)) for answers in heard]


def test_what_comes_later_than_the_look_ahead_reaches_is_late(
    narrow: Engine, tmp_path: Path
) -> None:
    heard = listen(narrow, NOW)
    times = [10, 11, 12, 13, 9, *range(14, 40), 11, *range(40, 60)]
    text = "".join(element(f"g{n}", time) for n, time in enumerate(times))
    found = replay_files(narrow, {S: [write(tmp_path, "s.nq", text)]})
    assert heard_at(heard) == [(time, 1) for time in range(9, 60)]
    stream = narrow.stream(S)
    assert (stream.late_count, stream.accepted_count) == (1, len(times) - 1)
    assert found[S].set_aside_count == 0


def test_an_element_is_closed_when_so_many_others_have_begun(
    narrow: Engine, tmp_path: Path
) -> None:
    """Its parts are joined up to there; later its name is forgotten, and may be used again."""
    heard = listen(narrow, NOW)
    others = [element(f"g{n}", n) for n in range(20)]
    text = quad("a") + "".join(others[:3]) + at("a", 4) + "".join(others[3:8])
    text += (
        quad("b") + "".join(others[8:18]) + at("b", 17) + "".join(others[18:]) + element("g3", 20)
    )
    found = replay_files(narrow, {S: [write(tmp_path, "s.nq", text)]})
    assert heard_at(heard) == [(time, 2 if time == 4 else 1) for time in range(21)]
    assert [(one.graph, one.line, one.reason) for one in found[S].set_aside] == [
        (f"<{E}b>", 19, "no time"),
        (f"<{E}b>", 40, "a time, but no triple in a graph of that name"),
    ]


def test_many_files_and_streams_are_merged_on_the_fly(narrow: Engine, tmp_path: Path) -> None:
    heard = listen(
        narrow, query("WINDOW :w { ?x :p ?y } WINDOW :v { ?z :p ?y }", "[NOW] and [NOW]")
    )
    files: dict[str, list[Path]] = {S: [], T: []}
    for number in range(6):
        text = "".join(element(f"f{number}x{n}", n * 3 + number % 3) for n in range(50))
        files[S if number < 3 else T].append(write(tmp_path, f"{number}.nq", text))
    found = replay_files(narrow, files)
    assert heard_at(heard) == [(time, 1) for time in range(150)]
    assert [(one.set_aside_count, one.ignored_triples) for one in found.values()] == [(0, 0)] * 2
    assert narrow.stream(S).late_count == narrow.stream(T).late_count == 0


def test_blank_nodes_stay_within_their_element(engine: Engine, tmp_path: Path) -> None:
    engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :p ?y . ?y :p ?z }", "[RANGE 100]"))
    text = ""
    for number in range(3):
        text += quad(f"g{number}", "_:a", "_:b") + quad(f"g{number}", "_:b", f'"{number}"')
        text += at(f"g{number}", number + 1)
    replay_files(engine, {S: [write(tmp_path, "s.nq", text)]})
    assert heard_at(heard)[:3] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("on_error", [OnError.FAIL, OnError.ACCEPT])
def test_the_first_flaw_ends_a_replay_that_does_not_skip(
    engine: Engine, tmp_path: Path, on_error: OnError
) -> None:
    engine.register_stream(S)
    heard = listen(engine, NOW)
    file = write(
        tmp_path, "s.nq", element("a", 1) + quad("b") + "rubbish\n" + quad("b") + element("c", 2)
    )
    with pytest.raises(InputFileError) as error:
        replay_files(engine, {S: [file]}, ReplayOptions(on_error=on_error))
    assert (error.value.file, error.value.line) == (str(file), 4)
    assert heard == []
    odd = write(tmp_path, "odd.nq", element("a", 1).replace(f"<{E}s>", "<a relative one>"))
    if on_error is OnError.ACCEPT:
        replay_files(engine, {S: [odd]}, ReplayOptions(on_error=on_error))
        assert heard_at(heard) == [(1, 1)]


def test_a_packed_file_that_breaks_off_is_an_error(engine: Engine, tmp_path: Path) -> None:
    engine.register_stream(S)
    file = tmp_path / "s.nq.gz"
    packed = gzip.compress("".join(element(f"g{n}", n) for n in range(5000)).encode())
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputFileError, match=r"s\.nq\.gz: broken \.gz file: "):
        replay_files(engine, {S: [file]})
