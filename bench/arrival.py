"""From arrival to answer: Q1-Q4 of the CQELS report from rows in the caller's hand to decoded answers there.

Every second an Arrow table of badge sightings arrives (IRIs as text, a time), and the query is answered over NOW and
RANGE 30 s, on a world of `python -m bench.data dblp`. p50_ms and p95_ms are milliseconds from the rows' being in the
caller's hand to the answers' being there as an Arrow table of term texts: taking rows in (parsing, encoding), moving
the windows, evaluating, and decoding are all in it, for this engine and for each peer. Of ours evaluation_ms,
decode_ms and all the rest, upkeep_ms, are columns. There is no warm-up: the stream begins with empty windows, and all
seconds count from the first on (first_answer_ms), one after the other without a pause. What runs in a JVM starts anew
for every query and rate. The answers of every second are compared. null: a peer is not installed, or failed.

numpy is what one would write by hand: a dictionary, arrays, and joins that are look-ups, made for these four queries.
"""

from __future__ import annotations

import argparse
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.arrivals import ENCODED, PEERS, STARTED_ANEW
from bench.arrivals.minutes import Minutes
from bench.arrivals.rows import write_seconds
from bench.data.world import DEFAULT_SEED
from bench.data.world_files import prepare_world, world_folder
from bench.peers import OURS
from bench.peers.choice import chosen_peers
from bench.peers.process import PeerError, PeerProcess
from bench.report import Report, progress

NAME = "arrival"
QUERIES = ("q1", "q2", "q3", "q4")
RATES = (1000, 5000)
COLUMNS = (
    "query",
    "rate",
    "p50_ms",
    "p95_ms",
    "first_answer_ms",
    "evaluation_ms",
    "upkeep_ms",
    "decode_ms",
    *(f"{peer}_p50_ms" for peer in PEERS if peer != OURS),
    "answers",
)
SHOWN = ("scale", "seconds", "ours_to_peer", "answered", "notes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--scale", type=float, help="size of the world (default 1; quick 0.02)")
    parser.add_argument(
        "--rate",
        type=int,
        action="append",
        help="sightings a second; repeatable (default 1000 and 5000; quick 1000)",
    )
    parser.add_argument(
        "--query", action="append", choices=QUERIES, help="only this query; repeatable"
    )
    parser.add_argument(
        "--peers", metavar="A,B", default=",".join(PEERS), help=f"some of {','.join(PEERS)}"
    )
    parser.add_argument("--seconds", type=int, help="length of a stream (default 60; quick 5)")
    parser.add_argument(
        "--budget",
        type=float,
        help="seconds a peer may spend on one query at one rate before it answers fewer of its "
        "seconds, at least one (default 10; quick 2)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=600.0,
        help="seconds after which one answer is given up and its peer ended (default 600)",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the world")
    parser.add_argument(
        "--data", type=Path, help="folder for the world's files, kept and used again there"
    )


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two peers disagree."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    scale, seconds = default(args.scale, 1.0, 0.02), default(args.seconds, 60, 5)
    queries = sorted(set(args.query or QUERIES))
    done = Minutes(seconds={}, budget_s=default(args.budget, 10.0, 2.0), limit_s=args.limit)
    names = chosen_peers(args.peers, PEERS, done.notes)
    with world_folder(args.data) as folder:
        world = prepare_world(folder, scale, args.seed)
        shutil.rmtree(folder / ENCODED, ignore_errors=True)  # of a run with other code, perhaps
        for rate in args.rate or default(None, RATES, RATES[:1]):
            done.seconds[rate] = write_seconds(world, folder / f"rows-{rate}", rate, seconds)
        del world
        _run_all(done, names, queries, folder, scale, () if args.quick else STARTED_ANEW)
    rows = [done.row(query, rate, scale) for query in queries for rate in done.seconds]
    summary = {
        "scale": scale,
        "seconds": seconds,
        "ours_to_peer": ratios(rows),
        "answered": done.details(lambda measured: len(measured.ms)),
        "peer_versions": done.versions,
        "load_s": done.load_s,
        "notes": done.notes,
        "ms": done.details(lambda measured: [round(ms, 3) for ms in measured.ms]),
    }
    return Report(NAME, rows, summary)


def _run_all(
    done: Minutes,
    names: list[str],
    queries: list[str],
    folder: Path,
    scale: float,
    started_anew: tuple[str, ...],
) -> None:
    """All minutes of a query and rate follow each other, one peer at work at a time."""
    going_on = list(names)
    with ExitStack() as stack:
        lasting: dict[str, PeerProcess] = {}

        def run_one(name: str, query: str, rate: int) -> None:
            if name in started_anew:
                with PeerProcess(name, PEERS[name].module) as peer:
                    if done.load([peer], folder, scale, 1):
                        done.run(peer, query, rate)
                    else:
                        going_on.remove(name)
                return
            if name not in lasting:
                peer = stack.enter_context(PeerProcess(name, PEERS[name].module))
                lasting.update(done.load([peer], folder, scale, 1))
            if name in lasting:
                done.run(lasting[name], query, rate)
            else:
                going_on.remove(name)

        for query in queries:
            for rate in done.seconds:
                for name in list(going_on):
                    progress(f"  {query} at {rate:,} sightings a second: {name}")
                    try:
                        run_one(name, query, rate)
                    except PeerError as error:
                        done.left_out(name, error)
                        going_on.remove(name)


def ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Our median as a fraction of each peer's, by query and rate."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        of_row = {
            name: round(row["p50_ms"] / row[f"{name}_p50_ms"], 4)
            for name in PEERS
            if name != OURS and row["p50_ms"] and row[f"{name}_p50_ms"]
        }
        if of_row:
            found[f"{row['query']}@{row['rate']}"] = of_row
    return found
