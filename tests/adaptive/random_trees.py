"""Random valid plans of a query graph, of the operators that the search itself uses."""

from __future__ import annotations

import random

from adaptive.cost_model import CostModel
from adaptive.graph.plan import PlanNode
from adaptive.graph.query_graph import QueryGraph
from adaptive.search.alternatives import Alternatives, Table
from adaptive.search.enumerate import pairs_up_to
from adaptive.search.prejoin import PrejoinPolicy, prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue

_PREJOINED = 0.3


class RandomTrees:
    """Gives a random plan of a connected graph each time it is asked."""

    def __init__(self, graph: QueryGraph, catalogue: Catalogue, prejoin: PrejoinPolicy) -> None:
        estimator = CardinalityEstimator(graph, catalogue)
        allowed = {
            candidate.mask: candidate
            for candidate in prejoin_candidates(estimator, prejoin)
            if candidate.refusal is None
        }
        self._alternatives = Alternatives(estimator, CostModel(), allowed)
        self._everything = graph.all_relations
        self._pairs: dict[int, list[tuple[int, int]]] = {}
        for one, other in pairs_up_to(graph, self._everything, 10**6) or ():
            self._pairs.setdefault(one | other, []).append((one, other))

    def draw(self, chance: random.Random) -> PlanNode:
        """A plan; filters are where they can be decided."""
        table: Table = {}

        def grow(part: int) -> None:
            read = self._alternatives.read(part)
            single = part & (part - 1) == 0
            if read is not None and (single or chance.random() < _PREJOINED):
                table[part] = read
                return
            one, other = chance.choice(self._pairs[part])
            grow(one)
            grow(other)
            table[part] = chance.choice(list(self._alternatives.joins(one, other, table)))

        grow(self._everything)
        return self._alternatives.plan(self._everything, table)
