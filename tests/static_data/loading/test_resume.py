"""Loads that are broken off and started again: what was encoded is not encoded again, and nothing torn is believed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.errors import MalformedRdfError
from static_data.loading.load import LoadReport
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX, store_quads, write_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
FILES = ["0.nt", "1.nt.gz", "2.nq", "3.ttl", "4.nt", "5.nt.bz2"]
_LINES = 400

Load = Callable[..., tuple[StaticStore, LoadReport]]


def written(folder: Path, lines: int = _LINES) -> list[Path]:
    """Files of several formats that share terms; each has blank nodes of its own."""
    made = []
    for number, name in enumerate(FILES):
        parts = [
            f'<{EX}{i % 97}> <{EX}p{i % 3}> "{number}.{i}" .\n'
            f"_:b{i % 5} <{EX}knows> <{EX}{(i * 7 + number) % 97}> .\n"
            for i in range(lines)
        ]
        made.append(write_as(folder, name, "".join(parts).encode()))
    return made


@pytest.fixture
def load(spark: SparkSession, tmp_path: Path) -> Iterator[Load]:
    """Loads files into a store of its own."""
    stores = []

    def made(
        files: list[Path], hash_bits: int = 58, **options: object
    ) -> tuple[StaticStore, LoadReport]:
        store = StaticStore(spark, driver_bytes=0)
        stores.append(store)
        store.dictionary.setHashBits(hash_bits)
        return store, store.load([*files], resume=tmp_path / "resume", **options)  # type: ignore[arg-type]

    yield made
    for store in stores:
        store.close()


@pytest.fixture
def unbroken(spark: SparkSession) -> Iterator[StaticStore]:
    store = StaticStore(spark, driver_bytes=0)
    yield store
    store.close()


def kept(folder: Path) -> dict[str, int]:
    """The kept parts by name, with their times of change."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.blocks")}


def test_a_second_load_takes_over_all_parts(
    load: Load, unbroken: StaticStore, tmp_path: Path
) -> None:
    files = written(tmp_path)
    unbroken.load([*files])
    _, first = load(files)
    before = kept(tmp_path / "resume")
    store, second = load(files)
    assert (first.resumed, second.resumed) == (0, len(before))
    assert kept(tmp_path / "resume") == before
    assert store_quads(store) == store_quads(unbroken)
    assert (second.statements, second.quads_added, second.terms) == (
        first.statements,
        first.quads_added,
        first.terms,
    )


def test_torn_parts_are_encoded_again(load: Load, unbroken: StaticStore, tmp_path: Path) -> None:
    files = written(tmp_path)
    unbroken.load([*files])
    load(files)
    parts = sorted((tmp_path / "resume").glob("*.blocks"))
    chance = random.Random(5)
    for part in parts[:-1]:
        content = bytearray(part.read_bytes())
        if chance.random() < 0.5:
            part.write_bytes(content[: chance.randrange(len(content))])
        else:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            part.write_bytes(content)
    (tmp_path / "resume" / f"{parts[0].name}.0-1").write_text("left by a kill")
    store, report = load(files)
    assert report.resumed == 1
    assert store_quads(store) == store_quads(unbroken)
    assert sorted((tmp_path / "resume").iterdir()) == parts


def test_changed_files_are_read_again(load: Load, unbroken: StaticStore, tmp_path: Path) -> None:
    files = written(tmp_path)
    load(files)
    parts = len(kept(tmp_path / "resume"))
    files[0].write_bytes(files[0].read_bytes().replace(b'"0.', b'"9.'))
    os.utime(files[0], (1, 1))
    unbroken.load([*files])
    store, report = load(files)
    assert report.resumed == parts - 1 == len(kept(tmp_path / "resume")) - 1
    assert store_quads(store) == store_quads(unbroken)


def test_other_settings_start_anew(load: Load, tmp_path: Path) -> None:
    files = written(tmp_path)
    load(files)
    assert load(files, graph=EX + "g")[1].resumed == 0
    assert load(files, graph=EX + "g", base_iri=EX)[1].resumed == 0
    assert load(files, graph=EX + "g", base_iri=EX, on_error="skip")[1].resumed == 0
    assert load(files[::-1], graph=EX + "g", base_iri=EX, on_error="skip")[1].resumed == 0


