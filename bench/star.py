"""Annotated triples as RDF-star and reified: bytes of an element, and time of a query.

Figures 1 and 2 of the RSP-QL* paper (2019, sections 8.2 and 8.3). An element is a graph of N stated
triples with one annotation each, and its time triple; `annotated` is N. Of one triple the
annotation is its confidence, of the others who reported it. Bytes are means over elements, gzip is
of each element by itself, as it would be sent. `plain` is N-Quads-star, `compact` TriG-star with
one prefix and one base (reified: and rdf:, with brackets as blank nodes, its shortest form).

The query finds all triples with a confidence of more than 0.5 in a window of 10 s, once a second.
Each approach starts anew for every row, in a process of its own; all evaluations count from the first
window that closes on, and all three must give the same answers at every one of them:

- star: `<< ?s ?p ?o >> :confidence ?c`, over RDF-star.
- reification: rdf:type, rdf:subject, rdf:predicate, rdf:object and then :confidence, joined in this
  order, as the paper's prototype does, which "applies no specific optimization techniques"
  (spark.cqels.adaptive.enabled=false).
- optimised: the same query and data, joined in the order that the optimizer chooses by selectivity.

Milliseconds are medians. *_ms is from the instant's being due to the answers' being a table: moving
the window and the optimizer's work are within. *_arrival_ms is from a second's elements in the
caller's hand to there: parsing and encoding them is within, too; *_first_ms is that of the
first evaluation.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from bench.data.annotated import SERIALISATIONS, annotated_element, read_elements, serialised
from bench.data.ehealth import HOME
from bench.data.rdf_files import QUERIES
from bench.data.reification import reified_pattern
from bench.peers.alone import alone
from bench.peers.answers import fingerprint
from bench.report import BenchError, Report, progress
from sparkext import Engine

NAME = "star"
APPROACHES = ("star", "reification", "optimised")
WINDOW_SECONDS = 10
STREAM = f"{HOME}annotated"
ADAPTIVE = "spark.cqels.adaptive.enabled"

SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


class AnswersDifferError(BenchError):
    """Two of the approaches answered the same data differently."""


@dataclass(frozen=True)
class Effort:
    """Elements a second, and seconds of a stream."""

    rate: int
    seconds: int

    @property
    def elements(self) -> int:
        """How many elements are pushed."""
        return self.rate * self.seconds


FULL, QUICK = Effort(50, 60), Effort(40, 15)
FULL_SIZES, QUICK_SIZES = (1, 2, 5, 10, 20), (1, 5, 10)


@dataclass(frozen=True)
class Elements:
    """What is pushed for a row: annotated triples of each element, how they are written, seed."""

    serialisation: str
    annotated: int
    effort: Effort
    seed: int

    def documents(self, reified: bool) -> list[bytes]:
        """Each element as a document, from second 1 on."""
        made = []
        for number in range(self.effort.elements):
            time_ms = (number // self.effort.rate + 1) * 1000
            element = annotated_element(number, time_ms, self.annotated, self.seed)
            made.append(serialised(element, self.serialisation, reified))
        return made


def sizes_of(star: Sequence[bytes], reified: Sequence[bytes]) -> dict[str, int]:
    """Mean bytes of an element, rounded."""

    def mean(sizes: list[int]) -> int:
        return round(float(np.mean(sizes)))

    return {
        "bytes_star": mean([len(d) for d in star]),
        "bytes_reification": mean([len(d) for d in reified]),
        "gzip_star": mean([len(gzip.compress(d, mtime=0)) for d in star]),
        "gzip_reification": mean([len(gzip.compress(d, mtime=0)) for d in reified]),
    }


@dataclass(frozen=True)
class Followed:
    """What one approach made of a stream, a value for each window that closed: milliseconds, and what was answered."""

    ms: list[float]
    arrival_ms: list[float]
    fingerprints: list[str]

    def columns(self, approach: str) -> dict[str, float]:
        """Its part of a row."""
        return {
            f"{approach}_ms": round(float(np.median(self.ms)), 3),
            f"{approach}_arrival_ms": round(float(np.median(self.arrival_ms)), 3),
            f"{approach}_first_ms": round(self.arrival_ms[0], 3),
        }


def follow(spark: SparkSession, approach: str, given: Elements) -> Followed:
    """One approach over its stream, in an engine that joins as written or by cost."""
    text = (QUERIES / "ehealth" / "confident.rspql").read_text(encoding="utf-8")
    if approach != "star":
        text = reified_pattern(text)
    documents = given.documents(reified=approach != "star")
    elements = read_elements(documents, given.serialisation)
    done = Followed([], [], [])
    with closing(_engine(spark, by_cost=approach != "reification")) as engine:
        stream = engine.register_stream(STREAM)
        query = engine.register_query(text.replace("ON <annotated>", f"ON <{STREAM}>"))
        rate = given.effort.rate
        for second in range(1, given.effort.seconds + 1):
            arrived = elements[(second - 1) * rate : second * rate]
            start = time.perf_counter()
            stream.push_elements(arrived)
            stream.advance_to(second * 1000)
            arrival_ms = (time.perf_counter() - start) * 1e3
            answers = query.last_answers
            if answers is None and second < WINDOW_SECONDS:
                continue  # no window has closed yet
            if answers is None or answers.time != second * 1000:
                raise BenchError(f"{approach} has no answers at {second} s")
            done.ms.append(query.progress.last_seconds * 1e3)
            done.arrival_ms.append(arrival_ms)
            done.fingerprints.append(fingerprint(answers.table))
    return done


def follow_anew(approach: str, given: Elements) -> Followed:
    """The same in a session that begins and ends with it."""
    spark = _session()
    try:
        return follow(spark, approach, given)
    finally:
        spark.stop()


def agree(followed: Mapping[str, Followed]) -> None:
    """Raises AnswersDifferError unless all approaches gave the same answers over every window, and some at all."""
    for number, fingerprints in enumerate(
        zip(*(one.fingerprints for one in followed.values()), strict=True)
    ):
        if len(set(fingerprints)) != 1:
            said = dict(zip(followed, fingerprints, strict=True))
            raise AnswersDifferError(f"window {number + 1}: {said} (rows and a hash)")
    if all(said.startswith("0-") for one in followed.values() for said in one.fingerprints):
        raise BenchError("nothing was answered at all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--annotated",
        type=int,
        action="append",
        help="annotated triples of an element; repeatable "
        f"(default {', '.join(map(str, FULL_SIZES))}; quick {', '.join(map(str, QUICK_SIZES))})",
    )
    parser.add_argument(
        "--rate",
        type=int,
        help=f"elements a second (default {FULL.rate}; quick {QUICK.rate})",
    )
    parser.add_argument(
        "--seconds",
        type=int,
        help=f"seconds of each stream (default {FULL.seconds}; quick {QUICK.seconds})",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the elements")


def _session() -> SparkSession:
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _engine(spark: SparkSession, by_cost: bool) -> Engine:
    """An engine that orders joins by cost, or joins as written."""
    if by_cost:
        return Engine(spark)
    before = spark.conf.get(ADAPTIVE, "true") or "true"
    spark.conf.set(ADAPTIVE, "false")
    try:
        return Engine(spark)
    finally:
        spark.conf.set(ADAPTIVE, before)


def measure(
    spark: SparkSession | None, sizes: Sequence[int], effort: Effort, seed: int
) -> list[dict[str, Any]]:
    """The rows for these numbers of annotated triples; raises AnswersDifferError.

    All follow each other in the session given; without one, each approach and row has a new one.
    """
    rows: list[dict[str, Any]] = []
    for serialisation, annotated in itertools.product(SERIALISATIONS, sizes):
        given = Elements(serialisation, annotated, effort, seed)
        followed = {
            name: follow(spark, name, given) if spark else alone(follow_anew, name, given)
            for name in APPROACHES
        }
        agree(followed)
        row = {"serialisation": serialisation, "annotated": annotated}
        row |= sizes_of(given.documents(reified=False), given.documents(reified=True))
        for name, one in followed.items():
            row |= one.columns(name)
        rows.append(row)
        progress("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
    return rows


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the figures are read for, from the rows."""
    last = max(row["annotated"] for row in rows)
    return {
        "star_smaller": all(row["bytes_star"] < row["bytes_reification"] for row in rows),
        "star_smaller_gzipped": all(row["gzip_star"] < row["gzip_reification"] for row in rows),
        "star_never_slower": all(
            row["star_ms"] <= min(row["reification_ms"], row["optimised_ms"]) for row in rows
        ),
        "at_most_annotated": {
            row["serialisation"]: {
                "bytes": round(row["bytes_star"] / row["bytes_reification"], 3),
                "gzip": round(row["gzip_star"] / row["gzip_reification"], 3),
                "reification_to_star": round(row["reification_ms"] / row["star_ms"], 2),
                "optimised_to_star": round(row["optimised_ms"] / row["star_ms"], 2),
            }
            for row in rows
            if row["annotated"] == last
        },
    }


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two approaches disagree."""
    usual = QUICK if args.quick else FULL
    effort = Effort(args.rate or usual.rate, args.seconds or usual.seconds)
    sizes = sorted(set(args.annotated or (QUICK_SIZES if args.quick else FULL_SIZES)))
    if sizes[0] < 1:
        raise SystemExit("an element has at least one annotated triple")
    rows = measure(_session() if args.quick else None, sizes, effort, args.seed)
    return Report(NAME, rows, {**summarise(rows), **asdict(effort), "elements": effort.elements})
