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

from sparkext.recorded_streams import TIME_PROPERTIES, read_recorded_stream
from sparkext.runtime.streams.replay import ReplayOptions
from tests.sparkext.listening import E, listen, query, settings
from tests.sparkext.recorded_streams.whole_replay import XSD, replay_files, replay_whole, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

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
