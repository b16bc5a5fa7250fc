"""Annotated triples as RDF-star and reified: bytes of an element, and time of a query.

Figures 1 and 2 of the RSP-QL* paper (2019, sections 8.2 and 8.3). An element is a graph of N stated
triples with one annotation each, and its time triple; `annotated` is N. Of one triple the
annotation is its confidence, of the others who reported it. Bytes are means over elements, gzip is
of each element by itself, as it would be sent. `plain` is N-Quads-star, `compact` TriG-star with
one prefix and one base (reified: and rdf:, with brackets as blank nodes, its shortest form).

The query finds all triples with a confidence of more than 0.5 in a window of 10 s, once a second.
The three answer the same content in turn, the first one another each time, and must give the same
answers at every evaluation:

- star: `<< ?s ?p ?o >> :confidence ?c`, over RDF-star.
- reification: rdf:type, rdf:subject, rdf:predicate, rdf:object and then :confidence, joined in this
  order, as the paper's prototype does, which "applies no specific optimization techniques"
  (spark.cqels.adaptive.enabled=false).
- optimised: the same query and data, joined in the order that the optimizer chooses by selectivity.

Milliseconds are medians after warm-up, from the instant's being due to the answers' being a table:
moving the window and the optimizer's work are within, parsing and encoding the elements are not.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from bench.answers import fingerprint
from bench.data.annotated import SERIALISATIONS, annotated_element, read_elements, serialised
from bench.data.ehealth import HOME
from bench.data.rdf_files import QUERIES
from bench.data.reification import reified_pattern
from bench.report import BenchError, Report, progress
from sparkext import Engine
from sparkext.recorded_streams import StreamElement

NAME = "star"
APPROACHES = ("star", "reification", "optimised")
WINDOW_SECONDS = 10
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
    """Elements a second, evaluations before measuring, measured evaluations."""

    rate: int
    warm_ups: int
    evaluations: int

    @property
    def elements(self) -> int:
        """How many elements are pushed."""
        return self.rate * (WINDOW_SECONDS + self.warm_ups + self.evaluations)


FULL, QUICK = Effort(50, 30, 40), Effort(40, 10, 25)
FULL_SIZES, QUICK_SIZES = (1, 2, 5, 10, 20), (1, 5, 10)


@dataclass
class Documents:
    """The elements of one row as documents, RDF-star and reified."""

    star: list[bytes] = field(default_factory=list)
    reified: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, serialisation: str, annotated: int, effort: Effort, seed: int) -> Documents:
        """As many elements as are pushed, from second 1 on."""
        made = cls()
        for number in range(effort.elements):
            time_ms = (number // effort.rate + 1) * 1000
            element = annotated_element(number, time_ms, annotated, seed)
            made.star.append(serialised(element, serialisation, reified=False))
            made.reified.append(serialised(element, serialisation, reified=True))
        return made

    def sizes(self) -> dict[str, int]:
        """Mean bytes of an element, rounded."""

        def mean(sizes: list[int]) -> int:
            return round(float(np.mean(sizes)))

        return {
            "bytes_star": mean([len(d) for d in self.star]),
            "bytes_reification": mean([len(d) for d in self.reified]),
            "gzip_star": mean([len(gzip.compress(d, mtime=0)) for d in self.star]),
            "gzip_reification": mean([len(gzip.compress(d, mtime=0)) for d in self.reified]),
        }


class Runner:
    """One approach: the query over its stream, in an engine that joins as written or by cost."""

    def __init__(self, engine: Engine, approach: str, run: int) -> None:
        # A stream of its own for each row: time begins anew.
        iri = f"{HOME}{approach}/{run}"
        text = (QUERIES / "ehealth" / "confident.rspql").read_text(encoding="utf-8")
        if approach != "star":
            text = reified_pattern(text)
        self.name = approach
        self.ms: list[float] = []
        self._stream = engine.register_stream(iri)
        self._query = engine.register_query(text.replace("ON <annotated>", f"ON <{iri}>"))

    def evaluate(self, second: int, elements: list[StreamElement], measured: bool) -> str:
        """Push a second's elements; the fingerprint of the answers at its end, if a window closes then."""
        self._stream.push_elements(elements)
        self._stream.advance_to(second * 1000)
        answers = self._query.last_answers
        if answers is None:
            return ""
        if answers.time != second * 1000:
            raise BenchError(f"{self.name} answered at {answers.time} ms, not at {second} s")
        if measured:
            self.ms.append(self._query.progress.last_seconds * 1e3)
        return fingerprint(answers.table)

    def median(self) -> float:
        """Milliseconds of an evaluation."""
        return round(float(np.median(self.ms)), 3)

    def stop(self) -> None:
        """End the query."""
        self._query.stop()


