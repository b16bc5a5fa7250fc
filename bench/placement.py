"""Where a filter with an uncertainty function goes: early, late, or by cost, by fan-out and selectivity of a join.

The follow-up experiment of the uncertainty paper (Figure 3): two streams of events, each of the first leading to
0.01, 0.1, 1, 10 or 100 of the second, and a filter of the first's uncertain values that lets a share from 0 to 1
pass; with the native functions and with functions made dear (100 microseconds a call). Which place wins in the long
run is the question: *_first_ms is the first evaluation of a cell, *_ms the median once the cell has settled. Each
placement has an engine of its own; they evaluate in turn, over windows as large as the faster of early and late needs
to take 10 ms and more, but of no more than 524,288 events (32,768 with dear functions), and must give equal answers. A
turn is one evaluation, of native functions the median of three in a row: the first one finds in the processor's caches
what another engine left there. ratio is the median under cost over that of the faster one; noise is the median of early
in a second pass over that in the first. A placement five times as slow as the other is run a few times only; if that is
early, the cell has no noise. For a denser grid see --selectivity.

Then a stream whose selectivity and fan-out drift: drift_ratio is the time of all batches under cost over that of the
better of early and late in each batch. It is the time from the end of a batch to its answers: every batch fills the
windows anew, and what moving them takes depends on the indexes that a plan reads. drift_evaluation_ratio is without it.
Both are of the rounds after the first one, which is drift_first_ratio.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bench.report import Report, progress
from bench.uncertainty.placement_cells import CellEffort, CellRace
from bench.uncertainty.placement_drift import DriftEffort, DriftRace
from bench.uncertainty.uncertain_engine import FUNCTIONS, session

NAME = "placement"
COLUMNS = (
    "cardinality",
    "selectivity",
    "functions",
    "events",
    "early_ms",
    "late_ms",
    "cost_ms",
    "early_first_ms",
    "late_first_ms",
    "cost_first_ms",
    "ratio",
    "noise",
    "answers",
)
SHOWN = (
    "worst_ratio",
    "noise",
    "least_ms",
    "crossover",
    "drift_ratio",
    "drift_first_ratio",
    "drift_evaluation_ratio",
)

CARDINALITIES = (100.0, 10.0, 1.0, 0.1, 0.01)
SELECTIVITIES = (1.0, 0.75, 0.5, 0.25, 0.0)
QUICK_CARDINALITIES = (10.0, 0.1)
QUICK_SELECTIVITIES = (0.8, 0.1)
# Evaluations get a little faster still after settling, and are wanted longer than they must be. To fill three
# engines' windows takes 10 s for each 100,000 events, which is what bounds them.
FULL = {
    "native": CellEffort(4, 7, 2, 10.0, 2048, 1 << 19, sized_ms=20.0, repeats=3),
    "dear": CellEffort(4, 7, 2, 10.0, 256, 1 << 15, sized_ms=20.0),
}
QUICK = {
    "native": CellEffort(2, 3, 2, 0.0, 1000, 1000),
    "dear": CellEffort(2, 3, 2, 0.0, 100, 100),
}
DRIFT = DriftEffort(12, 1, 3, {"native": 20_000, "dear": 400})
QUICK_DRIFT = DriftEffort(6, 1, 1, {"native": 1000, "dear": 100})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--cardinality",
        type=float,
        action="append",
        help=f"only this fan-out; repeatable (default {', '.join(f'{c:g}' for c in CARDINALITIES)};"
        f" quick {', '.join(f'{c:g}' for c in QUICK_CARDINALITIES)})",
    )
    parser.add_argument(
        "--functions",
        action="append",
        choices=FUNCTIONS,
        help="only these; repeatable (default both)",
    )
    parser.add_argument(
        "--selectivity",
        type=float,
        action="append",
        help=f"only this share; repeatable (default {', '.join(f'{s:g}' for s in SELECTIVITIES)};"
        f" quick {', '.join(f'{s:g}' for s in QUICK_SELECTIVITIES)})",
    )


def cells(
    race: CellRace, cardinalities: Sequence[float], selectivities: Sequence[float], first: int
) -> Iterator[dict[str, Any]]:
    """The rows of one kind of functions; sizes go on from cell to cell, which get harder to make slow enough.

    So do cardinalities, each from what the one before began with, the first of them from `first`.
    """
    for cardinality in cardinalities:
        found: list[dict[str, Any]] = []
        for selectivity in selectivities:
            events = found[-1]["events"] if found else first
            found.append(race.measure(cardinality, selectivity, events))
        yield from found
        first = found[0]["events"]


def crossover(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Where early and late change places, by functions and cardinality.

    `faster` is the better one at the least and at the greatest selectivity, `at` are the selectivities at which they
    change, linearly interpolated.

    >>> crossing = [{"early_ms": 10.0 * s, "late_ms": 5.0, "selectivity": s} for s in (0.0, 1.0)]
    >>> crossover([{**cell, "functions": "dear", "cardinality": 10.0} for cell in crossing])
    {'dear': {'10': {'faster': ['early', 'late'], 'at': [0.5]}}}
    """
    found: dict[str, dict[str, Any]] = {}
    for functions, cardinality in dict.fromkeys((r["functions"], r["cardinality"]) for r in rows):
        gaps = sorted(
            (row["selectivity"], row["early_ms"] - row["late_ms"])
            for row in rows
            if (row["functions"], row["cardinality"]) == (functions, cardinality)
        )
        apart = [(gap, selectivity) for selectivity, gap in gaps if gap]
        between = [sorted(two) for two in pairwise(apart) if two[0][0] * two[1][0] < 0]
        at = [round(float(np.interp(0.0, *np.transpose(two))), 3) for two in between]
        faster = ["late" if gap > 0 else "early" for _, gap in (gaps[0], gaps[-1])]
        found.setdefault(functions, {})[f"{cardinality:g}"] = {"faster": faster, "at": at}
    return found


