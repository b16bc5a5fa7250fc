"""Estimated rows of all connected parts of a query at once, kept up to date.

The numbers are those of `CardinalityEstimator`, which says what they mean; here they stand in
arrays, and after a change only what it reaches is computed again. The logarithm of a part's rows is
a sum over numbered terms: one for each relation (its rows) and one for each variable that several
relations of the part share (the probability of a match). A part lists its terms, padded with
term 0, which is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adaptive.cardinality import (
    MAX_LOG,
    counted_sets,
    filter_selectivity,
    log_match,
    log_matches,
    log_rows,
    pair_factor,
)
from adaptive.cost_model import FloatArray
from adaptive.measured_pairs import implied_by
from adaptive.near_look_ups import near_rows
from adaptive.query_graph import ColumnStatistics, QueryGraph, RelationStatistics, bits
from adaptive.statistics import Catalogue
from adaptive.sub_plans import IntArray, Reach, SubPlans

# From so many terms of a variable on, matching them together is faster than one by one.
_TOGETHER = 5

# Reaches whose terms are kept.
_REACHED = 8


class RowEstimates:
    """Rows of all parts, before (`unfiltered`) and after (`filtered`) their filters.

    `shares` is the share of rows that each of the sets of filters in `sub_plans.decisions` keeps.
    """

    def __init__(self, graph: QueryGraph, catalogue: Catalogue, sub_plans: SubPlans) -> None:
        self.graph = graph
        self._catalogue = catalogue
        self._sub_plans = sub_plans
        self._known: list[RelationStatistics | None] = [None] * len(graph.relations)
        self._number_terms()
        count = len(sub_plans.parts)
        self.unfiltered: FloatArray = np.zeros(count)
        self.filtered: FloatArray = np.zeros(count)
        self.shares: FloatArray = np.ones(len(sub_plans.decisions))
        self.shares[0] = 0.0
        self._selectivities = [1.0] * len(graph.filters)
        self._pairs: dict[tuple[int, int], float] = {}
        self._pair_logs: FloatArray = np.zeros(0)
        self._pair_parts: FloatArray = np.zeros((0, count))
        self._matches_seen = -1
        self._filters_seen = -1
        self._counted: dict[int, float] = {}
        self._factors: FloatArray = np.zeros(1)
        self._factor_of: IntArray = np.zeros(count, dtype=np.intp)
        self._corrections_seen = (-1, -1)
        self._terms_of: dict[int, tuple[IntArray, IntArray]] = {}

    def near_rows(self, position: int, on: Sequence[str]) -> float:
        """The rows of a relation among which a look-up by some variables finds its own (see `near_look_ups`)."""
        relation = self.graph.relations[position]
        return near_rows(relation, self._catalogue[relation.name], on)

    def _number_terms(self) -> None:
        graph, parts = self.graph, self._sub_plans.parts
        shared = {v: m for v, m in graph.members.items() if m & (m - 1)}
        columns: dict[tuple[str, int], int] = {}
        for variable, members in shared.items():
            for position in bits(members):
                columns[variable, position] = len(columns)
        self._columns: list[ColumnStatistics] = [ColumnStatistics(1.0)] * len(columns)
        self._column_of = [
            [(v, columns[v, p]) for v in relation.variables if v in shared]
            for p, relation in enumerate(graph.relations)
        ]
        # Two more places: what padding adds to a sum, and what it adds to a minimum.
        self._logs: FloatArray = np.zeros(len(columns) + 2)
        self._logs[-1] = np.inf
        self._listed: IntArray = np.zeros(len(columns) + 2, dtype=np.intp)
        terms: dict[tuple[str, int], int] = {}
        listed = []
        first = 1 + len(graph.relations)
        for mask in parts:
            row = [1 + position for position in bits(mask)]
            for variable, members in shared.items():
                sharing = members & mask
                if sharing & (sharing - 1):
                    row.append(terms.setdefault((variable, sharing), first + len(terms)))
            listed.append(row)
        self._term_of = terms
        self._terms: FloatArray = np.zeros(first + len(terms))
        width = max(map(len, listed))
        self._part_terms: IntArray = np.array(
            [row + [0] * (width - len(row)) for row in listed], dtype=np.intp
        ).T
        self._term_columns = {
            number: [columns[variable, p] for p in bits(sharing)]
            for (variable, sharing), number in terms.items()
        }
        self._term_positions = {n: list(bits(sharing)) for (_, sharing), n in terms.items()}
        self._term_variable = {number: variable for (variable, _), number in terms.items()}
        self._members = {variable: list(bits(members)) for variable, members in shared.items()}
        self._variable_columns = {v: [columns[v, p] for p in self._members[v]] for v in shared}
        # For each term, which of its variable's columns it takes.
        most_members = max(map(len, self._members.values()), default=0)
        self._chosen = np.zeros((len(terms), most_members), dtype=np.bool_)
        self._chosen_line = {number: line for line, number in enumerate(terms.values())}
        for line, (variable, sharing) in enumerate(terms):
            for place, position in enumerate(self._members[variable]):
                self._chosen[line, place] = bool(sharing >> position & 1)
        # Position -> terms that its columns enter, with their columns, padded: to add, to compare.
        self._entered: list[tuple[IntArray, IntArray, IntArray]] = []
        for position in range(len(graph.relations)):
            own = [n for (_, sharing), n in terms.items() if sharing >> position & 1]
            rows = [self._term_columns[number] for number in own]
            most = max(map(len, rows), default=0)
            adding, comparing = (
                np.array([row + [padding] * (most - len(row)) for row in rows], dtype=np.intp)
                .reshape(len(rows), most)
                .T
                for padding in (len(columns), len(columns) + 1)
            )
            self._entered.append((np.array(own, dtype=np.intp), adding, comparing))

    def sync(self) -> tuple[frozenset[int], int]:
        """Take over what has changed in the catalogue: sets of relations, and filters (bit i).

        The rows of the parts follow with `estimate`.
        """
        changed: set[int] = set()
        positions = []
        for position, relation in enumerate(self.graph.relations):
            statistics = self._catalogue[relation.name]
            known = self._known[position]
            if statistics is not known:
                self._known[position] = statistics
                if statistics != known:
                    positions.append(position)
                    changed.add(1 << position)
        for position in positions:
            self._take_columns(position)
        frequent: set[int] = set()
        for position in positions:
            frequent.update(self._match_terms(position))
        if frequent:
            self._match_frequent(sorted(frequent))
        filters = 0
        if positions or self._catalogue.filters_version != self._filters_seen:
            self._filters_seen = self._catalogue.filters_version
            filters = self._take_filters()
        changed |= self._take_pairs(changed)
        changed |= self._take_corrections()
        if len(changed) > 1:  # a part that holds {a, b} holds {a}
            changed = {m for m in changed if not any(o != m and o & ~m == 0 for o in changed)}
        return frozenset(changed), filters

    def _take_columns(self, position: int) -> None:
        name = self.graph.relations[position].name
        self._terms[1 + position] = log_rows(self._catalogue[name].rows)
        for variable, number in self._column_of[position]:
            column = self._catalogue.column(name, variable)
            self._columns[number] = column
            self._logs[number] = math.log(column.distinct)
            self._listed[number] = 1 if column.top else 0

    def _match_terms(self, position: int) -> list[int]:
        """Match values as if all were as frequent; returns the terms where that is known better."""
        numbers, adding, comparing = self._entered[position]
        if not len(numbers):
            return []
        smallest = self._logs[comparing].min(axis=0)
        self._terms[numbers] = smallest - self._logs[adding].sum(axis=0)
        if not self._listed.any():
            return []
        frequent: list[int] = numbers[self._listed[adding].sum(axis=0) >= 2].tolist()
        return frequent

    def _match_frequent(self, numbers: list[int]) -> None:
        """Match the terms of which two columns list frequent values, one by one if there are few."""
        grouped: dict[str, list[int]] = {}
        for number in numbers:
            grouped.setdefault(self._term_variable[number], []).append(number)
        for variable, group in grouped.items():
            if len(group) < _TOGETHER:
                for number in group:
                    columns = [self._columns[column] for column in self._term_columns[number]]
                    rows = [self._rows(p) for p in self._term_positions[number]]
                    self._terms[number] = log_match(columns, rows)
                continue
            positions = self._members[variable]
            columns = [self._columns[column] for column in self._variable_columns[variable]]
            chosen = self._chosen[[self._chosen_line[number] for number in group]]
            rows = [self._rows(position) for position in positions]
            self._terms[group] = log_matches(columns, rows, chosen[:, : len(positions)])

    def _rows(self, position: int) -> float:
        known = self._known[position]
        assert known is not None
        return known.rows

    def changed_rows(self, position: int) -> float:
        """Rows of a relation that arrive and expire between two evaluations: none but of windows."""
        return self._catalogue.changed_rows(self.graph.relations[position])

    def _take_filters(self) -> int:
        changed = 0
        for number, filter_ in enumerate(self.graph.filters):
            selectivity = self._catalogue.filter(filter_.name).selectivity
            if selectivity is None:
                selectivity = filter_selectivity(filter_, self._fewest)
            if selectivity != self._selectivities[number]:
                self._selectivities[number] = selectivity
                changed |= 1 << number
        if changed:
            for share, filters in enumerate(self._sub_plans.decisions):
                if filters > 0 and filters & changed:
                    self.shares[share] = math.prod(self._selectivities[n] for n in bits(filters))
        return changed

    def _fewest(self, variable: str) -> float:
        relations = self.graph.relations
        return min(
            self._catalogue.distinct(relations[position].name, variable)
            for position in bits(self.graph.members[variable])
        )

    def _take_pairs(self, changed: set[int]) -> set[int]:
        catalogue, positions = self._catalogue, self.graph.positions
        moved: set[int] = set()
        if catalogue.matches_version != self._matches_seen:
            self._matches_seen = catalogue.matches_version
            measured = {}
            for (left, right), rows in catalogue.matches().items():
                if left in positions and right in positions:
                    low, high = sorted((positions[left], positions[right]))
                    measured[low, high] = rows
            for pair in measured.keys() | self._pairs.keys():
                if measured.get(pair) != self._pairs.get(pair):
                    moved.add(1 << pair[0] | 1 << pair[1])
            if measured.keys() == self._pairs.keys():
                # In the order of the arrays: a pair may have been forgotten and measured again.
                measured = {pair: measured[pair] for pair in self._pairs}
            else:
                masks = self._sub_plans.masks
                implied = implied_by(self.graph, measured)
                self._pair_parts = np.array(
                    [
                        # Those that hold both relations, and none that implies the pair.
                        (masks & (1 << low | 1 << high | implied[low, high]))
                        == (1 << low | 1 << high)
                        for low, high in measured
                    ],
                    dtype=np.float64,
                ).reshape(len(measured), len(masks))
                self._pair_logs = np.zeros(len(measured))
            self._pairs = measured
        for number, ((low, high), rows) in enumerate(self._pairs.items()):
            # The model of a pair changes with either side.
            both = 1 << low | 1 << high
            if moved or 1 << low in changed or 1 << high in changed:
                self._pair_logs[number] = pair_factor(rows, self._pair_model(low, high, both))
        return moved

    def _pair_model(self, low: int, high: int, both: int) -> float:
        model = float(self._terms[1 + low] + self._terms[1 + high])
        for variable, _ in self._column_of[high]:
            if self.graph.members[variable] >> low & 1:
                model += float(self._terms[self._term_of[variable, both]])
        return model

    def _take_corrections(self) -> set[int]:
        if self._catalogue.corrections_version == self._corrections_seen:
            return set()
        self._corrections_seen = self._catalogue.corrections_version
        counted = dict(counted_sets(self.graph, self._catalogue))
        moved = {
            mask
            for mask in counted.keys() | self._counted.keys()
            if counted.get(mask) != self._counted.get(mask)
        }
        if list(counted) != list(self._counted):
            self._factor_of[:] = 0
            for number, mask in reversed(list(enumerate(counted, start=1))):
                self._factor_of[(self._sub_plans.masks & mask) == mask] = number
        self._counted = counted
        self._factors = np.array([0.0, *counted.values()])
        return moved

    def estimate(self, reach: Reach) -> None:
        """Estimate the rows of the parts that a change reaches anew."""
        parts = reach.parts
        logs = self._terms.take(self._terms_reached(parts)).sum(axis=0)
        if len(self._pair_logs):
            logs += self._pair_logs @ self._pair_parts[:, parts]
        factors = self._factors[self._factor_of[parts]]
        logs += factors
        unfiltered = np.exp(np.minimum(logs, MAX_LOG))
        leaves = len(reach.leaves)
        for number, part in enumerate(reach.leaves.tolist()):
            unfiltered[number] = self._rows(self._sub_plans.parts[part].bit_length() - 1)
        self.unfiltered[parts] = unfiltered
        shares = self.shares[self._sub_plans.part_shares[parts]]
        filtered = unfiltered * shares
        # All rows of one relation were counted; a correction can only be about its filters.
        filtered[:leaves] *= np.exp(factors[:leaves])
        self.filtered[parts] = filtered

    def modelled(self, number: int) -> float:
        """Rows of a part of several relations, before its filters, without what executed joins have corrected."""
        return float(self.unfiltered[number] / np.exp(self._factors[self._factor_of[number]]))

    def _terms_reached(self, parts: IntArray) -> IntArray:
        """The terms of the parts of a reach: picked once where a window changes again and again."""
        known = self._terms_of.get(id(parts))
        if known is None or known[0] is not parts:
            if len(self._terms_of) >= _REACHED:
                del self._terms_of[next(iter(self._terms_of))]
            known = self._terms_of[id(parts)] = (parts, self._part_terms[:, parts])
        return known[1]
