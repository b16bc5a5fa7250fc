"""Worked examples that papers draw: Figures 4 and 5 of RSP-QL (2014), Figure 1 and its table of RSEP-QL (2016).

These figures measure nothing: each says what is answered when. A row is a setting of a figure, with what is printed, or
follows from the paper's definitions where the print has a slip, and what this engine answers to the same stream. A
time unit is a millisecond.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

import sparkext
from bench.report import Report
from sparkext import Engine
from sparkext.runtime.answering.answers import Answers

NAME = "semantics"
COLUMNS = ("figure", "setting", "printed", "ours", "same")
E = "http://example.org/"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
SLIDING = "[RANGE 5 STEP 2 STARTING AT {t0}]"
NEARBY = {
    2: ["diana isNearby a", "eve isNearby b"],
    5: ["carl isNearby a"],
    7: ["eve isNearby a"],
    12: ["diana isNearby b"],
}
# The stream of RSEP-QL's Figure 1; of the element at 12 no query asks, it only lets time pass.
EVENTS = {
    2: ["a1 p b1"],
    4: ["a2 p b2"],
    6: ["b1 q c1", "b2 q c2"],
    8: ["b2 q c2"],
    10: ["a3 p b3", "b1 q c1"],
    12: ["d r d"],
}
NAMES: dict[tuple[str, ...], str] = {
    ("a2", "4", "6"): "e1",
    ("a1", "2", "6"): "e2",
    ("a2", "4", "8"): "e3",
    ("a1", "2", "10"): "e4",
}
LAST = 30


@dataclass(frozen=True)
class Setting:
    """A row: a query over a stream, and what it answers at which instants (empty answers are not told)."""

    figure: str
    setting: str
    query: str
    stream: Mapping[int, list[str]]
    printed: Mapping[int, list[str]]
    only: tuple[int, ...] = field(default=())


def _windows(
    figure: str, setting: str, window: str, printed: dict[int, list[str]], **more: Any
) -> Setting:
    query = (
        f"PREFIX : <{E}> REGISTER {more.pop('operator', 'RSTREAM')} :q AS SELECT ?p ?shop"
        f" FROM NAMED WINDOW :w ON :s {window} WHERE {{ WINDOW :w {{ ?p :isNearby ?shop }} }}"
    )
    return Setting(figure, setting, query, NEARBY, printed, **more)


def _sequence(
    setting: str,
    policy: str,
    printed: dict[int, list[str]],
    operator: str = "RSTREAM",
    first: str = "LANDMARK 1",
    second: str = "RANGE 5",
) -> Setting:
    instants = " ".join(
        f"FROM NAMED WINDOW :at{t} ON :s [INTERVAL {t} {t}] REPORT ON WC" for t in printed
    )
    query = (
        f"PREFIX : <{E}> REGISTER {operator} :q AS SELECT ?x ?start ?end"
        f" FROM NAMED WINDOW :w1 ON :s [{first}] FROM NAMED WINDOW :w2 ON :s [{second}] {instants}"
        " EVENT ON :w1 { ?x :p ?y } AS E1 EVENT ON :w2 { ?y :q ?z } AS E2"
        f" WHERE {{ MATCH {policy} {{ E1 SEQ E2 FROM ?start TO ?end }} }}"
    )
    return Setting("RSEP-QL Figure 1", setting, query, EVENTS, printed)


ALL = ["carl a", "diana a", "eve b"]
LATER = {
    6: ALL,
    8: ["carl a", "eve a"],
    10: ["eve a"],
    12: ["diana b"],
    14: ["diana b"],
    16: ["diana b"],
}
WC_NC = f"{SLIDING.format(t0=1)} REPORT ON WC AND NC"
FIRST, LATEST = "RSP-QL Figure 4", "RSP-QL Figure 5"
ROWS = (
    _windows(FIRST, "t0 = 0, first window", SLIDING.format(t0=0), {5: ALL}, only=(5,)),
    _windows(FIRST, "t0 = 1, first window", SLIDING.format(t0=1), {6: ALL}, only=(6,)),
    _windows(
        FIRST, "t0 = 2, first window", SLIDING.format(t0=2), {7: ["carl a", "eve a"]}, only=(7,)
    ),
    _windows(LATEST, "C-SPARQL: window close, non-empty; RStream", WC_NC, LATER),
    _windows(
        LATEST,
        "SPARQLstream: window close, non-empty; IStream",
        WC_NC,
        {6: ALL, 8: ["eve a"], 12: ["diana b"]},
        operator="ISTREAM",
    ),
    _windows(
        LATEST,
        "SPARQLstream: window close, non-empty; DStream",
        WC_NC,
        {8: ["diana a", "eve b"], 10: ["carl a"], 12: ["eve a"]},
        operator="DSTREAM",
    ),
    _windows(
        LATEST,
        "CQELS: content change, IStream",
        f"{SLIDING.format(t0=1)} REPORT ON CONTENT CHANGE",
        {2: ["diana a", "eve b"], 5: ["carl a"], 7: ["eve a"], 12: ["diana b"]},
        operator="ISTREAM",
    ),
    _sequence("unrestricted", "UNRESTRICTED", {8: ["e1", "e2", "e3"], 10: ["e4"]}, "ISTREAM"),
    _sequence("chronological", "CHRONOLOGICAL", {8: ["e1", "e2"], 10: []}),
    _sequence("recent", "RECENT", {8: ["e2", "e3"], 10: []}),
    _sequence(
        "C-SPARQL's timestamps", "NAIVE", {8: ["e3"], 10: []}, first="RANGE 7", second="RANGE 7"
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This bench has no options beside --quick and --json; --quick changes nothing."""


