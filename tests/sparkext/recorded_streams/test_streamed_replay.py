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
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from sparkext.recorded_streams import read_recorded_stream
from sparkext.runtime.streams.replay import ReplayOptions
from tests.sparkext.listening import E, listen, query, settings
from tests.sparkext.recorded_streams.random_recordings import recordings
from tests.sparkext.recorded_streams.whole_replay import replay_files, replay_whole, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

_NUMBERS = count()


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
