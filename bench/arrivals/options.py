"""The options of benches that answer minutes of sightings, and the minutes themselves, measured by them."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.arrivals import ENCODED
from bench.arrivals.minutes import Minutes
from bench.arrivals.rows import WINDOWS, write_seconds
from bench.data.world import DEFAULT_SEED
from bench.data.world_files import prepare_world, world_folder
from bench.peers import PeerModule
from bench.peers.runs import chosen_peers

QUERIES = tuple(WINDOWS)


@dataclass(frozen=True)
class Usual:
    """What is run where nothing is asked for: size of the world, sightings a second, seconds of a stream, budget, and
    how many seconds are answered whatever they cost.
    """

    scale: float
    rates: tuple[int, ...]
    seconds: int
    budget_s: float
    least: int


QUICK = Usual(0.02, (1000,), 5, 1.0, 1)


def add_minute_options(parser: argparse.ArgumentParser, full: Usual) -> None:
    """Everything but the peers."""
    listed = " and ".join(map(str, full.rates))
    parser.add_argument(
        "--scale",
        type=float,
        help=f"size of the world (default {full.scale:g}; quick {QUICK.scale:g})",
    )
    parser.add_argument(
        "--rate",
        type=int,
        action="append",
        help=f"sightings a second; repeatable (default {listed}; quick {QUICK.rates[0]})",
    )
    parser.add_argument(
        "--query", action="append", choices=QUERIES, help="only this query; repeatable"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        help=f"length of a stream (default {full.seconds}; quick {QUICK.seconds})",
    )
    parser.add_argument(
        "--budget",
        type=float,
        help="seconds a peer may spend on one query at one rate before it answers fewer of its "
        f"seconds, at least {full.least}, quick {QUICK.least} (default {full.budget_s:g}; quick {QUICK.budget_s:g})",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=600.0,
        help="seconds after which one answer is given up and its peer ended (default 600)",
    )
    parser.add_argument(
        "--paced",
        action="store_true",
        help="give a second's rows each second, as a stream does, not as soon as the last ones are answered",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the world")
    parser.add_argument(
        "--data", type=Path, help="folder for the world's files, kept and used again there"
    )


def measured_minutes(
    args: argparse.Namespace, full: Usual, peers: Mapping[str, PeerModule], names: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and summary of these peers (names, separated by commas); raises AnswersDifferError when two disagree."""
    usual = QUICK if args.quick else full

    def given(name: str, otherwise: Any) -> Any:
        value = getattr(args, name)
        return otherwise if value is None else value

    scale, seconds = given("scale", usual.scale), given("seconds", usual.seconds)
    queries = sorted(set(args.query or QUERIES))
    done = Minutes(
        peers=peers,
        seconds={},
        budget_s=given("budget", usual.budget_s),
        least=usual.least,
        limit_s=args.limit,
        paced=args.paced,
    )
    chosen = chosen_peers(names, peers, done.notes)
    with world_folder(args.data) as folder:
        world = prepare_world(folder, scale, args.seed)
        shutil.rmtree(folder / ENCODED, ignore_errors=True)  # of a run with other code, perhaps
        for rate in args.rate or usual.rates:
            done.seconds[rate] = write_seconds(world, folder / f"rows-{rate}", rate, seconds)
        del world
        done.run_all(chosen, queries, folder, scale, anew=not args.quick)
    rows = [done.row(query, rate, scale) for query in queries for rate in done.seconds]
    summary = {
        "scale": scale,
        "seconds": seconds,
        "paced": args.paced,
        "answered": done.details(lambda measured: len(measured.ms)),
        "peer_versions": done.versions,
        "load_s": done.load_s,
        "notes": done.notes,
        "ms": done.details(lambda measured: [round(ms, 3) for ms in measured.ms]),
    }
    return rows, summary
