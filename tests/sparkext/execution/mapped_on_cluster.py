"""A script: static tables in index files on a cluster of three JVMs, of which executors die.

    python -m tests.sparkext.execution.mapped_on_cluster WORK_DIR PAPERS SERIALIZER

The test world's queries, all tables in index files in parts, are held to the table while executors are killed. With
PAPERS above 0, so many papers with three authors each make a table of several blocks: pairs of authors are counted,
and each part of the index is opened by one executor. SERIALIZER is the class that Spark is to send data by.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    query,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.execution.on_cluster import start
from tests.sparkext.replay import replay, write_graphs

IN_PARTS = {
    "driverExecution.enabled": "false",
    "multiwayJoin.broadcastRows": "1",
    "mappedIndexes.minRows": "0",
    "load.driverMaxBytes": "0",
    "prejoin.enabled": "false",
}
KILLS = 3
CREATOR = "<http://purl.org/dc/elements/1.1/creator>"
AT = "<http://deri.org/localization/schema#at>"
TOGETHER = query(
    "?person1 ?person2",
    "WINDOW :now { ?person1 loc:at ?loc } ?paper dc:creator ?person1 . ?paper dc:creator ?person2",
    "now",
)


def executors() -> list[int]:
    """The processes of the executors of this cluster: what the driver's JVM has started."""
    found = []
    parents = {os.getpid()}
    for _ in range(4):  # Python, its JVM, perhaps a shell between
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    command = (entry / "cmdline").read_bytes()
                except (OSError, ValueError):
                    continue  # it has ended meanwhile
                if parent in parents:
                    parents.add(int(entry.name))
                    if b"CoarseGrainedExecutorBackend" in command:
                        found.append(int(entry.name))
    return sorted(set(found))


def check_kills(spark: SparkSession, folder: Path) -> None:
    """Queries answer as the table says, though executors are killed as soon as instants are answered."""
    work = folder / "kills"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    engine.load_static(write_graphs(work, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    killed: list[int] = []

    def kill_first(answers: object) -> None:
        if len(killed) < KILLS:
            killed.append(executors()[0])
            os.kill(killed[-1], signal.SIGKILL)

    watched = Watching(engine, kill_first)
    names = ("Q2", "Q4")
    texts = [QUERIES[name] for name in names]
    answers = replay(watched, texts, {STREAM: sightings()})  # type: ignore[arg-type]
    for name, (_, answered) in zip(names, answers, strict=True):
        assert shortened(answered) == table_of(name), name
    assert len(killed) == KILLS
    engine.close()


class Watching:
    """An engine whose queries tell somebody else, too, of each instant."""

    def __init__(self, engine: sparkext.Engine, watcher: Callable[[object], None]) -> None:
        self._engine = engine
        self._watcher = watcher

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def register_query(self, text: str, **options: Any) -> object:
        """Register a query that is watched."""
        query = self._engine.register_query(text, **options)
        query.subscribe(self._watcher)
        return query


def check_outer_joins(spark: SparkSession, folder: Path) -> None:
    """What Spark's own joins look up in files, which tasks are told of by a broadcast."""
    work = folder / "outer"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    engine.load_static(write_graphs(work, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    text = query(
        "*", "WINDOW :now { ?person loc:at ?loc } OPTIONAL { ?person foaf:name ?name }", "now"
    )
    ((_, answered),) = replay(engine, [text], {STREAM: sightings()})
    engine.close()
    with_names = [row for rows in answered.values() for row in rows if None not in row]
    assert len(with_names) > 3, answered


def check_once(spark: SparkSession, folder: Path, papers: int) -> None:
    """Answers of a table of several blocks are right, and each executor opens its own blocks alone."""
    random = np.random.default_rng(5)
    people = papers
    authors = random.integers(0, people, (papers, 3))
    lines = (
        f"<http://e/paper{paper}> {CREATOR} <http://e/p{person}> .\n"
        for paper, row in enumerate(authors)
        for person in set(row.tolist())
    )
    with (folder / "papers.nt").open("w") as file:
        file.writelines(lines)
    engine = sparkext.Engine(spark, work_dir=folder / "store")
    engine.load_static(folder / "papers.nt", progress=False)
    stream = engine.register_stream(STREAM)
    found: dict[int, Counter[tuple[str | None, ...]]] = {}
    registered = engine.register_query(TOGETHER)
    registered.subscribe(lambda told: found.update({told.time: Counter(told.rows())}))
    by_person: dict[int, list[int]] = {}
    for paper, row in enumerate(authors):
        for person in set(row.tolist()):
            by_person.setdefault(person, []).append(paper)
    for instant in range(1, 7):
        present = random.integers(0, people, 500)
        for person in present.tolist():
            stream.push([(f"<http://e/p{person}>", AT, "<http://e/room>")], instant * 1000)
        engine.advance_to(instant * 1000)
        wanted = Counter(
            (f"<http://e/p{person}>", f"<http://e/p{other}>")
            for person in set(present.tolist())
            for paper in by_person.get(person, ())
            for other in set(authors[paper].tolist())
        )
        assert found[instant * 1000] == wanted, instant
        if instant == 3:
            assert "then exchange by ?" in str(registered.explain()), registered.explain()
            check_storage(spark, folder)
            # What is left of the cluster takes over, and opens the other one's blocks.
            os.kill(executors()[0], signal.SIGKILL)
    engine.close()


def check_storage(spark: SparkSession, folder: Path) -> None:
    """Each executor has opened its own blocks, both together the index once; none of it is in their memory."""
    tables = spark._jvm.org.apache.spark.sql.cqels.indexes.IndexedTable  # type: ignore[union-attr]
    opened = [
        int(told.partition("=")[2])
        for told in tables.openedOnExecutors(spark.sparkContext._jsc.sc())
    ]
    files = sum(f.stat().st_size for f in (folder / "store").rglob("block-*.bin"))
    assert len(opened) == 2 and max(opened) < 0.7 * files and sum(opened) < 1.1 * files, (
        opened,
        files,
    )
    held = {
        str(entry._1()): int(entry._2()._1()) - int(entry._2()._2())
        for entry in _entries(spark.sparkContext._jsc.sc().getExecutorMemoryStatus())
    }
    assert all(used < files / 20 for used in held.values()), (held, files)


def _entries(mapping: object) -> list[object]:
    iterator = mapping.iterator()  # type: ignore[attr-defined]
    entries = []
    while iterator.hasNext():
        entries.append(iterator.next())
    return entries


def main() -> None:
    """Do what the arguments say; a failure is an uncaught error."""
    folder, papers = Path(sys.argv[1]), int(sys.argv[2])
    spark = start(folder, serializer=sys.argv[3])
    for key, value in IN_PARTS.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    check_outer_joins(spark, folder)
    check_kills(spark, folder)
    if papers:
        spark.conf.set("spark.cqels.multiwayJoin.broadcastRows", str(2 * papers))  # two parts
        check_once(spark, folder, papers)
    spark.stop()
    sys.stdout.write("all answers are right\n")


if __name__ == "__main__":
    main()
