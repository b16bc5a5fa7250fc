"""Estimated rows of any part of the query, from the statistics of its relations alone.

The estimate belongs to the set of relations, not to a way of joining it: product of the rows, times
one match probability for each variable that several of them share, times the selectivities of the
filters that the set can decide. Without top values the match probability is the textbook one: for
k relations sharing a variable, 1 over all distinct counts but the smallest (each smaller domain is
taken to lie inside the larger ones). With top values on two sides, frequent values are matched one
by one.

Everything is summed up as logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from adaptive.graph.query_graph import ColumnStatistics, FilterKind, JoinFilter, QueryGraph, bits
from adaptive.statistics.catalogue import Catalogue

# Larger products are cut: a search must compare costs, and infinity compares with nothing.
MAX_ROWS = 1e300

_MAX_LOG = math.log(MAX_ROWS)

# Stands for the logarithm of no rows at all, and stays that whatever is added to it.
_EMPTY_LOG = -1e9

# No match is taken for impossible: a larger set that holds it could not be compared with others any more.
_MATCH_FLOOR = 1e-300

RANGE_SELECTIVITY = 1 / 3
OTHER_SELECTIVITY = 1 / 2


class CardinalityEstimator:
    """Row estimates for the sets of relations of one query graph, remembered per set.

    Reads the catalogue once, when made; a changed catalogue needs a new estimator. Raises
    StatisticsError for a relation that the catalogue does not know.
    """

    def __init__(self, graph: QueryGraph, catalogue: Catalogue) -> None:
        self.graph = graph
        self._base = tuple(catalogue[relation.name].rows for relation in graph.relations)
        self._logs = tuple(_log_rows(rows) for rows in self._base)
        self._changed = tuple(catalogue.changed_rows(r) for r in graph.relations)
        self._columns: dict[str, dict[int, ColumnStatistics]] = {
            variable: {
                position: catalogue.column(graph.relations[position].name, variable)
                for position in bits(members)
            }
            for variable, members in graph.members.items()
        }
        self._shared = tuple(
            tuple((v, graph.members[v]) for v in relation.variables) for relation in graph.relations
        )
        self._needs = tuple(
            tuple(graph.members[v] for v in filter_.variables) for filter_ in graph.filters
        )
        self._selectivities = tuple(self.selectivity(filter_) for filter_ in graph.filters)
        self._modelled: dict[int, float] = {0: 0.0}
        self._unfiltered: dict[int, float] = {0: 1.0}
        self._matches: dict[tuple[str, int], float] = {}
        self._decided: dict[int, int] = {}
        self._shares: dict[int, float] = {0: 1.0}

    def rows(self, mask: int) -> float:
        """Rows of the join of a set of relations, after every filter that it can decide."""
        return self.unfiltered_rows(mask) * self.share(self.decided(mask))

    def unfiltered_rows(self, mask: int) -> float:
        """Rows of the join of a set of relations, before any filter."""
        known = self._unfiltered.get(mask)
        if known is None:
            if mask & (mask - 1) == 0:
                known = self._base[mask.bit_length() - 1]
            else:
                known = math.exp(min(_MAX_LOG, self._model(mask)))
            self._unfiltered[mask] = known
        return known

    def changed_rows(self, position: int) -> float:
        """Rows of a relation that arrive and expire between two evaluations: none but of windows."""
        return self._changed[position]

    def _model(self, mask: int) -> float:
        """Logarithm of the rows of a set by rows and distinct counts alone."""
        known = self._modelled.get(mask)
        if known is None:
            # Always peeled from the highest position, so that a set has one value, in any order.
            position = mask.bit_length() - 1
            below = mask ^ 1 << position
            known = self._model(below) + self._logs[position]
            for variable, members in self._shared[position]:
                sharing = below & members
                if sharing:
                    known += self._match(variable, sharing | 1 << position)
                    known -= self._match(variable, sharing)
            self._modelled[mask] = known
        return known

    def decided(self, mask: int) -> int:
        """The filters (bit i = filter i) whose variables a set of relations binds."""
        filters = self._decided.get(mask)
        if filters is None:
            filters = 0
            for number, needs in enumerate(self._needs):
                if all(members & mask for members in needs):
                    filters |= 1 << number
            self._decided[mask] = filters
        return filters

    def share(self, filters: int) -> float:
        """The share of rows that a set of filters keeps together, taken as independent."""
        share = self._shares.get(filters)
        if share is None:
            share = math.prod(self._selectivities[number] for number in bits(filters))
            self._shares[filters] = share
        return share

    def selectivity(self, filter_: JoinFilter) -> float:
        """The share of rows that one filter keeps: declared, or guessed by its kind."""
        columns = self._columns
        return filter_selectivity(
            filter_, lambda variable: min(c.distinct for c in columns[variable].values())
        )

    def distinct(self, mask: int, variable: str) -> float:
        """Distinct values of a variable after a set of relations was joined and filtered.

        Starts from the relation with the fewest values. Where the join keeps only some of its rows,
        a value survives if one of its rows does (rows of a value taken as equally many).
        """
        columns = self._columns[variable]
        position = min(
            (p for p in bits(mask & self.graph.members[variable])),
            key=lambda p: (columns[p].distinct, p),
        )
        values, base, rows = columns[position].distinct, self._base[position], self.rows(mask)
        kept = min(1.0, rows / base) if base else 0.0
        lost: float = (1.0 - kept) ** max(1.0, base / values)
        return min(rows, values * (1.0 - lost))

    def distinct_rows(self, mask: int, variables: Iterable[str]) -> float:
        """Distinct rows after projecting the join of a set to some of its variables.

        That many different rows are expected when the rows are thrown at random into all
        combinations of the variables' values; never fewer than one variable alone has.
        """
        rows = self.rows(mask)
        counts = [self.distinct(mask, variable) for variable in variables]
        if not counts:
            return min(1.0, rows)
        room = min(math.prod(counts), MAX_ROWS)
        if room <= 0.0:
            return 0.0
        return min(rows, room, max(*counts, -room * math.expm1(-rows / room), 0.0))

    def _match(self, variable: str, sharing: int) -> float:
        """Logarithm of the probability that one row from each of some relations agree."""
        if sharing & (sharing - 1) == 0:
            return 0.0
        key = (variable, sharing)
        known = self._matches.get(key)
        if known is None:
            positions = list(bits(sharing))
            columns = [self._columns[variable][position] for position in positions]
            known = _log_match(columns, [self._base[position] for position in positions])
            self._matches[key] = known
        return known


def _log_rows(rows: float) -> float:
    """The logarithm of a row count, `_EMPTY_LOG` for none."""
    return math.log(rows) if rows > 0.0 else _EMPTY_LOG


def _log_match(columns: list[ColumnStatistics], rows: list[float]) -> float:
    """Logarithm of the probability that a row of each column shows the same value."""
    if sum(1 for column in columns if column.top) < 2:
        return _match_uniform([column.distinct for column in columns])
    return math.log(max(_MATCH_FLOOR, _match_frequent(columns, rows)))


def filter_selectivity(filter_: JoinFilter, fewest: Callable[[str], float]) -> float:
    """The share of rows that a filter keeps; `fewest` has the fewest distinct values of a variable.

    EQUAL keeps one value of the widest variable, NOT_EQUAL all others (so at most all rows).
    """
    if filter_.selectivity is not None:
        return filter_.selectivity
    if filter_.kind is FilterKind.RANGE:
        return RANGE_SELECTIVITY
    if filter_.kind is FilterKind.OTHER or not filter_.variables:
        return OTHER_SELECTIVITY
    widest = max(fewest(variable) for variable in filter_.variables)
    return 1 / widest if filter_.kind is FilterKind.EQUAL else 1 - 1 / widest


def _match_uniform(distincts: list[float]) -> float:
    """Logarithm of 1 over all distinct counts but the smallest.

    >>> round(math.exp(_match_uniform([10.0, 4.0, 20.0])), 6)
    0.005
    """
    return -sum(math.log(distinct) for distinct in sorted(distincts)[1:])


def _match_frequent(columns: list[ColumnStatistics], rows: list[float]) -> float:
    """Probability that a row of each column shows the same value, frequent values one by one.

    A value that is frequent on one side and unlisted on another is as likely there as any unlisted
    value, thinned by the chance that the smaller domain has it at all. Half of 8 rows hold value 7
    here, as do 2 of 8 there; the other values are 4 and 6 rows over 4 and 6 values:

    >>> left = ColumnStatistics(5.0, top=((7, 4),))
    >>> right = ColumnStatistics(7.0, top=((7, 2),))
    >>> round(_match_frequent([left, right], [8.0, 8.0]), 6)   # 1/2 * 1/4 + 1/2 * 3/4 * 1/6
    0.1875
    """
    tops, rests, others = [], [], []
    for column, count in zip(columns, rows, strict=True):
        frequent = dict(column.top)
        total = max(count, float(sum(frequent.values())))  # top values may be newer than the rows
        if total == 0.0:
            return 0.0
        tops.append({term: occurrences / total for term, occurrences in frequent.items()})
        rests.append(max(0.0, 1.0 - sum(tops[-1].values())))
        others.append(max(1.0, column.distinct - len(frequent)))
    match = min(others)
    for rest, other in zip(rests, others, strict=True):
        match *= rest / other
    widest: dict[int, float] = {}
    for top, other in zip(tops, others, strict=True):
        for term in top:
            widest[term] = max(other, widest.get(term, 0.0))
    sides = list(zip(tops, rests, others, strict=True))
    for term in sorted(widest):
        same, room = 1.0, widest[term]
        for top, rest, other in sides:
            share = top.get(term)
            same *= rest / max(other, room) if share is None else share
        match += same
    return min(1.0, match)
