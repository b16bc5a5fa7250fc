"""Event patterns of two and three steps with many partial matches open, with and without static data.

A stream of events over LANDMARK windows; `open` partial matches are there when the first batch comes, and none is ever
closed. In each batch a tenth of the events complete a chain, a hundredth begins one, and the rest completes none. Every
batch is one evaluation (ISTREAM). p50_ms is the median of milliseconds from events in the caller's hands (lines of
N-Triples with their times, made StreamElements and pushed) to answers as an Arrow table, run_ms of evaluation alone;
events_per_s is all events over all of that time, the first batch included. Every row starts anew, in a process of its
own. cpu_us is processor time for each event, of
both processes: on a machine with other work it tells more. `together` events are in one element.

DuckDB (tables and joins with what arrived) and Esper (`every a -> every b`, sent event by event) answer the same
batches in turn, and must give the same answers; both take numbers, not RDF terms. Esper is fetched by Maven.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.event_chains.event_batches import Chains, Happened, static_groups, static_lines
from bench.event_chains.event_engine import Answered, EngineChains
from bench.event_chains.event_peers import DuckDbChains, EsperChains, PeerMissingError
from bench.peers.alone import alone
from bench.report import BenchError, Report, progress

NAME = "events"
QUERIES = ("two steps", "three steps", "two steps, static", "three steps, static")
PEERS = ("duckdb", "esper")
COLUMNS = (
    "query",
    "open",
    "together",
    "events_per_s",
    "p50_ms",
    "run_ms",
    "first_ms",
    "cpu_us",
    "state_bytes",
    "answers",
    *(f"{peer}_{what}" for peer in PEERS for what in ("events_per_s", "p50_ms", "cpu_us")),
)
SHOWN = ("open_ratio", "static_ratio", "to_peers", "notes")
SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_FILLED_AT_ONCE = 50_000


class AnswersDifferError(BenchError):
    """The engine and a peer found different matches in the same events."""


@dataclass(frozen=True)
class Effort:
    """How much is run: open partial matches, events of a batch, batches, static rows."""

    open: tuple[int, ...]
    batch: int
    batches: int
    static: int


FULL = Effort((10_000, 100_000, 1_000_000), 10_000, 30, 2_000_000)
QUICK = Effort((1_000, 10_000), 2_000, 5, 20_000)


@dataclass(frozen=True)
class Workload:
    """A query and the number of partial matches that are open; static data or none."""

    steps: int
    open: int
    static: bool
    together: int = 1

    @property
    def name(self) -> str:
        """The query's.

        >>> Workload(3, 10, True).name
        'three steps, static'
        """
        return ("two" if self.steps == 2 else "three") + " steps" + ", static" * self.static


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--open",
        type=int,
        action="append",
        help="open partial matches, an even number; repeatable "
        f"(default {', '.join(map(str, FULL.open))}; quick {', '.join(map(str, QUICK.open))})",
    )
    parser.add_argument(
        "--query",
        action="append",
        choices=QUERIES,
        help="only this query; repeatable (default all)",
    )
    parser.add_argument(
        "--batches",
        type=int,
        help=f"batches (default {FULL.batches}; quick {QUICK.batches})",
    )
    parser.add_argument(
        "--peers", metavar="A,B", default=",".join(PEERS), help="some of duckdb, esper (default)"
    )


def workloads(open_matches: tuple[int, ...]) -> Iterator[Workload]:
    """All that is measured, in this order."""
    for static in (False, True):
        for steps in (2, 3):
            for count in open_matches:
                yield Workload(steps, count, static)
    # A source whose events come in graphs.
    yield Workload(2, sorted(open_matches)[len(open_matches) // 2], False, together=10)


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when a peer finds something else."""
    effort = QUICK if args.quick else FULL
    peers = tuple(filter(None, args.peers.split(",")))
    if unknown := sorted(set(peers) - set(PEERS)):
        raise SystemExit(f"unknown peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    notes: dict[str, str] = {}
    rows = []
    batches = args.batches or effort.batches
    spark = session()  # for all rows, in the quick run; else for the static data alone
    try:
        with tempfile.TemporaryDirectory(prefix="bench-events-") as folder:
            wanted = [
                workload
                for workload in workloads(tuple(args.open or effort.open))
                if workload.name in (args.query or QUERIES)
            ]
            static = None
            if any(workload.static for workload in wanted):
                static = load_static(spark, effort.static, Path(folder))
            if not args.quick:
                spark.stop()
            for workload in wanted:
                progress(f"{workload.name}, {workload.open:,} open")
                given = (workload, effort.batch, batches, static, peers)
                row, missing = measure(spark, *given) if args.quick else alone(measure_anew, *given)
                rows.append(row)
                notes |= missing
    finally:
        spark.stop()
    summary: dict[str, Any] = {"batch": effort.batch, "batches": batches}
    return Report(
        NAME, rows, {**summary, "static": effort.static, **summarise(rows), "notes": notes}
    )


def session() -> SparkSession:
    """The Spark session of this bench."""
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class StaticGroups:
    """The group of each first node: as the engine opens it, and as DuckDB has it."""

    folder: Path
    table: pa.Table


def load_static(spark: SparkSession, count: int, folder: Path) -> StaticGroups:
    """The groups of so many nodes, encoded below a folder."""
    progress(f"loading {count:,} static rows")
    text = folder / "groups.nt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in static_lines(count))
    with closing(sparkext.Engine(spark)) as engine:
        engine.load_static(text, progress=False)
        engine.save_static(folder / "groups")
    table = pa.table({"s": np.arange(count), "o": static_groups(count)})
    return StaticGroups(folder / "groups", table)


def measure(
    spark: SparkSession,
    workload: Workload,
    size: int,
    batches: int,
    static: StaticGroups | None,
    peers: tuple[str, ...],
) -> tuple[dict[str, Any], dict[str, str]]:
    """One row, the engine and the peers that are here over batches of `size` events in turn, and who is missing why."""
    notes = {}
    chains = Chains(workload.steps, workload.open, size, size // 10, workload.together)

    def filling() -> Iterator[Happened]:
        return chains.filling(_FILLED_AT_ONCE)

    with ExitStack() as stack:
        groups = static if workload.static else None
        ours = EngineChains(
            spark,
            workload.steps,
            filling(),
            None if groups is None else groups.folder,
            workload.together,
        )
        running: list[EngineChains | DuckDbChains | EsperChains] = [
            stack.enter_context(closing(ours))
        ]
        if "duckdb" in peers:
            try:
                duckdb = DuckDbChains(
                    workload.steps, filling(), None if groups is None else groups.table
                )
                running.append(stack.enter_context(closing(duckdb)))
            except PeerMissingError as missing:
                notes["duckdb"] = str(missing)
        if "esper" in peers and not workload.static:
            try:
                esper = EsperChains(workload.steps, filling())
                running.append(stack.enter_context(closing(esper)))
            except PeerMissingError as missing:
                notes["esper"] = str(missing)
        taken: dict[str, list[Answered]] = {one.name: [] for one in running}
        for number in range(batches):
            batch = chains.arriving(number)
            turn = number % len(running)
            for one in running[turn:] + running[:turn]:
                taken[one.name].append(one.take(batch))
            _agree(workload, number, {name: answered[-1] for name, answered in taken.items()})
        row = _row(workload, size, taken[ours.name])
        row["state_bytes"] = ours.state_bytes()
        row["answers"] = sum(len(answered.matches) for answered in taken[ours.name])
        for peer in PEERS:
            row |= _peer_cells(peer, size, taken.get(peer, []))
        return row, notes


def measure_anew(
    workload: Workload,
    size: int,
    batches: int,
    static: StaticGroups | None,
    peers: tuple[str, ...],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The same in a session that begins and ends with it."""
    spark = session()
    try:
        return measure(spark, workload, size, batches, static, peers)
    finally:
        spark.stop()


def _agree(workload: Workload, number: int, answered: dict[str, Answered]) -> None:
    expected = answered[EngineChains.name].matches
    if not len(expected):
        raise BenchError(f"{workload.name}: batch {number} has no matches")
    for name, other in answered.items():
        if not np.array_equal(other.matches, expected):
            raise AnswersDifferError(
                f"{workload.name}, {workload.open:,} open, batch {number}: {len(expected)} matches, "
                f"of {name} {len(other.matches)}, and they differ"
            )


def _row(workload: Workload, size: int, taken: list[Answered]) -> dict[str, Any]:
    runs = [answered.run_ms for answered in taken if answered.run_ms is not None]
    return {
        "query": workload.name,
        "open": workload.open,
        "together": workload.together,
        **_cells(size, taken),
        "run_ms": round(float(np.median(runs)), 3),
        "first_ms": round(taken[0].ms, 3),
    }


def _cells(size: int, taken: list[Answered]) -> dict[str, Any]:
    events = size * len(taken)
    return {
        "events_per_s": round(events / sum(answered.ms for answered in taken) * 1e3),
        "p50_ms": round(float(np.median([answered.ms for answered in taken])), 3),
        "cpu_us": round(sum(answered.cpu_ms for answered in taken) * 1e3 / events, 3),
    }


def _peer_cells(peer: str, size: int, taken: list[Answered]) -> dict[str, Any]:
    names = ("events_per_s", "p50_ms", "cpu_us")
    cells = _cells(size, taken) if taken else dict.fromkeys(names)
    return {f"{peer}_{name}": cells[name] for name in names}


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the goals are about.

    `open_ratio`: p50_ms with the most open partial matches over that with the fewest, by query. `static_ratio`: with
    the static join over without it, by steps and open matches. `to_peers`: events a second over a peer's, two steps.
    """
    plain = [row for row in rows if row["together"] == 1]
    times = {(row["query"], row["open"]): row["p50_ms"] for row in plain}
    most, least = (limit(row["open"] for row in plain) for limit in (max, min))
    return {
        "open_ratio": {
            query: round(times[query, most] / times[query, least], 3)
            for query in dict.fromkeys(row["query"] for row in plain)
            if (query, most) in times and (query, least) in times
        },
        "static_ratio": {
            f"{query}@{count}": round(times[f"{query}, static", count] / times[query, count], 3)
            for query, count in times
            if (f"{query}, static", count) in times
        },
        "to_peers": {
            f"{peer}@{row['open']}": round(row["events_per_s"] / row[f"{peer}_events_per_s"], 2)
            for row in plain
            for peer in PEERS
            if row["query"] == "two steps" and row[f"{peer}_events_per_s"]
        },
    }
