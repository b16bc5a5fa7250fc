"""What becomes of a checkpoint whose files are not as they were written, that others use, or that fits nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkext import Engine
from sparkext.errors import ArgumentError, CheckpointError, CqelsError
from sparkext.runtime.checkpoint.owner import Owner
from tests.sparkext.listening import S, listen, query, settings, triple
from tests.sparkext.restart.broken_runs import leave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = query("WINDOW :w { ?x :at ?y }", "[RANGE 9]", "*", "ISTREAM")


@pytest.fixture
def left(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder of a program that was killed after three commits."""
    lived = tmp_path / "lived"
    with closing(Engine(spark, checkpoint=lived)) as engine:
        stream = engine.register_stream(S)
        listen(engine, TEXT)
        for time in (1, 2, 3):
            stream.push(triple(f"x{time}", "at", "r"), time, position=time)
            engine.commit()
        leave(lived, tmp_path / "left")
    yield tmp_path / "left"


def newest(folder: Path, kind: str) -> Path:
    return max(folder.glob(f"{kind}-*"))


def tear(file: Path, keep: int) -> None:
    """Cut a file, as a machine does that loses power; its checksum file goes."""
    file.write_bytes(file.read_bytes()[:keep])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def reopened(spark: SparkSession, folder: Path) -> Engine:
    return Engine(spark, checkpoint=folder)


def test_a_torn_commit_is_passed_over(spark: SparkSession, left: Path) -> None:
    tear(newest(left, "commit"), 100)
    with closing(reopened(spark, left)) as engine:
        stream = engine.register_stream(S)
        heard = listen(engine, TEXT)
        assert stream.position == 2
        stream.push(triple("x3", "at", "r"), 3)
        stream.advance_to(3)
        assert [(a.time, len(a), a.sequence) for a in heard] == [(2, 1, 2), (3, 1, 3)]


@pytest.mark.parametrize("keep", [0, 10, 60])
def test_a_torn_part_is_named(spark: SparkSession, left: Path, keep: int) -> None:
    file = newest(left, "elements")
    tear(file, keep)
    with pytest.raises(CheckpointError, match=file.name):
        reopened(spark, left)
    with pytest.raises(CheckpointError, match=file.name):  # and again: nothing is half done
        reopened(spark, left)


def test_changed_bytes_are_found(spark: SparkSession, left: Path) -> None:
    for file in left.glob(".*.crc"):
        file.unlink()
    file = newest(left, "elements")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{file.name} does not have the checksum"):
        reopened(spark, left)


def test_all_commits_torn(spark: SparkSession, left: Path) -> None:
    for file in left.glob("commit-*"):
        tear(file, 40)
    with pytest.raises(CheckpointError, match="commit-"):
        reopened(spark, left)


def test_a_missing_part(spark: SparkSession, left: Path) -> None:
    file = newest(left, "elements")
    file.unlink()
    with pytest.raises(CheckpointError, match=f"{file.name} is gone"):
        reopened(spark, left)


def test_who_cannot_go_on_holds_nothing(spark: SparkSession, left: Path) -> None:
    newest(left, "elements").unlink()
    engine = Engine.__new__(Engine)
    with pytest.raises(CheckpointError, match="is gone"):
        Engine.__init__(engine, spark, checkpoint=left)
    assert not list(left.glob("owner-*")), "others may have it at once"
    assert not Path(engine.parts.room.scratch).exists()


def test_another_format(spark: SparkSession, left: Path) -> None:
    engine = reopened(spark, left)
    folder = engine.parts.room.jvm.checkpointFolder(str(left))
    folder.writeText("commit-99999999-0000000001", json.dumps({"format": 7, "written_by": "9.1"}))
    engine.close()
    with pytest.raises(CheckpointError, match="format 7, written by version 9"):
        reopened(spark, left)


def test_other_settings(spark: SparkSession, left: Path) -> None:
    with settings(spark, duplicates="bag"), pytest.raises(CheckpointError, match="duplicates was"):
        reopened(spark, left)


def test_another_text_under_the_name(spark: SparkSession, left: Path) -> None:
    with closing(reopened(spark, left)) as engine:
        engine.register_stream(S)
        other = TEXT.replace("[RANGE 9]", "[RANGE 8]")
        with pytest.raises(CheckpointError, match="was registered with another text"):
            engine.register_query(other)
        engine.forget_query("http://e/q")
        engine.register_query(other)
        with pytest.raises(CheckpointError, match="no query http://e/q"):
            engine.forget_query("http://e/q")


