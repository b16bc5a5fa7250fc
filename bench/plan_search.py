"""How long the search for join orders takes: an update of the plan cache, and a search from scratch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adaptive import (
    Catalogue,
    ColumnStatistics,
    PlanCache,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
    optimize,
)
from bench.report import BenchError

SIZES = (4, 6, 8, 10, 12)
QUICK_SIZES = (4, 8)
SHAPES = ("chain", "star", "clique")


def query_graph(shape: str, size: int) -> QueryGraph:
    """A query of so many relations, the first two of them windows.

    >>> [query_graph("star", 3).relations[i].variables for i in range(3)]
    [('v1', 'v2'), ('v1',), ('v2',)]
    """
    variables: list[tuple[str, ...]]
    if shape == "chain":
        variables = [(f"v{i}", f"v{i + 1}") for i in range(size)]
    elif shape == "star":
        ends = [f"v{i}" for i in range(1, size)]
        variables = [tuple(ends), *((end,) for end in ends)]
    elif shape == "clique":
        variables = [
            tuple(f"v{min(i, j)}-{max(i, j)}" for j in range(size) if j != i) for i in range(size)
        ]
    else:
        raise BenchError(f"unknown shape {shape!r}")
    kinds = [RelationKind.WINDOW if i < 2 else RelationKind.STATIC for i in range(size)]
    return QueryGraph(
        tuple(
            Relation(f"r{i}", v, kind)
            for i, (v, kind) in enumerate(zip(variables, kinds, strict=True))
        )
    )


def statistics(relation: Relation, rows: float) -> RelationStatistics:
    """Statistics of a relation of so many rows; every variable has up to 2,000 values."""
    values = {v: ColumnStatistics(max(1.0, min(rows, 2_000.0))) for v in relation.variables}
    return RelationStatistics(rows, values)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(shape: str, size: int, updates: int, searches: int, seed: int = 1) -> dict[str, Any]:
    """One row: medians in microseconds of updates of one window each, and of whole searches.

    Every update is checked: it must touch the entries that hold the changed relation, no others,
    and must leave the cost that a search from scratch finds (checked for `searches` of them).
    Raises BenchError where a cost differs.
    """
    graph = query_graph(shape, size)
    rng = np.random.default_rng(seed)
    first = {r.name: statistics(r, float(rng.integers(50, 50_000))) for r in graph.relations}
    cache = PlanCache(graph, Catalogue(first))
    known = dict(first)
    update_seconds, search_seconds, touched, exactly = [], [], [], True
    for number in range(updates):
        relation = graph.relations[number % 2]
        known[relation.name] = statistics(relation, float(rng.integers(50, 50_000)))
        started = time.perf_counter()
        found = cache.apply({relation.name: known[relation.name]})
        cost = cache.cost
        update_seconds.append(time.perf_counter() - started)
        touched.append(found.entries)
        if cache.exact:
            holding = sum(relation.name in part for part in cache.values())
            exactly &= found.entries == holding
        if number % max(1, updates // searches) == 0:
            catalogue = Catalogue(known)
            fresh = optimize(graph, catalogue)
            search_seconds.append(_seconds(lambda: optimize(graph, catalogue)))  # noqa: B023
            if abs(fresh.cost - cost) > 1e-9 * fresh.cost:
                raise BenchError(f"{shape} of {size}: {cost} after an update, {fresh.cost} anew")
    return {
        "shape": shape,
        "relations": size,
        "search": "exact" if cache.exact else "greedy",
        "update_us": round(float(np.median(update_seconds)) * 1e6, 1),
        "from_scratch_us": round(float(np.median(search_seconds)) * 1e6, 1),
        "entries": cache.entries,
        "alternatives": cache.alternatives,
        "touched": int(np.median(touched)),
        "exactly": exactly if cache.exact else None,
    }


def measure_all(quick: bool) -> list[dict[str, Any]]:
    """A row for each shape and size; beyond the budget the search is greedy, and each update anew."""
    return [
        measure(shape, size, 10 if quick else 100, 1 if quick else 4)
        for shape in SHAPES
        for size in (QUICK_SIZES if quick else SIZES)
    ]
