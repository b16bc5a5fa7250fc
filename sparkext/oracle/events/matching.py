"""MATCH over what the windows of a query show at an instant, with consumption from one evaluation to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sparkext.errors import CheckError
from sparkext.language.algebra import Window
from sparkext.language.event_patterns import Match, Selection
from sparkext.language.expressions import Aggregate
from sparkext.language.nodes import Node, Variable
from sparkext.language.query import Query
from sparkext.oracle.events.mappings import (
    EventMapping,
    EventPatternEvaluation,
    Found,
    Solution,
    restricted,
    united,
)
from sparkext.oracle.events.occurrences import Consumption, Occurrence, used_triples
from sparkext.oracle.expression_text import expression_text, variable_text
from sparkext.oracle.instant_dataset import InstantDataset
from sparkext.oracle.pattern_text import RowsGraph, rows_text, select_text
from sparkext.oracle.profiles import Reading
from sparkext.oracle.streams import Streams, Triple
from sparkext.recorded_streams import StreamElement
from static_data.terms import Iri, Term

Policy: TypeAlias = tuple[Selection, bool]
"""The selection policy, and whether what justifies a match is consumed."""

_Known: TypeAlias = dict[tuple[InstantDataset, Window, int, frozenset[Triple]], Found]


def policy_of(match: Match, reading: Reading) -> Policy:
    """What a MATCH says, and what the profile says where it says nothing."""
    if match.selection is not None:
        return match.selection, match.consumes
    selection = reading.profile.selection
    return selection, selection in ("chronological", "recent") and not match.keeps


class Matching:
    """The MATCHes of one query over streams, whose elements are in order of time."""

    def __init__(self, query: Query, streams: Streams, reading: Reading) -> None:
        self._query = query
        self._reading = reading
        self._numbers = {
            id(element): (stream, number)
            for stream in {window.stream.value for window in query.windows}
            for number, element in enumerate(streams[stream])
        }
        self._known: _Known = {}

    def at(
        self,
        dataset: InstantDataset,
        contents: Sequence[Sequence[StreamElement]],
        consumption: Consumption,
    ) -> MatchesAtInstant:
        """The evaluation over these contents, in the order of the windows' clauses."""
        shown: dict[Iri | Variable, Sequence[StreamElement]] = {
            declared.name: elements
            for declared, elements in zip(self._query.windows, contents, strict=True)
            if declared.name is not None
        }
        return MatchesAtInstant(self, dataset, shown, consumption)

    def policy(self, match: Match) -> Policy:
        """The policies of a MATCH of the query."""
        return policy_of(match, self._reading)

    @property
    def bags(self) -> bool:
        """Whether each event mapping is a solution, and not each solution mapping once (S-004-9)."""
        return self._reading.bags

    def on_element(
        self,
        event: Window,
        element: StreamElement,
        dataset: InstantDataset,
        consumption: Consumption | None,
    ) -> Found:
        """What a basic event finds on one element, less what is consumed (4).

        Without `consumption` all of the element is there, and it is not asked which triples are used.
        """
        stream, number = self._numbers[id(element)]
        gone = frozenset() if consumption is None else consumption.of(stream, number)
        key = (dataset, event, id(element), gone)
        if consumption is not None or key not in self._known:
            pattern = event.input
            text = select_text(pattern, pattern.variables, dataset.alone(element, gone))
            left = dataset.element_triples(element, gone)
            items = []
            for row in dataset.solutions(text, len(pattern.variables)):
                mu = _solution(pattern.variables, row)
                used: frozenset[Triple] = frozenset()
                if consumption is not None:
                    used = used_triples(pattern, dict(mu), left)
                # Blank nodes of the pattern are no part of a solution.
                shown = restricted(mu, (v for v in pattern.variables if not v.hidden))
                why = frozenset(Occurrence(stream, number, triple) for triple in used)
                items.append((EventMapping(shown, element.time_ms, element.time_ms), why))
            if consumption is not None:
                return united(items)
            self._known[key] = united(items)
        return self._known[key]


class MatchesAtInstant:
    """What each MATCH finds at one instant; asked again, the same."""

    def __init__(
        self,
        matching: Matching,
        dataset: InstantDataset,
        shown: Mapping[Iri | Variable, Sequence[StreamElement]],
        consumption: Consumption,
    ) -> None:
        self._matching = matching
        self._dataset = dataset
        self._shown = shown
        self._consumption = consumption
        self._rows: dict[Match, RowsGraph] = {}
        self._used: set[Occurrence] = set()
        self._consumes = False

    def rows(self, match: Match) -> RowsGraph:
        """The solutions of a MATCH (8)."""
        if match not in self._rows:
            found = self.found(match)
            solutions = [mapping.mu for mapping in found]
            if not self._matching.bags:
                solutions = list(dict.fromkeys(solutions))
            name = f"match:{len(self._rows)}"
            self._rows[match] = self._dataset.show_rows(name, map(dict, solutions))
            self._used.update(o for why in found.values() for o in why)
        return self._rows[match]

    def found(self, match: Match) -> Found:
        """The event mappings of a MATCH; P^u takes the whole input, P^c and P^r what is not consumed."""
        selection, consumes = self._matching.policy(match)
        self._consumes |= consumes
        consumption = self._consumption if consumes else None
        basic = {
            name: united(
                item
                for element in self._elements(event)
                for item in self._matching.on_element(
                    event, element, self._dataset, consumption
                ).items()
            )
            for name, event in zip(match.names, match.events, strict=True)
        }
        return EventPatternEvaluation(match, selection, basic, self._aggregated).found()

    def consume(self) -> bool:
        """Let what justifies the results of this instant be gone at later ones; says whether any MATCH consumes."""
        self._consumption.add(self._used)
        return self._consumes

    def _elements(self, event: Window) -> Sequence[StreamElement]:
        if event.name not in self._shown:
            raise CheckError(f"no window {event.name.n3()} is declared")
        return self._shown[event.name]

    def _aggregated(
        self, run: Sequence[Solution], aggregates: Sequence[tuple[Variable, Aggregate]]
    ) -> dict[Variable, Term]:
        if not aggregates:
            return {}
        rows = self._dataset.show_rows("run", map(dict, run))
        columns = " ".join(
            f"({expression_text(aggregate, _no_pattern)} AS {variable_text(name)})"
            for name, aggregate in aggregates
        )
        text = f"SELECT {columns} WHERE {{ {rows_text(rows, '?h_row')} }}"
        (row,) = self._dataset.solutions(text, len(aggregates))
        return dict(_solution([name for name, _ in aggregates], row))


def _solution(variables: Sequence[Variable], row: Sequence[Term | None]) -> Solution:
    return frozenset((v, t) for v, t in zip(variables, row, strict=True) if t is not None)


def _no_pattern(pattern: Node) -> str:
    raise CheckError("the oracle does not know EXISTS in an aggregate over events")
