"""Tables 2 and 3 and Figure 7 of the CQELS report: 10 to 50,000 instances of Q1'-Q4', each for another author.

Every run is a process of its own, from the first second on: a second brings 1,000 sightings as a table in the caller's
hand, and is over when the subscriber of every instance has its decoded answers. p50_ms and p95_ms are of all seconds,
first_ms of the first one, evaluation_ms of the engine's evaluation and decoding alone (median). register_s is what
registering took, text by text; again_ms what ending one instance and registering it again takes. memory_mb is the
Python process and what the Java heap holds. `growth` compares 5,000 instances with 10 at the same number of answers:
ten authors wear badges in both. The answers of eight authors are compared with those of single queries, which are the
row with sharing off.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrivals import ENCODED
from bench.arrivals.rows import write_seconds
from bench.data.world import DEFAULT_SEED, World
from bench.data.world_files import prepare_world, world_folder
from bench.many_queries.instances import Served, Wanted, load, people_of, serve
from bench.peers.alone import alone
from bench.report import BenchError, Report, progress

NAME = "many"
QUERIES = ("q1", "q2", "q3", "q4")
COLUMNS = (
    "query",
    "instances",
    "sharing",
    "p50_ms",
    "p95_ms",
    "first_ms",
    "evaluation_ms",
    "register_s",
    "again_ms",
    "memory_mb",
    "answers",
    "reported_ms",
)
SHOWN = ("scale", "rate", "seconds", "growth", "fifty_to_five_thousand", "compared", "notes")
RATE = 1000
FEW = 4
Key = tuple[int, bool, int | None]
"""How many instances, sharing on or off, and how many of them have answers (None: as it comes)."""
# The report's Tables 2 and 3: milliseconds for all instances.
REPORTED = {
    "q1": {10: 1.2, 100: 1.9, 1000: 14.5, 5000: 70.1},
    "q2": {10: 64.0, 100: 105.0, 1000: 420.0, 5000: 1551.0},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--scale", type=float, help="size of the world (default 1; quick 0.02)")
    parser.add_argument("--query", action="append", choices=QUERIES, help="repeatable")
    parser.add_argument(
        "--instances",
        type=int,
        action="append",
        help="repeatable (default 10, 100, 1000, 5000, 50000; quick 10 and 1000)",
    )
    parser.add_argument("--seconds", type=int, help="of each run (default 20; quick 5)")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the world")
    parser.add_argument("--data", type=Path, help="folder for the world's files, kept there")


def run(args: argparse.Namespace) -> Report:
    """Runs every query with every number of instances."""
    scale = args.scale or (0.02 if args.quick else 1.0)
    seconds = args.seconds or (5 if args.quick else 20)
    counts = args.instances or ([10, 1000] if args.quick else [10, 100, 1000, 5000, 50000])
    queries = args.query or (["q1"] if args.quick else list(QUERIES))
    report = Report(NAME, [])
    notes: list[str] = []
    report.summary.update(scale=scale, rate=RATE, seconds=seconds, growth={}, notes=notes)
    compared = 0
    with world_folder(args.data) as folder:
        world = prepare_world(folder, scale, args.seed)
        paths = write_seconds(world, folder / f"rows-{RATE}", RATE, seconds)
        if not args.quick and not (folder / ENCODED).exists():  # the first quick run does it
            progress("many: loading static data")
            alone(load, folder)
        for query in queries:
            served: dict[Key, Served] = {}
            watched = sample(world, counts, args.seed)
            progress(f"many: {query}, {len(watched)} single queries to compare with")
            single = alone(serve, Wanted(query, watched, False, watched, folder, paths))
            if single.given_up:
                raise BenchError(f"{query}: {single.given_up}")
            wanted: list[Key] = [(count, True, None) for count in counts]
            if not args.quick and query in ("q1", "q2"):
                wanted += [(10, True, 10), (5000, True, 10)]
            for count, sharing, answered in wanted:
                progress(f"many: {query}, {count:,} instances, sharing {sharing}")
                people = people_of(world, count, answered, args.seed)
                seen = [person for person in watched if person in set(people)]
                made = alone(serve, Wanted(query, people, sharing, seen, folder, paths))
                if made.given_up:
                    notes.append(f"{query}, {count}, sharing {sharing}: {made.given_up}")
                    continue
                served[count, sharing, answered] = made
                compared += compare(query, watched, single, seen, made)
                if answered is None:
                    report.rows.append(row(query, count, sharing, made))
            report.rows.append(row(query, len(watched), False, single))
            report.summary["growth"].update(growth(query, served))
    report.summary["compared"] = f"{compared} answers of single queries, all the same"
    report.summary["fifty_to_five_thousand"] = larger(report.rows)
    return report


def sample(world: World, counts: list[int], seed: int) -> list[int]:
    """Some of the authors of the smallest number of instances, and some of the others."""
    people = people_of(world, max(counts), None, seed)
    chance = random.Random(seed)
    few = people[: min(counts)]
    return [*chance.sample(few, FEW), *chance.sample(people[len(few) :] or few[FEW:], FEW)]


def compare(query: str, watched: list[int], single: Served, seen: list[int], made: Served) -> int:
    """Raises BenchError unless single queries answer the same to these authors; how many answers there were."""
    places = [watched.index(person) for person in seen]
    wanted = [[second[place] for place in places] for second in single.watched]
    if wanted != made.watched:
        raise BenchError(f"{query}: instances and single queries answer differently")
    return sum(len(rows) for second in wanted for rows in second)


def row(query: str, count: int, sharing: bool, made: Served) -> dict[str, Any]:
    """One line of the result."""
    return {
        "query": query,
        "instances": count,
        "sharing": "on" if sharing else "off",
        "p50_ms": round(float(np.percentile(made.ms, 50)), 2),
        "p95_ms": round(float(np.percentile(made.ms, 95)), 2),
        "first_ms": round(made.ms[0], 1),
        "evaluation_ms": round(float(np.median(made.evaluation_ms)), 2),
        "register_s": round(made.register_s, 2),
        "again_ms": round(made.drop_ms, 2),
        "memory_mb": round(made.memory_mb),
        "answers": int(np.median(made.answers)),
        "reported_ms": REPORTED.get(query, {}).get(count),
    }


def growth(query: str, served: dict[Key, Served]) -> dict[str, float]:
    """How much longer 5,000 instances take than 10 that have the same answers."""
    few, many = served.get((10, True, 10)), served.get((5000, True, 10))
    if few is None or many is None:
        return {}
    if few.answers != many.answers:
        raise BenchError(f"{query}: 10 and 5,000 instances do not have the same answers")
    return {query: round(float(np.median(many.ms) / np.median(few.ms)), 2)}


def larger(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How much longer 50,000 instances take than 5,000, by query."""
    times = {(r["query"], r["instances"]): r["p50_ms"] for r in rows if r["sharing"] == "on"}
    return {
        query: round(times[query, 50000] / times[query, 5000], 2)
        for query in QUERIES
        if (query, 50000) in times and (query, 5000) in times
    }
