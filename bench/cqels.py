"""Figure 5 of the CQELS report: what pre-processing and the optimizer bring, by Q1-Q4 over badge sightings.

Three implementations: `systemx` (the static part of each query materialised as rows of strings in stock Spark: no
shared encoding, no index), `preprocessing` (this engine, patterns joined as written), and this engine as it is, with
both. They are measured as `python -m bench arrival` measures: each second of a stream, from rows in the caller's hand
to decoded answers there, over NOW and RANGE 30 s, in processes that start anew for every query and rate, and all
seconds of the first minute count. System X, which is slow, answers as many of them as fit into its --budget, the first
and others spread over the minute. The answers of every second are compared.

p50_ms, p95_ms and first_answer_ms are of the engine as it is, and evaluation_ms is that part of it which is evaluation
alone; optimizer_share is the part of evaluation that went into statistics and the choice of plans, over the rest.
"""

from __future__ import annotations

import argparse
from typing import Any

from bench.arrivals import FIGURE_5, PREPROCESSING, SYSTEM_X
from bench.arrivals.options import Usual, add_minute_options, measured_minutes
from bench.report import Report

NAME = "cqels"
FULL = Usual(1.0, (1000,), 60, 30.0, 5)
COLUMNS = (
    "query",
    "rate",
    "p50_ms",
    "p95_ms",
    "first_answer_ms",
    "evaluation_ms",
    "optimizer_share",
    "preprocessing_p50_ms",
    "preprocessing_first_answer_ms",
    "systemx_p50_ms",
    "systemx_first_answer_ms",
    "answers",
)
# What of the summary is shown on the screen; all of it is in the JSON file.
SHOWN = ("scale", "seconds", "figure_5", "figure_5_reported", "answered", "notes")
# What the CQELS report reads off its Figure 5: gains of at least so much.
REPORTED = {
    "q2": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0},
    "q3": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0, "both_to_systemx": 0.06},
    "q4": {"preprocessing_gain": 8.0, "optimizer_gain": 2.0},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    add_minute_options(parser, FULL)


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
    """Runs the bench; raises AnswersDifferError when two implementations disagree."""
    rows, summary = measured_minutes(args, FULL, FIGURE_5, ",".join(FIGURE_5))
    return Report(
        NAME, rows, {"figure_5": figure_5(rows), "figure_5_reported": REPORTED, **summary}
    )
