"""Estimates for the leaves of one query, and for static parts that might be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from adaptive import Catalogue, QueryGraph, Relation, RelationKind, RelationStatistics
from adaptive.graph.query_graph import ColumnStatistics
from adaptive.statistics.cardinality import CardinalityEstimator
from sparkext.language.algebra import Path, Union, Values
from sparkext.language.nodes import Node, Variable
from sparkext.language.paths import OneOrMore, ZeroOrMore, ZeroOrOne
from sparkext.r2r.leaves.flattening import Cluster, flatten_group
from sparkext.r2r.leaves.leaf import (
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    StaticLeaf,
    WindowLeaf,
    has_arrived,
)
from sparkext.r2r.leaves.scopes import Scope
from sparkext.r2r.patterns.expand_paths import numbered, path_pattern
from sparkext.r2r.patterns.stage_rows import LiveRows
from sparkext.r2r.relations.datasets import Dataset
from sparkext.r2r.relations.leaf_statistics import (
    ARRIVED_ROWS,
    NOW_ROWS,
    arrived_statistics,
    guessed_window_rows,
    heuristic_statistics,
    table_statistics,
    window_statistics,
)

if TYPE_CHECKING:
    from static_data.storage.catalogue import Catalogue as StaticCatalogue


# How many ends a search is taken to find from each start.
REACHED = 32.0


@dataclass(frozen=True)
class Heuristics:
    """Which heuristics stand in for statistics; without `counted`, there are no others."""

    h1: bool = True
    h2: bool = True
    counted: bool = True


class LeafEstimates:
    """What is known of a query's leaves before it runs.

    `catalogue` gives the store's counts, `present_rows` what a window's pattern holds now, `widths` the windows'
    widths by name (None: NOW), `constant` the id of a term that the query names, `present_live` how many mappings a
    MATCH has found now, or how many instances a template has.
    """

    def __init__(
        self,
        dataset: Dataset,
        catalogue: Callable[[], StaticCatalogue],
        present_rows: Callable[[WindowLeaf], int],
        widths: Mapping[str, int | None],
        constant: Callable[[str], int],
        heuristics: Heuristics | None = None,
        present_live: Callable[[LiveRows], int] = lambda rows: 0,
    ) -> None:
        self._heuristics = Heuristics() if heuristics is None else heuristics
        self.dataset = dataset
        self.constant = constant
        self._catalogue = catalogue
        self._present_rows = present_rows
        self._present_live = present_live
        self._widths = widths

    def rows(self, leaf: Leaf) -> float:
        """Estimated rows of one leaf by itself."""
        return self.statistics(leaf, (leaf,), None).rows

    def live_rows(self, live: LiveRows) -> float:
        """Rows of a MATCH: what it has found now, or a guess before that; a few of those that are new.

        Of a template: its instances.
        """
        if getattr(live, "arrived", False):
            return ARRIVED_ROWS
        return float(self._present_live(live)) or NOW_ROWS

    def statistics(
        self, leaf: Leaf, others: tuple[Leaf, ...], made_rows: float | None
    ) -> RelationStatistics:
        """Rows and distinct values of a leaf; `others` are the leaves around it, `made_rows` the rows of a
        derived leaf when it is known what they come from."""
        match leaf:
            case StaticLeaf():
                return self._table(leaf)
            case WindowLeaf() if has_arrived(leaf):
                return arrived_statistics(leaf, self._domains(others))
            case WindowLeaf():
                return window_statistics(
                    leaf,
                    self._widths.get(leaf.window.value),
                    self._present_rows(leaf) if self._heuristics.counted else 0,
                    self._domains(others),
                    self._heuristics.h1,
                )
            case MergedLeaf():
                return self._merged(leaf)
            case DerivedLeaf():
                rows = made_rows
                if rows is None and isinstance(leaf.node, LiveRows):
                    rows = self.live_rows(leaf.node)
                elif rows is None:
                    rows = self.largest_step(leaf.node, leaf.scope)[0]
                domains = self._domains(others)
                columns = {
                    v.name: ColumnStatistics(max(1.0, min(rows, domains.get(v, rows))))
                    for v in leaf.variables
                }
                return RelationStatistics(rows, columns)

    def static_part(self, leaf: MergedLeaf) -> RelationStatistics:
        """Statistics of what the static data have of a pattern that windows are merged into."""
        return self._table(leaf.static_part)

    def _table(self, leaf: StaticLeaf) -> RelationStatistics:
        if not self._heuristics.counted:
            return heuristic_statistics(leaf, self._heuristics.h1, self._heuristics.h2)
        return table_statistics(self._catalogue(), self.dataset.key(leaf), leaf.variables)

    def _merged(self, leaf: MergedLeaf) -> RelationStatistics:
        """Those of the static part, and of windows that are taken to be as they are before they hold anything."""
        static = self.static_part(leaf)
        widths = [self._widths.get(window.value) for window in leaf.graph.windows]
        live = sum(guessed_window_rows(width) for width in widths)
        columns = {
            name: ColumnStatistics(column.distinct + live, column.top)
            for name, column in static.columns.items()
        }
        return RelationStatistics(static.rows + live, columns)

    def _domains(self, leaves: tuple[Leaf, ...]) -> dict[Variable, float]:
        """For each variable, the fewest distinct values that a static pattern has for it."""
        domains: dict[Variable, float] = {}
        for leaf in leaves:
            if isinstance(leaf, StaticLeaf):
                for variable in leaf.variables:
                    distinct = self._table(leaf).columns[variable.name].distinct
                    domains[variable] = min(distinct, domains.get(variable, distinct))
        return domains

    def largest_step(self, node: Node, scope: Scope) -> tuple[float, float]:
        """Rows of the largest join below a pattern, and of all tables it reads: what keeping it would cost to make."""
        if isinstance(node, Path):
            return self._path_size(node, scope)
        if isinstance(node, Values):
            return float(len(node.rows)), float(len(node.rows))
        if isinstance(node, Union):
            left, right = self.largest_step(node.left, scope), self.largest_step(node.right, scope)
            return left[0] + right[0], left[1] + right[1]
        cluster = flatten_group(node, scope)
        if len(cluster.leaves) == 1 and isinstance(cluster.leaves[0], DerivedLeaf):
            parts = [self.largest_step(child, scope) for child in node.children]
            return max((p[0] for p in parts), default=1.0), sum(p[1] for p in parts)
        return self._join_size(cluster)

    def _path_size(self, node: Path, scope: Scope) -> tuple[float, float]:
        """A guess: from a given end a search finds no more than all ends, from every start at most a few of them."""
        assert isinstance(node.path, ZeroOrOne | ZeroOrMore | OneOrMore)
        begin, end = Variable("_:from"), Variable("_:to")
        steps = path_pattern(begin, node.path.path, end, numbered(count()), node)
        rows, inputs = self.largest_step(steps, scope)
        if not (isinstance(node.subject, Variable) and isinstance(node.object, Variable)):
            return max(1.0, rows), inputs
        if isinstance(node.path, ZeroOrOne):
            return 3.0 * rows, inputs
        return rows * min(rows + 1.0, REACHED), inputs

    def _join_size(self, cluster: Cluster) -> tuple[float, float]:
        if not cluster.leaves:
            return 1.0, 0.0
        names = [f"r{place}" for place in range(len(cluster.leaves))]
        known: dict[str, RelationStatistics] = {}
        inputs = 0.0
        for name, leaf in zip(names, cluster.leaves, strict=True):
            made, read = (
                self.largest_step(leaf.node, leaf.scope)
                if isinstance(leaf, DerivedLeaf)
                else (None, None)
            )
            known[name] = self.statistics(leaf, cluster.leaves, made)
            inputs += known[name].rows if read is None else read
        graph = QueryGraph(
            tuple(
                Relation(name, tuple(v.name for v in leaf.variables), RelationKind.STATIC)
                for name, leaf in zip(names, cluster.leaves, strict=True)
            )
        )
        estimator = CardinalityEstimator(graph, Catalogue(known))
        return estimator.rows(graph.mask(names)), inputs
