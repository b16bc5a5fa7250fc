"""From arrival to answer: Q1-Q4 of the CQELS report from rows in the caller's hand to decoded answers there.

Every second an Arrow table of badge sightings arrives (IRIs as text, a time), and the query is answered over NOW and
RANGE 30 s, on a world of `python -m bench.data dblp`. p50_ms and p95_ms are milliseconds from the rows' being in the
caller's hand to the answers' being there as an Arrow table of term texts: taking rows in (parsing, encoding), moving
the windows, evaluating, and decoding are all in it, for this engine and for each peer. Of ours evaluation_ms,
decode_ms and all the rest, upkeep_ms, are columns. There is no warm-up: the stream begins with empty windows, and all
seconds count from the first on (first_answer_ms), one after the other without a pause; with --paced each comes in its
second, as those of a stream do. What runs in a JVM starts anew for every query and rate. The answers of every second
are compared. null: a peer is not installed, or failed.

numpy is what one would write by hand: a dictionary, arrays, and joins that are look-ups, made for these four queries.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from bench.arrivals import PEERS
from bench.arrivals.options import Usual, add_minute_options, measured_minutes
from bench.peers import OURS, PeerModule
from bench.report import Report

NAME = "arrival"
FULL = Usual(1.0, (1000, 5000), 60, 10.0, 5)
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
    add_minute_options(parser, FULL)
    parser.add_argument(
        "--peers", metavar="A,B", default=",".join(PEERS), help=f"some of {','.join(PEERS)}"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another engine, as bench/arrivals/__init__.py says; repeatable",
    )


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two peers disagree."""
    others = commanded(args.peer)
    rows, summary = measured_minutes(
        args, FULL, {**PEERS, **others}, ",".join([args.peers, *others])
    )
    return Report(NAME, rows, {"ours_to_peer": ratios(rows, (*PEERS, *others)), **summary})


def commanded(given: Sequence[str]) -> dict[str, PeerModule]:
    """The peers that are commands, by name.

    >>> commanded(["csparql=java -jar engine.jar"])["csparql"].command
    ('java', '-jar', 'engine.jar')
    """
    found = {}
    for text in given:
        name, _, command = text.partition("=")
        if not name.isidentifier() or name in PEERS or not command.strip():
            raise SystemExit(f"--peer: NAME=COMMAND with a new name is asked for, not {text!r}")
        found[name] = PeerModule("", (), tuple(shlex.split(command)))
    return found


def ratios(
    rows: list[dict[str, Any]], peers: Iterable[str] = tuple(PEERS)
) -> dict[str, dict[str, float]]:
    """Our median as a fraction of each peer's, by query and rate."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        of_row = {
            name: round(row["p50_ms"] / row[f"{name}_p50_ms"], 4)
            for name in peers
            if name != OURS and row["p50_ms"] and row[f"{name}_p50_ms"]
        }
        if of_row:
            found[f"{row['query']}@{row['rate']}"] = of_row
    return found
