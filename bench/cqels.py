"""Q1-Q4 of the CQELS report over badge sightings, against the engines one would use instead.

One evaluation a second over NOW and RANGE 30 s, on a world of `python -m bench.data dblp`. All
peers answer the same contents of the windows in turn, in processes of their own of which only one
works at a time, and must give the same answers. Times are medians (p50) of milliseconds from
"window content known" to "answers decoded as an Arrow table"; *window_ms is what it took to bring
the content into the engine. null: a peer is not installed, failed, or took longer than allowed.

Three of the peers are the implementations of Figure 5 of the report: `systemx` (the static part of
each query materialised as rows of strings in stock Spark: no shared encoding, no index),
`preprocessing` (this engine, patterns joined as written) and `cqels` (both). optimizer_share is the
part of the last one's time that went into statistics and the choice of plans.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.data import World
from bench.data.world import DEFAULT_SEED
from bench.data.world_files import prepare_world, world_folder
from bench.peers import OURS, PEERS, PREPROCESSING, SYSTEM_X
from bench.peers.choice import ORDERS, all_at_once, chosen_peers
from bench.peers.process import PeerProcess
from bench.peers.rounds import Rounds
from bench.report import Report
from bench.windows import RANGE_SECONDS, WindowContent, window_contents

NAME = "cqels"
QUERIES = ("q1", "q2", "q3", "q4")
RATES = (1000, 5000)
COLUMNS = (
    "query",
    "scale",
    "rate",
    "p50_ms",
    "p95_ms",
    "optimizer_share",
    "window_ms",
    "preprocessing_p50_ms",
    "systemx_p50_ms",
    "spark_p50_ms",
    "duckdb_p50_ms",
    "duckdb_window_ms",
    "oxigraph_p50_ms",
    "oxigraph_window_ms",
    "answers",
)
# What of the summary is shown on the screen; all of it is in the JSON file.
SHOWN = (
    "order",
    "evaluations",
    "warm_ups",
    "ours_to_peer",
    "figure_5",
    "figure_5_reported",
    "notes",
)
# What the CQELS report reads off its Figure 5: gains of at least so much.
REPORTED = {
    "q2": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0},
    "q3": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0, "both_to_systemx": 0.06},
    "q4": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0},
}
# Beside the engine itself.
FIGURE_5 = (PREPROCESSING, SYSTEM_X)


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
        "--peers",
        metavar="A,B",
        help=f"some of {','.join(PEERS)} (default all of them; quick without those of Figure 5)",
    )
    parser.add_argument(
        "--evaluations", type=int, help="measured evaluations (default 20; quick 3)"
    )
    parser.add_argument(
        "--warm-ups", type=int, help="evaluations before them (default 30; quick 1)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        help="seconds a peer may spend on one query at one rate before it is measured on fewer "
        "contents, at least one (default 5; quick 0.5)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=600.0,
        help="seconds after which one evaluation is given up and its peer ended (default 600)",
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="auto",
        help="interleaved: all peers are up and answer each content in turn; sequential: one is "
        "started after the other; auto: interleaved if the memory suffices",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the world")
    parser.add_argument(
        "--data", type=Path, help="folder for the world's files, kept and used again there"
    )


def _prepare_contents(world: World, folder: Path, rate: int, count: int) -> list[Path]:
    """Files of the window contents of `count` seconds in a row, the first with a full window."""
    sightings = world.sightings(rate, RANGE_SECONDS + count)
    target = folder / f"contents-{rate}"
    target.mkdir(exist_ok=True)
    paths = []
    instants = range(RANGE_SECONDS, RANGE_SECONDS + count)
    content: WindowContent
    for content in window_contents(sightings, instants):
        paths.append(target / f"{content.time}.npz")
        content.save(paths[-1])
    return paths


def _ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Our time as a fraction of each peer's, by query and rate."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        ratios = {
            name: round(row["p50_ms"] / row[f"{name}_p50_ms"], 4)
            for name in PEERS
            if name != OURS and row["p50_ms"] and row[f"{name}_p50_ms"]
        }
        if ratios:
            found[f"{row['query']}@{row['rate']}"] = ratios
    return found


def figure_5(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What pre-processing and the optimizer bring, by query and rate.

    `preprocessing_gain` is System X over pre-processing only, `optimizer_gain` pre-processing only
    over both, `both_to_systemx` our time as a fraction of System X's.
    """
    found = {}
    for row in rows:
        baseline = row[f"{SYSTEM_X}_p50_ms"]
        half, both = row[f"{PREPROCESSING}_p50_ms"], row["p50_ms"]
        if baseline and half and both:
            found[f"{row['query']}@{row['rate']}"] = {
                "preprocessing_gain": round(baseline / half, 2),
                "optimizer_gain": round(half / both, 2),
                "both_to_systemx": round(both / baseline, 4),
            }
    return found


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two peers disagree."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    scale = default(args.scale, 1.0, 0.02)
    evaluations = default(args.evaluations, 20, 3)
    warm_ups = default(args.warm_ups, 30, 1)
    queries = sorted(set(args.query or QUERIES))
    done = Rounds(
        contents={},
        warm_ups=warm_ups,
        budget_s=default(args.budget, 5.0, 0.5),
        limit_s=args.limit,
    )
    all_of_them = [name for name in PEERS if not (args.quick and name in FIGURE_5)]
    names = chosen_peers(args.peers or ",".join(all_of_them), PEERS, done.notes)
    interleaved = all_at_once(args.order, names, PEERS, scale)
    with world_folder(args.data) as folder:
        world = prepare_world(folder, scale, args.seed)
        for rate in args.rate or default(None, RATES, RATES[:1]):
            done.contents[rate] = _prepare_contents(world, folder, rate, warm_ups + evaluations)
        del world
        for group in [names] if interleaved else [[name] for name in names]:
            with ExitStack() as stack:
                peers = [
                    stack.enter_context(PeerProcess(name, PEERS[name].module)) for name in group
                ]
                # Side by side it is sooner, but load_s is then no measure.
                done.evaluate(done.load(peers, folder, scale, 2 if args.quick else 1), queries)
    rows = [done.row(query, rate, scale) for rate in done.contents for query in queries]
    summary = {
        "order": "interleaved" if interleaved else "sequential",
        "ours_to_peer": _ratios(rows),
        "figure_5": figure_5(rows),
        "figure_5_reported": REPORTED,
        "evaluations": evaluations,
        "warm_ups": warm_ups,
        "peer_versions": done.versions,
        "load_s": done.load_s,
        "notes": done.notes,
        "peers": done.details(queries),
    }
    return Report(NAME, rows, summary)
