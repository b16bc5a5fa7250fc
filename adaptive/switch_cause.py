"""Which statistic made a plan give way, in words."""

from __future__ import annotations

import math
from dataclasses import replace

from adaptive.cardinality import filter_selectivity
from adaptive.query_graph import QueryGraph
from adaptive.statistics import Catalogue

# What these say is a share or a factor: below 1 it is not next to nothing.
_SHARES = ("counted", "selectivity", "call of")


def snapshot(graph: QueryGraph, catalogue: Catalogue) -> dict[str, tuple[float, str]]:
    """Everything that plans are chosen by: what it is -> its value and the unit it counts."""
    known: dict[str, tuple[float, str]] = {}
    for relation in graph.relations:
        known[f"rows of {relation.name}"] = (catalogue[relation.name].rows, "")
    for (left, right), rows in catalogue.matches().items():
        if left in graph.positions and right in graph.positions:
            known[f"{left} x {right}"] = (rows, " rows")
    for relations, factor in catalogue.corrections.in_use().items():
        if all(name in graph.positions for name in relations):
            name = "counted over estimated rows of " + " x ".join(sorted(relations))
            known[name] = (math.exp(factor), "")
    for relation in graph.relations:
        for variable in relation.variables:
            column = catalogue.column(relation.name, variable)
            known[f"values of {variable} in {relation.name}"] = (column.distinct, "")
            most = max((rows for _, rows in column.top), default=0)
            name = f"most frequent {variable} in {relation.name}"
            known[name] = (float(most), " rows")
    for filter_ in graph.filters:
        if filter_.price is not None:
            share = catalogue.filter(filter_.name).selectivity
            if share is None:  # as it was declared or guessed
                share = filter_selectivity(replace(filter_, variables=frozenset()), lambda _: 1.0)
            known[f"selectivity of {filter_.name}"] = (share, "")
    prices = {filter_.name: filter_.price for filter_ in graph.filters}
    prices |= {extend.name: extend.price for extend in graph.extends}
    for name, price in prices.items():
        if price is not None:
            call_us = catalogue.filter(name).call_us
            known[f"call of {name}"] = (price.call_us if call_us is None else call_us, " us")
    return known


def cause(before: dict[str, tuple[float, str]], after: dict[str, tuple[float, str]]) -> str:
    """The statistic that changed by the largest factor, of equal ones the first in `after`.

    >>> cause({"rows of now": (20.0, ""), "rows of w30": (50.0, "")},
    ...       {"rows of now": (4e3, ""), "rows of w30": (60.0, "")})
    'rows of now: 20 -> 4,000'
    """
    largest, words = 0.0, "no statistic changed"
    for name, (value, unit) in after.items():
        # A set that was not counted or measured before was estimated, that is off by a factor 1.
        old = before.get(name, (1.0 if name.startswith("counted") else None, unit))[0]
        if old is None:
            continue
        least = 1e-3 if name.startswith(_SHARES) else 1.0
        ratio = abs(math.log(max(value, least) / max(old, least)))
        if ratio > largest + 1e-9:
            largest, words = ratio, f"{name}: {_number(old)} -> {_number(value)}{unit}"
    return words


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"
