"""Which statistic made a plan give way, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from adaptive.query_graph import ColumnStatistics, QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue

_FEW_CHANGED = 1_000.0
# What was counted is told as a factor: below 1 it is not next to nothing.
_LEAST_FACTOR = 1e-3

_Kind = Literal["rows", "changed", "counted", "values", "frequent"]
_Change = tuple[_Kind, tuple[str, ...], float, float]
"""What is counted, of which relations or variables, its value before and after."""


@dataclass(frozen=True)
class Snapshot:
    """Everything that plans are chosen by, at one instant; holds what the catalogue held."""

    relations: Mapping[str, RelationStatistics]
    corrections: Mapping[frozenset[str], float]


def snapshot(graph: QueryGraph, catalogue: Catalogue) -> Snapshot:
    """What is known now of the relations and joins of a query."""
    names = graph.positions
    return Snapshot(
        {relation.name: catalogue[relation.name] for relation in graph.relations},
        {s: f for s, f in catalogue.corrections.in_use().items() if names.keys() >= s},
    )


def cause(before: Snapshot, after: Snapshot) -> str:
    """The statistic that changed by the largest factor, of equal ones the first.

    >>> def of(now, range): return Snapshot(
    ...     {"now": RelationStatistics(now, {}), "w30": RelationStatistics(range, {})}, {})
    >>> cause(of(20.0, 50.0), of(4e3, 60.0))
    'rows of now: 20 -> 4,000'
    """
    largest, found = 0.0, None
    for change in _changes(before, after):
        kind, _, old, new = change
        least = _LEAST_FACTOR if kind == "counted" else 1.0
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


def _most(column: ColumnStatistics) -> float:
    return float(max((rows for _, rows in column.top), default=0))


def _words(kind: _Kind, names: tuple[str, ...]) -> tuple[str, str]:
    """What was counted, in words, and its unit."""
    if kind == "rows":
        return f"rows of {names[0]}", ""
    if kind == "changed":
        return f"rows of {names[0]} that come and go", ""
    if kind == "counted":
        return "counted over estimated rows of " + " x ".join(names), ""
    if kind == "values":
        return f"values of {names[0]} in {names[1]}", ""
    return f"most frequent {names[0]} in {names[1]}", " rows"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"
