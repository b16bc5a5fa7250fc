"""Static data as large as the CQELS report's: made, loaded, saved, opened again by a new process, and served.

A row for each number of triples of a DBLP-shaped world, in which 5,000 people wear badges at any size. load_rate is
thousand triples a second from packed N-Triples; load_mib what the Python process and the JVM held at most by then.
disk_b, terms_b and tables_b are bytes a triple as saved; heap_mib and heap_b (bytes a triple) what the Java heap holds
after a collection while Q2 is served, resident_mib both processes then, of which mapped_mib are pages of files.

open_s is open_static alone, first_s the time from there, in a session that has started, until Q1 is registered and
has its first answer; started_s begins with the process. cold_s is first_s in another process, with no page of the
saved files in memory. Then come Q1-Q4 as `python -m bench arrival` has them: 1,000 sightings a second, from rows in the
caller's hand to decoded answers there, from the first second on, a new process for each query. The answers of every
second are compared with look-ups in NumPy. growth is p50 of the largest size over that of the smallest, growth_last
that of the last ten seconds, as the first ones are of cold code.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrivals.rows import WINDOWS
from bench.data.world import DEFAULT_SEED, HOLDERS
from bench.data.world_files import world_folder
from bench.large_static.making import LEAST_TRIPLES
from bench.large_static.one_size import Measured, Wanted, measure
from bench.large_static.serving import Answers
from bench.report import Report

NAME = "scale"
QUERIES = tuple(WINDOWS)
SIZES = (1_000_000, 10_000_000, 50_000_000)
RATE = 1000
# Sizes that nobody has asked for are left out where they would end later.
WHOLE_S = 900.0
# Of which query memory is told, where there are several.
USUAL = "q2"
COLUMNS = (
    "triples",
    "generate_s",
    "load_s",
    "load_rate",
    "load_mib",
    "save_s",
    "disk_b",
    "terms_b",
    "tables_b",
    "heap_b",
    "heap_mib",
    "resident_mib",
    "mapped_mib",
    "open_s",
    "first_s",
    "started_s",
    "cold_s",
    *(f"{query}_{percentile}_ms" for query in QUERIES for percentile in ("p50", "p95")),
)
SHOWN = (
    "rate",
    "seconds",
    "growth",
    "growth_last",
    "register_s",
    "first_s",
    "answers",
    "compared",
    "notes",
)
ALL_SECONDS, LAST_SECONDS = slice(None), slice(-10, None)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--triples",
        type=int,
        nargs="+",
        metavar="N",
        help="sizes of the world (default 1, 10 and 50 million, as far as they fit into a quarter "
        "of an hour; quick 1 million)",
    )
    parser.add_argument("--query", action="append", choices=QUERIES, help="only this; repeatable")
    parser.add_argument("--seconds", type=int, help="of each stream (default 60; quick 10)")
    parser.add_argument("--heap", help="memory of the JVM (default 2g to 10g, by the size)")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the worlds")
    parser.add_argument(
        "--data",
        type=Path,
        help="folder for files: the worlds' are kept and used again there, "
        "not deleted as soon as they are loaded",
    )


def run(args: argparse.Namespace) -> Report:
    """Runs all sizes; raises AnswersDifferError where an answer is not that of the look-ups."""
    sizes = sorted(args.triples or (SIZES[:1] if args.quick else SIZES))
    if sizes[0] < LEAST_TRIPLES:
        raise SystemExit(f"a world has at least {LEAST_TRIPLES} triples, not {sizes[0]}")
    wanted = Wanted(
        queries=sorted(set(args.query or QUERIES)),
        rate=RATE,
        seconds=args.seconds or (10 if args.quick else 60),
        seed=args.seed,
        heap=args.heap,
        anew=not args.quick,
        keep_files=args.data is not None,
    )
    measured: list[Measured] = []
    notes: list[str] = []
    began = before = time.perf_counter()
    for size in sizes:
        if measured and not args.triples:
            last = measured[-1].made.triples
            now = time.perf_counter()
            expected = now - began + (now - before) * size / last
            if expected > WHOLE_S:
                notes.append(f"{size:,} triples left out: with them {expected:.0f} s")
                continue
        before = time.perf_counter()
        with world_folder(args.data / str(size) if args.data else None) as folder:
            measured.append(measure(folder, size, wanted))
        holders = len(measured[-1].made.holders.holders)
        if holders < HOLDERS:
            notes.append(f"{size:,} triples: only {holders:,} badge holders")
    return Report(NAME, [row(one) for one in measured], summary(measured, wanted, notes))


def row(measured: Measured) -> dict[str, Any]:
    """One line of the result; queries that were not run are None."""
    made, loaded, served = measured.made, measured.loaded, measured.served
    triples = made.triples
    first = min(served)
    usual = served[USUAL if USUAL in served else first]
    opened = served[first]
    found: dict[str, Any] = {
        "triples": triples,
        "generate_s": made.generate_s and round(made.generate_s, 2),
        "generate_mib": round(made.peak_mib),
        "text_b": round(made.text_bytes / triples, 2),
        "load_s": round(loaded.load_s, 2),
        "load_rate": round(triples / loaded.load_s / 1000, 1),
        "load_mib": round(loaded.load_mib),
        "save_s": round(loaded.save_s, 2),
        "save_mib": round(loaded.save_mib),
        "disk_b": round((loaded.terms_bytes + loaded.tables_bytes) / triples, 2),
        "terms_b": round(loaded.terms_bytes / triples, 2),
        "tables_b": round(loaded.tables_bytes / triples, 2),
        "heap_b": round(usual.heap_mib * 2**20 / triples, 2),
        "heap_mib": round(usual.heap_mib),
        "resident_mib": round(usual.resident.now_mib),
        "mapped_mib": round(usual.resident.mapped_mib),
        "peak_mib": round(usual.resident.peak_mib),
        "open_s": round(opened.open_s, 3),
        "first_s": round(opened.first_s(first), 2),
        "started_s": round(opened.start_s + opened.first_s(first), 2),
        "cold_s": measured.cold and round(measured.cold.first_s(first), 2),
    }
    for query in QUERIES:
        ms = measured.answers(query).ms if query in served else None
        for percent in (50, 95):
            value = None if ms is None else round(float(np.percentile(ms, percent)), 2)
            found[f"{query}_p{percent}_ms"] = value
    return found


def summary(measured: list[Measured], wanted: Wanted, notes: list[str]) -> dict[str, Any]:
    """What there is to say of all sizes, by size and query."""

    def by_size(of: Any) -> dict[str, dict[str, Any]]:
        return {f"{m.made.triples:,}": {q: of(m, q) for q in m.served} for m in measured}

    def details(m: Measured, query: str) -> dict[str, Any]:
        answers: Answers = m.answers(query)
        return {
            "open_s": round(m.served[query].open_s, 3),
            "first_ms": round(answers.ms[0], 2),
            "last_ms": round(float(np.median(answers.ms[LAST_SECONDS])), 2),
            "evaluation_ms": round(float(np.median(answers.evaluation_ms)), 3),
            "heap_mib": round(m.served[query].heap_mib),
            "resident_mib": round(m.served[query].resident.now_mib),
            "ms": [round(ms, 3) for ms in answers.ms],
        }

    return {
        "rate": wanted.rate,
        "seconds": wanted.seconds,
        "growth": growth(measured),
        "growth_last": growth(measured, LAST_SECONDS),
        "register_s": by_size(lambda m, query: round(m.answers(query).register_s, 2)),
        "first_s": by_size(lambda m, query: round(m.served[query].first_s(query), 2)),
        "answers": by_size(lambda m, query: round(float(np.median(m.answers(query).counts)))),
        "compared": f"{sum(m.compared for m in measured):,} answers of look-ups, all the same",
        "notes": notes,
        "queries": by_size(details),
    }


def growth(measured: list[Measured], seconds: slice = ALL_SECONDS) -> dict[str, float]:
    """How many times as long a query takes over the largest world as over the smallest: medians of these seconds."""
    if len(measured) < 2:
        return {}
    small, large = (
        {query: float(np.median(m.answers(query).ms[seconds])) for query in m.served}
        for m in (measured[0], measured[-1])
    )
    return {query: round(large[query] / small[query], 2) for query in small}
