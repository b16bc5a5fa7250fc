"""A streamed replay holds what its look-ahead reaches, and no more; how it ends, well or not."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.command_line.replay import replay
from sparkext.errors import InputFileError
from sparkext.recorded_streams import read_recorded_stream
from sparkext.recorded_streams.recording_files import recording_files
from sparkext.runtime.streams.replay import ReplayOptions
from static_data.files.on_error import OnError
from static_data.files.reading import Reading
from tests.sparkext.listening import E, S, T, listen, query, settings
from tests.sparkext.recorded_streams.whole_replay import (
    at,
    element,
    quad,
    replay_files,
    told,
    write,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers


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


def test_a_recording_takes_no_more_memory_than_its_look_ahead(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Neither here nor in the JVM, whose terms are those that are held and those of the window."""
    from sparkext import Engine

    many = 100_000
    file = tmp_path / "s.nq"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(element(f"g{n}", n) for n in range(many))
    with settings(spark, **{"replay.lookAhead": "500"}), closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        heard = listen(
            engine, query("WINDOW :w { ?x :p ?y }", "[RANGE 1000 STEP 1000]", "(COUNT(*) AS ?n)")
        )
        most = 0

        def look() -> None:
            nonlocal most
            most = max(most, int(engine.store.dictionary.streamSize()))

        before = resident_bytes()
        replay_files(engine, {S: [file]}, after_each=look)
        assert stream.accepted_count == many
        assert len(heard) == many // 1000
        # Two terms an element, of four blocks ahead, one that is taken in, and the window.
        assert most < 2 * (6 * 8192 + 2000)
        assert resident_bytes() - before < 40 << 20


def resident_bytes() -> int:
    """The memory of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_a_replay_that_is_broken_off_leaves_nothing(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    """As by Ctrl-C, wherever it falls."""
    stream = engine.register_stream(S)
    text = "".join(element(f"g{n}", n) for n in range(30_000))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_files(engine, {S: [write(tmp_path, "s.nq", text)]}, after_each=interrupt)
    threads = spark.sparkContext._jvm.java.lang.Thread.getAllStackTraces().keySet()  # type: ignore[union-attr]
    assert not [thread for thread in threads if thread.getName() == "cqels-replay"]
    # A name of each element that was taken in, two predicates and an object: the blocks that waited hold nothing.
    assert int(engine.store.dictionary.streamSize()) == stream.accepted_count + 3


def test_what_is_set_aside_is_listed_as_it_is_found(engine: Engine, tmp_path: Path) -> None:
    """In TriG, too, whose flaws go by way of the lines that are made of it."""
    engine.register_stream(S)
    trig = write(
        tmp_path,
        "s.trig",
        f"@prefix : <{E}> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
        ":a { :s :p 1 }\n:a prov:generatedAtTime 5 .\n:bad { :s :p }\n:bad prov:generatedAtTime 6 .\n",
    )
    nquads = write(tmp_path, "s.nq", element("b", 7) + quad("c"))
    listed = tmp_path / "skipped.jsonl"
    files = {S: recording_files([trig, nquads], tmp_path, Reading(on_error=OnError.SKIP))}
    found = replay(engine, files, ReplayOptions(), skipped_file=str(listed), show=True)
    whole = read_recorded_stream([trig, nquads])
    assert told(found[S].set_aside) == told(whole.set_aside)
    entries = [json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()]
    assert [(entry["file"], entry["line"]) for entry in entries] == [
        (str(trig), 4),
        (str(nquads), 3),
    ]
    assert entries[1]["reason"] == f"<{E}c>: no time"
