"""Every evaluation of a continuous query over recorded streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sparkext.errors import CheckError, UnknownStreamError
from sparkext.language.nodes import Variable
from sparkext.language.query import Query
from sparkext.oracle.events.matching import Matching
from sparkext.oracle.events.occurrences import Consumption, instance
from sparkext.oracle.instant_dataset import InstantDataset
from sparkext.oracle.pattern_text import select_text
from sparkext.oracle.profiles import Reading, operator_of, profile_of, rules_of, windows_of
from sparkext.oracle.report_definitions import evaluation_instants
from sparkext.oracle.streams import (
    GraphReplacement,
    StaticGraphs,
    Streams,
    in_order,
    versions,
)
from sparkext.oracle.window_definitions import Window
from sparkext.recorded_streams import StreamElement
from static_data.terms import Term, parse_term

Row: TypeAlias = tuple[str | None, ...]
# A version of the static graphs, and the elements of each window.
_Seen: TypeAlias = tuple[int, tuple[tuple[int, ...], ...]]


@dataclass(frozen=True)
class Answer:
    """What a query answers at one instant.

    `rows` are N-Triples texts: solutions of SELECT (None: unbound), triples of CONSTRUCT; `boolean` answers ASK.
    """

    form: str
    variables: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    boolean: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether `--skip-empty` may leave it out; the answer no of ASK is an answer."""
        return self.form != "ASK" and not self.rows


class ContinuousEvaluation:
    """A query over recorded streams and static graphs under a profile; `changes` replace static graphs at their times.

    The streaming operator compares the solution mappings that the answer is made of: the projected variables, or those
    of CONSTRUCT's template. Evaluations over equal window contents are done once, unless the query consumes events.
    Raises CheckError for what the oracle cannot judge, UnknownStreamError for a stream that was not given.
    """

    def __init__(
        self,
        query: Query,
        streams: Streams,
        static: StaticGraphs | None = None,
        profile: str = "rspql",
        *,
        bags: bool = False,
        starting_at: int = 0,
        closed_open: bool = False,
        changes: Iterable[GraphReplacement] = (),
    ) -> None:
        if query.form == "DESCRIBE":
            raise CheckError("DESCRIBE has no answer that is fixed by a standard")
        for window in query.windows:
            if window.stream.value not in streams:
                raise UnknownStreamError(window.stream.value, sorted(streams))
        self.query = query
        self.profile = profile_of(profile)
        self.reading = Reading(self.profile, starting_at, closed_open, bags)
        self.streams = {iri: in_order(elements) for iri, elements in streams.items()}
        self._operator = operator_of(query, self.profile)
        self._columns: tuple[Variable, ...] = query.answered
        self._versions = [
            (time, InstantDataset(query, self.streams, graphs, self.reading))
            for time, graphs in versions(static or StaticGraphs(), changes)
        ]
        self._matching = Matching(query, self.streams, self.reading)
        self._known: dict[_Seen, list[Row]] = {}

    def windows(self, starts: Sequence[int | None] | None = None) -> list[Window]:
        """The windows in the order of their clauses; `starts` puts other t0 in the place of those written."""
        return windows_of(self.query, self.reading, starts)

    def instants(self, windows: Sequence[Window]) -> list[int]:
        """The instants at which the query is evaluated, with these windows."""
        places = [(d.stream.value, w) for d, w in zip(self.query.windows, windows, strict=True)]
        rules = rules_of(self.query, self.reading, windows)
        return evaluation_instants(places, rules, self.streams)

    def contents(self, windows: Sequence[Window], t: int) -> list[list[StreamElement]]:
        """What each window shows at an instant."""
        return [
            window.content(self.streams[declared.stream.value], t)
            for declared, window in zip(self.query.windows, windows, strict=True)
        ]

    def answers(self, starts: Sequence[int | None] | None = None) -> dict[int, Answer]:
        """The answers by instant, in order of time, the streaming operator applied."""
        windows = self.windows(starts)
        found: dict[int, Answer] = {}
        before: list[Row] = []
        consumption = Consumption()
        for t in self.instants(windows):
            now = self.solutions(self.contents(windows, t), t, consumption)
            found[t] = self._formed(_streamed(self._operator, now, before, self.reading.bags))
            before = now
        return found

    def solutions(
        self,
        contents: Sequence[Sequence[StreamElement]],
        t: int | None = None,
        consumption: Consumption | None = None,
    ) -> list[Row]:
        """The solution mappings over these window contents, before the streaming operator.

        Static graphs are those of instant `t` (None: before any change). `consumption` is what earlier evaluations
        consumed (None: nothing); what this one consumes is added to it.
        """
        consumed = Consumption() if consumption is None else consumption
        times = [time for time, _ in self._versions]
        version = max(
            n for n, time in enumerate(times) if time is None or (t is not None and time <= t)
        )
        key = (version, tuple(tuple(map(id, elements)) for elements in contents))
        if key not in self._known:
            dataset = self._versions[version][1]
            matches = self._matching.at(dataset, contents, consumed)
            graphs = replace(dataset.show(contents), matched=matches.rows)
            text = select_text(self.query.pattern, self._columns, graphs)
            # A query without columns is written with one that nothing binds.
            found = dataset.solutions(text, len(self._columns))
            rows = [tuple(None if t is None else t.n3() for t in row) for row in found]
            if matches.consume():  # then the answer depends on all evaluations before
                return rows
            self._known[key] = rows
        return self._known[key]

    def _formed(self, rows: list[Row]) -> Answer:
        if self.query.form == "ASK":
            return Answer("ASK", boolean=bool(rows))
        if self.query.form == "CONSTRUCT":
            triples = dict.fromkeys(self._constructed(rows))
            return Answer("CONSTRUCT", ("s", "p", "o"), tuple(triples))
        return Answer("SELECT", tuple(v.name for v in self._columns), tuple(rows))

    def _constructed(self, rows: list[Row]) -> Iterator[Row]:
        for number, row in enumerate(rows):
            values: dict[Variable, Term] = {
                v: parse_term(text)
                for v, text in zip(self._columns, row, strict=True)
                if text is not None
            }
            for pattern in self.query.template:
                triple = instance(pattern, values, f"row{number}")
                if triple is not None:
                    yield tuple(term.n3() for term in triple)


def _streamed(operator: str, now: list[Row], before: list[Row], bags: bool) -> list[Row]:
    """RStream keeps all; IStream and DStream tell each new or lost mapping once, by membership (RSP-QL, Definitions 20
    to 22); as bags, so often as there are more of it."""
    if operator == "RSTREAM":
        return now
    new, old = (now, before) if operator == "ISTREAM" else (before, now)
    if bags:
        return list((Counter(new) - Counter(old)).elements())
    return list(_unseen(new, set(old)))


def _unseen(rows: Iterable[Row], seen: set[Row]) -> Iterator[Row]:
    for row in rows:
        if row not in seen:
            seen.add(row)
            yield row
