"""Event patterns over small streams, for whoever answers them: cases, and how their answers are told.

A time unit is a millisecond. Elements are given by their times, triples as three local names. The answer at an instant
is told as sorted lines: the values of the answer's columns by local names, times as milliseconds, `-` for what is
unbound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation, static_graphs
from static_data.terms import Literal, parse_term
from tests.oracle.evaluation import stream_element
from tests.oracle.recorded import Element, element
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://example.org/"
History: TypeAlias = dict[int, list[str]]
"""The answers at all instants of evaluation, by instant."""

Contents: TypeAlias = Mapping[int, Sequence[str]]
"""The triples of a stream's elements by their times."""


def stream(contents: Contents) -> list[Element]:
    """Elements without names.

    >>> stream({2: ["a p _:b"]})[0].triples
    ('<http://example.org/a> <http://example.org/p> _:b .',)
    """
    return [element(time, *map(triple, texts)) for time, texts in contents.items()]


def triple(text: str) -> str:
    """The N-Triples statement of three local names, numbers or blank nodes."""
    return f"{' '.join(map(_term, text.split()))} ."


def _term(text: str) -> str:
    if text.isdecimal():
        return f'"{text}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return text if text.startswith("_:") else f"<{E}{text}>"


@dataclass(frozen=True)
class Case:
    """A query, what its streams hold, and what it answers.

    `windows` declares windows by name, on the stream :S where no other is named; `events` are events by name, each with
    its window and its pattern. With `at` the query is evaluated at these instants, at which there must be elements of
    :S; without, as `every` says (COMPUTED EVERY) or where its windows report. `static` has the triples of the default
    graph, `named` those of others, a line each. `pattern` is the query's WHERE, MATCH in it that of the case.
    """

    match: str
    events: Mapping[str, tuple[str, str]]
    streams: Mapping[str, Contents]
    expected: History
    at: Sequence[int] = ()
    select: str = "*"
    windows: Mapping[str, str] = field(default_factory=lambda: {"w": "[LANDMARK 0]"})
    operator: str | None = "RSTREAM"
    every: str = ""
    profile: str = "rspql"
    bags: bool = False
    static: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    pattern: str = "MATCH"

    @property
    def text(self) -> str:
        """The query."""
        clauses = [_declared(name, window) for name, window in self.windows.items()]
        clauses += [
            f"FROM NAMED WINDOW :at{t} ON :S [INTERVAL {t} {t}] REPORT ON WC" for t in self.at
        ]
        clauses += [f"EVENT ON :{w} {{ {p} }} AS {name}" for name, (w, p) in self.events.items()]
        register = "" if self.operator is None else f"REGISTER {self.operator} :q {self.every} AS "
        where = self.pattern.replace("MATCH", f"MATCH {self.match}")
        return (
            f"PREFIX : <{E}> {register}SELECT {self.select} {' '.join(clauses)} WHERE {{ {where} }}"
        )

    @property
    def elements(self) -> dict[str, list[Element]]:
        """The elements by the IRI of their stream."""
        return {f"{E}{name}": stream(contents) for name, contents in self.streams.items()}


def _declared(name: str, window: str) -> str:
    on, _, rest = window.partition(" ") if window.startswith(":") else (":S", "", window)
    return f"FROM NAMED WINDOW :{name} ON {on} {rest}"


Answering: TypeAlias = Callable[[Case], History]


ANSWERING = ["oracle", "engine"]
"""Who answers the cases: "oracle", "engine"."""


def answering_by(request: pytest.FixtureRequest, folder: Path) -> Answering:
    """Whoever a fixture's parameter names."""
    if request.param == "oracle":
        return by_oracle
    return by_engine(request.getfixturevalue("spark"), folder)


def by_oracle(case: Case) -> History:
    """What the oracle answers."""
    streams = {iri: [stream_element(e) for e in es] for iri, es in case.elements.items()}
    named = {f"{E}{name}": _lines(text) for name, text in case.named.items()}
    static = static_graphs(_lines(case.static), named)
    query = parse_query(case.text)
    evaluation = ContinuousEvaluation(query, streams, static, case.profile, bags=case.bags)
    return {t: told(answer.rows) for t, answer in evaluation.answers().items()}


def by_engine(spark: SparkSession, folder: Path) -> Answering:
    """What engines of this session answer, one for each case; `folder` is for static data."""
    from sparkext import Engine

    def answering(case: Case) -> History:
        wanted = {"semantics": case.profile, "duplicates": "bag" if case.bags else "set"}
        for key, value in wanted.items():
            spark.conf.set(f"spark.cqels.{key}", value)
        try:
            engine = Engine(spark)
        finally:
            for key in wanted:
                spark.conf.unset(f"spark.cqels.{key}")
        with closing(engine):
            named = {f"{E}{name}": _lines(text) for name, text in case.named.items()}
            if case.static or named:
                engine.load_static(str(write_graphs(folder, _lines(case.static), named)))
            ((_, answered),) = replay(engine, [case.text], case.elements)
        return {t: told(rows.elements()) for t, rows in answered.items()}

    return answering


def _lines(text: str) -> str:
    return "\n".join(map(triple, text.splitlines()))


def told(rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Rows of N-Triples terms as sorted lines."""
    return sorted(" ".join(map(_told, row)) for row in rows)


def _told(text: str | None) -> str:
    if text is None:
        return "-"
    if text.startswith("_:"):
        return "_:"
    term = parse_term(text)
    if not isinstance(term, Literal):
        return text.removeprefix(f"<{E}").rstrip(">")
    if not term.datatype.value.endswith("#dateTime"):
        return term.lexical
    time = datetime.fromisoformat(term.lexical.replace("Z", "+00:00"))
    return str((time - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1))