def answer_in_turn(
    runners: list[Runner], documents: Documents, serialisation: str, effort: Effort
) -> None:
    """Run all approaches over the same elements in turn; raises AnswersDifferError."""
    star = read_elements(documents.star, serialisation)
    reified = read_elements(documents.reified, serialisation)
    answered = 0
    for index in range(len(star) // effort.rate):
        measured = index >= WINDOW_SECONDS + effort.warm_ups
        now = slice(index * effort.rate, (index + 1) * effort.rate)
        turn = index % len(runners)
        fingerprints = {
            r.name: r.evaluate(index + 1, (star if r.name == "star" else reified)[now], measured)
            for r in runners[turn:] + runners[:turn]
        }
        if len(set(fingerprints.values())) != 1:
            raise AnswersDifferError(f"second {index + 1}: {fingerprints} (rows and a hash)")
        answered += int(fingerprints["star"].partition("-")[0] or 0)
    if not answered:
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
        "--evaluations",
        type=int,
        help=f"measured evaluations (default {FULL.evaluations}; quick {QUICK.evaluations})",
    )
    parser.add_argument(
        "--warm-ups",
        type=int,
        help=f"evaluations before them (default {FULL.warm_ups}; quick {QUICK.warm_ups})",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the elements")


def _session() -> SparkSession:
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _engines(spark: SparkSession) -> dict[str, Engine]:
    """The engine of each approach: one orders joins by cost, one joins as written."""
    by_cost = Engine(spark)
    before = spark.conf.get(ADAPTIVE, "true") or "true"
    spark.conf.set(ADAPTIVE, "false")
    try:
        as_written = Engine(spark)
    finally:
        spark.conf.set(ADAPTIVE, before)
    return {"star": by_cost, "reification": as_written, "optimised": by_cost}


def measure(
    spark: SparkSession, sizes: Sequence[int], effort: Effort, seed: int
) -> list[dict[str, Any]]:
    """The rows for these numbers of annotated triples; raises AnswersDifferError.

    The first size is run twice: before that, all code of the engine is new to the JVM.
    """
    engines = _engines(spark)
    rows: list[dict[str, Any]] = []
    try:
        kinds = list(itertools.product(SERIALISATIONS, sizes))
        for number, (serialisation, annotated) in enumerate([kinds[0], *kinds]):
            documents = Documents.of(serialisation, annotated, effort, seed)
            runners = [Runner(engines[name], name, number) for name in APPROACHES]
            answer_in_turn(runners, documents, serialisation, effort)
            for runner in runners:
                runner.stop()
            row = {"serialisation": serialisation, "annotated": annotated, **documents.sizes()}
            row |= {f"{runner.name}_ms": runner.median() for runner in runners}
            if number > 0:
                rows.append(row)
                progress("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
    finally:
        for engine in dict.fromkeys(engines.values()):
            engine.close()
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
    effort = Effort(
        args.rate or usual.rate,
        usual.warm_ups if args.warm_ups is None else args.warm_ups,
        args.evaluations or usual.evaluations,
    )
    sizes = sorted(set(args.annotated or (QUICK_SIZES if args.quick else FULL_SIZES)))
    if sizes[0] < 1:
        raise SystemExit("an element has at least one annotated triple")
    rows = measure(_session(), sizes, effort, args.seed)
    return Report(NAME, rows, {**summarise(rows), **asdict(effort), "elements": effort.elements})
