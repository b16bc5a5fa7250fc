"""The join order of a query as it is written: what runs where plans are not chosen by cost."""

from __future__ import annotations

from adaptive import (
    Catalogue,
    Join,
    PlanNode,
    Prejoined,
    PrejoinPolicy,
    QueryGraph,
    Scan,
)
from adaptive.graph.plan import JoinMethod
from adaptive.search.prejoin import PrejoinCandidate, prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator


def as_written(graph: QueryGraph, catalogue: Catalogue, policy: PrejoinPolicy) -> PlanNode:
    """The relations in the order of the query, each joined to what stands before it where that connects.

    Static relations that may be joined once and kept are, the largest such parts first; a part stands where the first
    of its relations is written. BINDs, and filters that read them, are left out.

    >>> from adaptive import ColumnStatistics, Relation, RelationKind, RelationStatistics
    >>> from adaptive.graph.plan import describe
    >>> graph = QueryGraph((
    ...     Relation("now", ("a",), RelationKind.WINDOW), Relation("wrote", ("p", "a"), RelationKind.STATIC),
    ...     Relation("range", ("b",), RelationKind.WINDOW), Relation("wrote too", ("p", "b"), RelationKind.STATIC)))
    >>> known = {v: ColumnStatistics(50.0) for v in ("p", "a", "b")}
    >>> catalogue = Catalogue({r.name: RelationStatistics(100.0, {v: known[v] for v in r.variables})
    ...                        for r in graph.relations})
    >>> describe(as_written(graph, catalogue, PrejoinPolicy()))
    '((now {wrote+wrote too}) range)'
    >>> describe(as_written(graph, catalogue, PrejoinPolicy(enabled=False)))
    '(((now wrote) wrote too) range)'
    """
    graph = _without_binds(graph)
    kept = _kept_parts(graph, catalogue, policy)
    left: list[Scan | Prejoined] = []
    for position, relation in enumerate(graph.relations):
        part = next((part for part in kept if part.mask >> position & 1), None)
        if part is None:
            left.append(Scan(relation.name, estimated_rows=catalogue[relation.name].rows))
        elif part.mask & (1 << position) - 1 == 0:
            names = frozenset(graph.names(part.mask))
            left.append(
                Prejoined(part.name, names, part.variables, part.filters, estimated_rows=part.rows)
            )
    done = {name for part in kept for name in part.filters}
    pending = {f.name: f.variables for f in graph.filters if f.name not in done}
    indexable = {relation.name: relation.indexable for relation in graph.relations}
    plan: PlanNode = left.pop(0)
    while left:
        covered = graph.mask(plan.relations)
        connected = (n for n in left if graph.shared_variables(covered, graph.mask(n.relations)))
        leaf = next(connected, left[0])
        left.remove(leaf)
        on = graph.shared_variables(covered, graph.mask(leaf.relations))
        method: JoinMethod = "cross"
        if on:
            probed = isinstance(leaf, Prejoined) or indexable[leaf.relation]
            method = "index" if probed else "hash"
        bound = graph.variables(graph.mask(plan.relations | leaf.relations))
        ready = tuple(f for f, needs in pending.items() if needs <= bound)
        for f in ready:
            del pending[f]
        plan = Join(plan, leaf, on, method, ready)
    return plan


def _without_binds(graph: QueryGraph) -> QueryGraph:
    if not graph.extends:
        return graph
    known = graph.members.keys()
    filters = tuple(filter_ for filter_ in graph.filters if filter_.variables <= known)
    output = graph.output
    if output is not None:
        for read in (*(e.inputs for e in graph.extends), *(f.variables for f in graph.filters)):
            output |= read
        output &= known
    return QueryGraph(graph.relations, filters, output)


def _kept_parts(
    graph: QueryGraph, catalogue: Catalogue, policy: PrejoinPolicy
) -> list[PrejoinCandidate]:
    """Parts that the policy allows and that share no relation, the largest first."""
    candidates = prejoin_candidates(CardinalityEstimator(graph, catalogue), policy)
    kept: list[PrejoinCandidate] = []
    for part in sorted(candidates, key=lambda part: (-part.mask.bit_count(), part.mask)):
        if part.refusal is None and not any(part.mask & other.mask for other in kept):
            kept.append(part)
    return kept