def run(args: argparse.Namespace) -> Report:
    """Runs all settings side by side; a row says whether the answers are those that are printed."""
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        rows = [answered(spark, setting) for setting in ROWS]
    finally:
        spark.stop()
    return Report(NAME, rows, {"same": sum(row["same"] for row in rows), "of": len(rows)})


def answered(spark: SparkSession, setting: Setting) -> dict[str, Any]:
    """One line of the result."""
    heard: list[Answers] = []
    with closing(Engine(spark)) as engine:
        stream = engine.register_stream(f"{E}s")
        engine.register_query(setting.query).subscribe(heard.append)
        for time, triples in setting.stream.items():
            # Elements of their own, at the same time: each is a triple of the paper's stream of triples.
            whole = [tuple(f"{E}{name}" for name in text.split()) for text in triples]
            for part in [whole] if setting.stream is EVENTS else [[one] for one in whole]:
                stream.push(part, time=time)  # type: ignore[arg-type]
        engine.advance_to(LAST)
    ours = {a.time: told(a) for a in heard if not setting.only or a.time in setting.only}
    ours, printed = _without_empty(ours), _without_empty(setting.printed)
    return {
        "figure": setting.figure,
        "setting": setting.setting,
        "printed": _text(printed),
        "ours": _text(ours),
        "same": ours == printed,
        "instants": sorted(ours),
        "printed_instants": sorted(printed),
    }


def told(answers: Answers) -> list[str]:
    """An answer's rows in short, in order: local names, events by the names that the paper gives them."""
    rows = [tuple(_local(cell) for cell in row) for row in answers.rows()]
    return sorted(NAMES.get(row, " ".join(row)) for row in rows)


def _local(term: str | None) -> str:
    r"""
    >>> _local("<http://example.org/a1>"), _local('"1970-01-01T00:00:00.010Z"^^<http://e/dateTime>')
    ('a1', '10')
    """
    text = (term or "-").removeprefix("<" + E).removesuffix(">")
    return str(int(text.split(".")[1][:3])) if text.startswith('"1970') else text


def _without_empty(history: Mapping[int, Iterable[str]]) -> dict[int, list[str]]:
    return {time: sorted(rows) for time, rows in sorted(history.items()) if list(rows)}


def _text(history: Mapping[int, list[str]]) -> str:
    """
    >>> _text({8: ["e1", "e2"], 10: ["e4"]})
    '8: e1, e2; 10: e4'
    """
    return "; ".join(f"{time}: {', '.join(rows)}" for time, rows in history.items())