def summarise(rows: list[dict[str, Any]], drift: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst cell beside the noise, the shortest of the faster evaluations, and the drifting stream."""
    worst = max(rows, key=lambda row: row["ratio"])
    noise = [row["noise"] for row in rows if row["noise"] is not None]
    return {
        "worst_ratio": worst["ratio"],
        "worst_cell": {key: worst[key] for key in COLUMNS[:7]},
        "noise": round(float(np.percentile(noise, 95)), 4) if noise else None,
        "least_ms": min(min(row["early_ms"], row["late_ms"]) for row in rows),
        "crossover": crossover(rows),
        "drift_ratio": max((row["total_ratio"] for row in drift), default=None),
        "drift_first_ratio": max((row["first_total_ratio"] for row in drift), default=None),
        "drift_evaluation_ratio": max((row["ratio"] for row in drift), default=None),
        "drift": drift,
    }


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two placements disagree."""
    cardinalities = args.cardinality or (QUICK_CARDINALITIES if args.quick else CARDINALITIES)
    selectivities = args.selectivity or (QUICK_SELECTIVITIES if args.quick else SELECTIVITIES)
    rows: list[dict[str, Any]] = []
    drift: list[dict[str, Any]] = []
    spark = session()
    try:
        for functions in args.functions or FUNCTIONS:
            progress(f"{functions} functions")
            effort = (QUICK if args.quick else FULL)[functions]
            race = CellRace(spark, functions, effort)
            try:
                rows += cells(race, cardinalities, selectivities, effort.events)
            finally:
                race.close()
            progress("  a drifting stream")
            drifting = DriftRace(spark, functions, QUICK_DRIFT if args.quick else DRIFT)
            try:
                drift.append(drifting.run())
            finally:
                drifting.close()
    finally:
        spark.stop()
    return Report(NAME, rows, summarise(rows, drift))
