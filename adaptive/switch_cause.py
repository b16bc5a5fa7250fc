"""Which statistic made a plan give way, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from adaptive.cardinality import filter_selectivity
from adaptive.query_graph import ColumnStatistics, QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue

# What these say is a share or a factor: below 1 it is not next to nothing.
_FEW_CHANGED = 1_000.0
_LEAST = {"counted": 1e-3, "selectivity": 1e-3, "call": 1e-3}

_Kind = Literal["rows", "changed", "pair", "counted", "values", "frequent", "selectivity", "call"]
_Change = tuple[_Kind, tuple[str, ...], float, float]
"""What is counted, of which relations, variables or filters, its value before and after."""


@dataclass(frozen=True)
class Snapshot:
    """Everything that plans are chosen by, at one instant; holds what the catalogue held."""

    relations: Mapping[str, RelationStatistics]
    matches: Mapping[tuple[str, str], float]
    corrections: Mapping[frozenset[str], float]
    filters: Mapping[str, tuple[float | None, float | None]]


def snapshot(graph: QueryGraph, catalogue: Catalogue) -> Snapshot:
    """What is known now of the relations and filters of a query."""
    names = graph.positions
    filters: dict[str, tuple[float | None, float | None]] = {}
    for filter_ in graph.filters:
        if filter_.price is not None:
            seen = catalogue.filter(filter_.name)
            declared = replace(filter_, variables=frozenset())
            filters[filter_.name] = (
                # As it was counted, else as it was declared or guessed.
                filter_selectivity(declared, lambda _: 1.0)
                if seen.selectivity is None
                else seen.selectivity,
                filter_.price.call_us if seen.call_us is None else seen.call_us,
            )
    for extend in graph.extends:
        if extend.price is not None:
            known = catalogue.filter(extend.name).call_us
            filters[extend.name] = (None, extend.price.call_us if known is None else known)
    return Snapshot(
        {r.name: catalogue[r.name] for r in graph.relations},
        {
            (left, right): rows
            for (left, right), rows in catalogue.matches().items()
            if left in names and right in names
        },
        {s: f for s, f in catalogue.corrections.in_use().items() if names.keys() >= s},
        filters,
    )


def cause(before: Snapshot, after: Snapshot) -> str:
    """The statistic that changed by the largest factor, of equal ones the first.

    >>> def of(now, range): return Snapshot(
    ...     {"now": RelationStatistics(now, {}), "w30": RelationStatistics(range, {})}, {}, {}, {})
    >>> cause(of(20.0, 50.0), of(4e3, 60.0))
    'rows of now: 20 -> 4,000'
    """
    largest, found = 0.0, None
    for change in _changes(before, after):
        kind, _, old, new = change
        least = _LEAST.get(kind, 1.0)
        ratio = abs(math.log(max(new, least) / max(old, least)))
        if ratio > largest + 1e-9:
            largest, found = ratio, change
    if found is None:
        return "no statistic changed"
    kind, names, old, new = found
    words, unit = _words(kind, names)
    return f"{words}: {_number(old)} -> {_number(new)}{unit}"


def _changes(before: Snapshot, after: Snapshot) -> Iterator[_Change]:
    others = [
        (name, was, now)
        for name, now in after.relations.items()
        if (was := before.relations.get(name)) is not None and was is not now
    ]
    for name, was, now in others:
        yield "rows", (name,), was.rows, now.rows
        # Next to nothing, where little changes: not worth a word below some rows.
        was_changed = max(_FEW_CHANGED, was.changed_rows)
        yield "changed", (name,), was_changed, max(_FEW_CHANGED, now.changed_rows)
    for pair, rows in after.matches.items():
        if pair in before.matches:
            yield "pair", pair, before.matches[pair], rows
    for relations, factor in after.corrections.items():
        # A set that was not counted before was estimated, that is off by a factor 1.
        old = before.corrections.get(relations, 0.0)
        if old != factor:
            yield "counted", tuple(sorted(relations)), math.exp(old), math.exp(factor)
    for name, was, now in others:
        for variable in now.columns:
            column, before_it = now.column(variable), was.column(variable)
            yield "values", (variable, name), before_it.distinct, column.distinct
            yield "frequent", (variable, name), _most(before_it), _most(column)
    kinds: tuple[tuple[_Kind, int], ...] = (("selectivity", 0), ("call", 1))
    for kind, place in kinds:
        for name, values in after.filters.items():
            was_known, value = before.filters.get(name, (None, None))[place], values[place]
            if was_known is not None and value is not None:
                yield kind, (name,), was_known, value


def _most(column: ColumnStatistics) -> float:
    return float(max((rows for _, rows in column.top), default=0))


def _words(kind: _Kind, names: tuple[str, ...]) -> tuple[str, str]:
    """What was counted, in words, and its unit."""
    if kind == "rows":
        return f"rows of {names[0]}", ""
    if kind == "changed":
        return f"rows of {names[0]} that come and go", ""
    if kind == "pair":
        return " x ".join(names), " rows"
    if kind == "counted":
        return "counted over estimated rows of " + " x ".join(names), ""
    if kind == "values":
        return f"values of {names[0]} in {names[1]}", ""
    if kind == "frequent":
        return f"most frequent {names[0]} in {names[1]}", " rows"
    if kind == "selectivity":
        return f"selectivity of {names[0]}", ""
    return f"call of {names[0]}", " us"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"