def test_parts_with_a_problem_are_not_kept(
    load: Load, unbroken: StaticStore, tmp_path: Path
) -> None:
    files = written(tmp_path)
    sound = files[4].read_bytes()
    files[4].write_bytes(sound + b"oops\n")
    for _ in range(2):
        with pytest.raises(MalformedRdfError, match=r"4\.nt") as caught:
            load(files)
        assert caught.value.line == 2 * _LINES + 1
    files[4].write_bytes(sound)
    store, report = load(files)
    assert 0 < report.resumed == len(kept(tmp_path / "resume")) - 1
    unbroken.load([*files])
    assert store_quads(store) == store_quads(unbroken)


def test_skipped_statements_are_told_again(load: Load, tmp_path: Path) -> None:
    files = written(tmp_path)
    files[0].write_bytes(files[0].read_bytes() + b"oops\n")
    reports = [load(files, on_error="skip")[1] for _ in range(2)]
    assert [report.skipped for report in reports] == [1, 1]
    assert reports[1].resumed > 0


def test_colliding_ids_are_mended_again(load: Load, tmp_path: Path) -> None:
    files = written(tmp_path)
    first, _ = load(files, hash_bits=10)
    assert first.dictionary.exceptionCount() > 0
    second, report = load(files, hash_bits=10)
    assert report.resumed > 0
    assert store_quads(second) == store_quads(first)
    # Ids that are no plain hashes are others than those of a session without collisions.
    third, _ = load(files)
    assert store_quads(third) == store_quads(first)


def test_a_file_named_twice(load: Load, unbroken: StaticStore, tmp_path: Path) -> None:
    files = written(tmp_path)[:1] * 2
    unbroken.load([*files])
    load(files)
    store, _ = load(files)
    assert store_quads(store) == store_quads(unbroken)


def test_saving_deletes_what_was_kept(load: Load, spark: SparkSession, tmp_path: Path) -> None:
    files = written(tmp_path)
    store, _ = load(files)
    ours = tmp_path / "resume" / "notes.txt"
    ours.write_text("not of the load")
    store.save(tmp_path / "saved")
    assert list((tmp_path / "resume").iterdir()) == [ours]
    opened = StaticStore(spark)
    opened.open(tmp_path / "saved")
    assert store_quads(opened) == store_quads(store)
    opened.close()


# -- kills ------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pyspark.sql import SparkSession
import sparkext
from static_data.store import StaticStore

builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.log.level", "ERROR")
    .config("spark.cqels.classArchive", "false")
)
store = StaticStore(sparkext.configure(builder).getOrCreate(), work_dir=sys.argv[2], driver_bytes=0)
print("loading", flush=True)
store.load(sys.argv[3:], resume=sys.argv[1])
print("loaded", flush=True)
sys.stdin.read()
"""


def killed(files: list[Path], tmp_path: Path, parts: int, seconds: float) -> None:
    """Load in another process, killed so long after so many parts are there."""
    folder = tmp_path / "resume"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    arguments = [str(folder), str(tmp_path / "work"), *map(str, files)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Its JVM is killed with it.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        end = time.monotonic() + 120
        while len(kept(folder)) < parts and time.monotonic() < end:
            time.sleep(0.002)
        assert len(kept(folder)) >= parts
        time.sleep(seconds)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def check_after_kill(load: Load, unbroken: StaticStore, files: list[Path], tmp_path: Path) -> None:
    there = kept(tmp_path / "resume")
    unbroken.load([*files])
    store, report = load(files)
    assert report.resumed >= 1
    # Not written again, so not parsed again.
    after = kept(tmp_path / "resume")
    assert all(after[name] == changed for name, changed in there.items())
    assert store_quads(store) == store_quads(unbroken)
    assert len(list((tmp_path / "resume").iterdir())) == len(after)


def test_a_killed_load_goes_on(load: Load, unbroken: StaticStore, tmp_path: Path) -> None:
    files = written(tmp_path, 4000)
    killed(files, tmp_path, parts=2, seconds=0.0)
    check_after_kill(load, unbroken, files, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_load_killed_at_any_point_goes_on(
    load: Load, unbroken: StaticStore, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    files = written(tmp_path, 12_000)
    for _ in range(chance.randint(1, 2)):
        killed(files, tmp_path, chance.randint(1, len(FILES)), chance.random() * 1.5)
    check_after_kill(load, unbroken, files, tmp_path)