def test_a_mapping_that_was_not_there(spark: SparkSession, left: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "rows.yml"
    mapping.write_text(
        "prefixes: {ex: 'http://e/'}\nmappings:\n  m:\n    sources: [['rows.csv~csv']]\n"
        "    s: ex:$(x)\n    po: [[ex:at, ex:$(y)~iri]]\n"
    )
    with (
        closing(reopened(spark, left)) as engine,
        pytest.raises(CheckpointError, match="with another mapping"),
    ):
        engine.register_stream(S, mapping=mapping, time="t")


def test_what_nobody_registers_is_registered(spark: SparkSession, left: Path) -> None:
    with closing(reopened(spark, left)) as engine:
        assert engine.restore() == ["http://e/q"]
        assert engine.restore() == []
        heard = []
        engine.queries["http://e/q"].subscribe(heard.append)
        engine.stream(S).push(triple("x4", "at", "r"), 4)
        engine.advance_to(4)
        assert [(a.time, len(a), a.sequence) for a in heard] == [(3, 1, 3), (4, 1, 4)]


def test_a_process_that_runs_keeps_its_folder(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first = Engine(spark, checkpoint=folder)
    try:
        other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            owner = Owner(Owner.me().host, other.pid, 0)
            jvm = spark.sparkContext._jvm.org.apache.spark.sql.cqels.journal.CheckpointFolder
            jvm.open(spark._jsparkSession, str(folder)).claim("owner-00000002", owner.written())
            with pytest.raises(CheckpointError, match=f"process {other.pid} on .* is using it"):
                Engine(spark, checkpoint=folder)
        finally:
            other.communicate(b"\n")
    finally:
        with pytest.raises(CheckpointError, match="has taken it over"):
            first.close()
    assert first.closed and not first.queries
    Engine(spark, checkpoint=folder).close()  # it has ended


def test_an_engine_whose_folder_was_taken_over(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first = Engine(spark, checkpoint=folder)
    with closing(Engine(spark, checkpoint=folder)):
        with pytest.raises(CheckpointError, match="another process has taken it over"):
            first.commit()
        with pytest.raises(CheckpointError, match="another process has taken it over"):
            first.close()


def test_owners() -> None:
    me = Owner.me()
    assert me.is_alive and me.is_here and Owner.read(me.written()) == me
    assert not Owner(me.host, me.process, me.begun + 1).is_alive or not me.begun
    assert not Owner("elsewhere", os.getpid(), 0).is_here
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    assert not Owner(me.host, int(gone.stdout), 0).is_alive


def test_a_folder_that_cannot_be_made(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="file"):
        Engine(spark, checkpoint=tmp_path / "file" / "kept")
    with pytest.raises(ArgumentError, match="checkpoint"):
        Engine(spark, checkpoint=7)  # type: ignore[arg-type]


def test_calls_without_a_checkpoint(engine: Engine) -> None:
    for call in (engine.commit, engine.restore, lambda: engine.checkpoint_report):
        with pytest.raises(CqelsError, match="has no checkpoint"):
            call()


def test_files_that_nobody_needs_go(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with closing(Engine(spark, checkpoint=folder)) as engine:
        stream = engine.register_stream(S)
        listen(engine, TEXT)
        for time in range(1, 40):
            stream.push(triple(f"x{time}", "at", "r"), time)
            engine.commit()
        assert len(list(folder.glob("commit-*"))) == 2
        assert len(list(folder.glob("elements-*"))) <= 20
        assert engine.checkpoint_report.commits >= 39
    shutil.rmtree(folder)


def test_files_of_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    others = [folder / name for name in ("README", "part-00000-1.c000.parquet", "commit-7-8")]
    for file in others:
        file.write_text("not of a checkpoint")
    for first in (1, 5):
        with closing(Engine(spark, checkpoint=folder)) as engine:
            stream = engine.register_stream(S)
            listen(engine, TEXT)
            for time in range(first, first + 4):
                stream.push(triple(f"x{time}", "at", "r"), time)
                engine.commit()
            assert stream.accepted_count == time
    assert [file.read_text() for file in others] == ["not of a checkpoint"] * 3


def test_positions_are_plain_data(spark: SparkSession, tmp_path: Path) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "kept")) as engine:
        stream = engine.register_stream(S)
        with pytest.raises(ArgumentError, match="position: must be plain data"):
            stream.push(triple("x", "at", "r"), 1, position=object())
        with pytest.raises(ArgumentError, match="position: must be plain data"):
            stream.push_elements([], position={1, 2})
        assert stream.position is None and stream.accepted_count == 0
        stream.push(triple("x", "at", "r"), 1, position={"file": "a", "line": 3})
        assert stream.position == {"file": "a", "line": 3}


def test_what_waits_is_kept_in_a_silence(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing becomes due, and nobody asks for a commit."""
    with settings(spark, **{"checkpoint.interval": "20 ms"}):
        engine = Engine(spark, checkpoint=tmp_path / "lived")
    with closing(engine):
        stream = engine.register_stream(S)
        listen(engine, query("WINDOW :w { ?x :at ?y }", "[RANGE 1000 STEP 1000]"))
        stream.push(triple("x", "at", "r"), 1, position=7)
        wait_for(
            lambda: newest_commit(tmp_path / "lived", "streams").get(S, {}).get("position") == 7
        )
        engine.insert(triple("x", "is", "k"))
        wait_for(lambda: "changes" in newest_commit(tmp_path / "lived", "parts"))
        leave(tmp_path / "lived", tmp_path / "left")
    with closing(reopened(spark, tmp_path / "left")) as again:
        assert again.register_stream(S).accepted_count == 1
        again.restore()
        assert again.select("ASK { <http://e/x> <http://e/is> <http://e/k> }").answer().boolean


def newest_commit(folder: Path, part: str) -> dict[str, Any]:
    """A part of the newest commit."""
    files = sorted(folder.glob("commit-*"))
    content: dict[str, Any] = json.loads(files[-1].read_bytes()[:-16]) if files else {}
    return content.get(part, {})


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
