"""One run: so many instances of a query over seconds of sightings, each with a subscriber of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sparkext
from bench.arrivals.engine_peer import Peer, push_rows
from bench.arrivals.rows import rows_at
from bench.data.rdf_files import QUERIES
from bench.data.world import World
from sparkext.runtime.answering.answers import Answers

SLOWEST_S = 60.0


@dataclass(frozen=True)
class Wanted:
    """What is to be run: `people` are the numbers of the authors that the instances name."""

    query: str
    people: Sequence[int]
    sharing: bool
    watched: Sequence[int]
    folder: Path
    seconds: Sequence[Path]


@dataclass
class Served:
    """What became of it: milliseconds and answers of each second, those of the watched authors by second and author.

    `given_up` says what took too long.
    """

    register_s: float = 0.0
    ms: list[float] = field(default_factory=list)
    evaluation_ms: list[float] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    watched: list[list[list[tuple[str | None, ...]]]] = field(default_factory=list)
    memory_mb: float = 0.0
    drop_ms: float = 0.0
    given_up: str = ""


def load(folder: Path) -> None:
    """Loads the static data of a world, and leaves them beside it for the runs to open."""
    peer = _Peer(True)
    peer.load(World.load(folder / "world.npz"), folder)
    peer.close()


def serve(wanted: Wanted) -> Served:
    """Registers the instances, answers the seconds, and drops and registers one again."""
    peer = _Peer(wanted.sharing)
    world = World.load(wanted.folder / "world.npz")
    peer.load(world, wanted.folder)
    try:
        return _serve(wanted, world, peer.engine, peer.stream)
    finally:
        peer.close()


class _Peer(Peer):
    """Only how its session and static data come to be."""

    def __init__(self, sharing: bool) -> None:
        super().__init__()
        self.settings = {"spark.cqels.sharing.enabled": str(sharing).lower()}  # type: ignore[misc]

    @property
    def engine(self) -> sparkext.Engine:
        return self._engine

    @property
    def stream(self) -> Any:
        return self._stream


def _serve(wanted: Wanted, world: World, engine: sparkext.Engine, stream: Any) -> Served:
    served = Served()
    names = world.person_names()
    text = (QUERIES / "many" / f"{wanted.query}.rspql").read_text(encoding="utf-8")
    texts = [text.replace("$author", f'"{names[person].as_py()}"') for person in wanted.people]
    counted = [0, 0]

    def count(answers: Answers) -> None:
        counted[0] += 1
        counted[1] += len(answers)

    started = time.perf_counter()
    registered = []
    for one in texts:
        registered.append(engine.register_query(one))
        registered[-1].subscribe(count)
        if time.perf_counter() - started > SLOWEST_S and len(registered) < len(texts):
            served.given_up = f"{len(registered)} were registered in {SLOWEST_S:.0f} s"
            return served
    served.register_s = time.perf_counter() - started
    places = [list(wanted.people).index(person) for person in wanted.watched]
    for second, path in enumerate(wanted.seconds, 1):
        rows = rows_at(path, second * 1000)
        counted[:] = [0, 0]
        evaluated = _run_seconds(engine)
        started = time.perf_counter()
        push_rows(stream, rows)
        stream.advance_to(second * 1000)
        served.ms.append((time.perf_counter() - started) * 1e3)
        served.evaluation_ms.append((_run_seconds(engine) - evaluated) * 1e3)
        served.told.append(counted[0])
        served.answers.append(counted[1])
        last = [registered[place].last_answers for place in places]
        served.watched.append([sorted(a.rows()) if a is not None else [] for a in last])
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    served.memory_mb = _java_mb(engine) + sum(
        int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")
    )
    started = time.perf_counter()
    registered[-1].stop()
    engine.register_query(texts[-1])
    served.drop_ms = (time.perf_counter() - started) * 1e3
    return served


def _run_seconds(engine: sparkext.Engine) -> float:
    evaluated = engine._registered.evaluated.values()
    return sum(q.progress.run_seconds + q.progress.decode_seconds for q in evaluated)


def _java_mb(engine: sparkext.Engine) -> float:
    """What the heap holds after a collection."""
    jvm: Any = engine.spark._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def people_of(world: World, count: int, answered: int | None, seed: int) -> list[int]:
    """The authors of so many instances: those who wear badges first, or only so many of these (`answered`)."""
    random = np.random.default_rng(seed)
    holders = random.permutation(world.holders)
    others = random.permutation(np.setdiff1d(np.arange(world.people), world.holders))
    inside = holders[: count if answered is None else min(answered, count)]
    return [*map(int, inside), *map(int, others[: count - len(inside)])]
