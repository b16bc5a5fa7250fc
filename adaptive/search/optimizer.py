"""From query graph and catalogue to the plan: the one place where all parts meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from adaptive.cost_model import CostModel, JoinCosts
from adaptive.errors import SearchError
from adaptive.graph.plan import Join, PlanNode, Prejoined, describe, verify, walk
from adaptive.graph.query_graph import QueryGraph
from adaptive.search.alternatives import Alternatives, RowEstimator, Table
from adaptive.search.enumerate import DEFAULT_BUDGET, join_components, pairs_up_to, search_exact
from adaptive.search.greedy import search_greedy
from adaptive.search.placement_report import PlacementReport
from adaptive.search.prejoin import PrejoinCandidate, PrejoinPolicy, prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue

SearchKind: TypeAlias = Literal["exact", "greedy"]
"""Whether all connected parts were compared, or it was a greedy search."""

_SHOWN_ALTERNATIVES = 5
_SHOWN_REFUSALS = 5


@dataclass(frozen=True)
class Considered:
    """A complete plan that was compared with the chosen one, and what sets it apart."""

    plan: PlanNode
    cost: float
    label: str


@dataclass(frozen=True)
class OptimizedPlan:
    """The chosen plan and why: rivals, cheapest first, estimates, and reasons in plain words.

    `estimates` has the expected rows of every part of the query that the plan passes through;
    `distinct_output` the expected rows after projecting to the output and dropping duplicates.
    """

    plan: PlanNode
    considered: tuple[Considered, ...]
    estimates: dict[frozenset[str], float]
    distinct_output: float
    search: SearchKind
    pairs: int
    notes: tuple[str, ...]
    placement: PlacementReport | None = None
    """Where expensive filters and binds went; None where there are none."""

    @property
    def cost(self) -> float:
        """Estimated microseconds of one evaluation."""
        return self.plan.cost


@dataclass(frozen=True)
class SearchResult:
    """The table that a search filled, over what, which kind of search, and the pairs compared."""

    table: Table
    alternatives: Alternatives
    kind: SearchKind
    pairs: list[tuple[int, int]]


def optimize(
    graph: QueryGraph,
    catalogue: Catalogue,
    cost_model: JoinCosts | None = None,
    prejoin: PrejoinPolicy | None = None,
    budget: int = DEFAULT_BUDGET,
    bushy: bool = True,
) -> OptimizedPlan:
    """The cheapest plan for a query graph under a catalogue; the same input gives the same plan.

    `budget` is the number of pairs of connected parts up to which the search is exact; beyond it,
    it is greedy. With `bushy` False no join result is built as a right side (left-deep plans, but
    for cross products). Raises StatisticsError for a relation without statistics, SearchError for
    a negative budget.

    >>> from adaptive.graph.query_graph import (
    ...     ColumnStatistics, Relation, RelationKind, RelationStatistics)
    >>> graph = QueryGraph((
    ...     Relation("name", ("person", "label"), RelationKind.STATIC),
    ...     Relation("now", ("person", "room"), RelationKind.WINDOW)))
    >>> catalogue = Catalogue({
    ...     "name": RelationStatistics(200_000, {"person": ColumnStatistics(200_000)}),
    ...     "now": RelationStatistics(1_000, {"person": ColumnStatistics(900)})})
    >>> describe(optimize(graph, catalogue).plan)
    '(now name)'
    """
    estimator = CardinalityEstimator(graph, catalogue)
    costs = CostModel() if cost_model is None else cost_model
    candidates = prejoin_candidates(estimator, PrejoinPolicy() if prejoin is None else prejoin)
    outcome = search(estimator, costs, candidates, budget, bushy)
    everything = graph.all_relations
    plan = outcome.alternatives.plan(everything, outcome.table)
    verify(plan, graph)
    rivals = _rivals(outcome, everything)
    if any(isinstance(node, Prejoined) for node in walk(plan)):
        without = search(estimator, costs, (), budget, bushy)
        rival = without.alternatives.plan(everything, without.table)
        rivals.append(Considered(rival, rival.cost, "without pre-joined parts"))
    rivals.sort(key=lambda rival: rival.cost)
    output = sorted(graph.members if graph.output is None else graph.output)
    return OptimizedPlan(
        plan=plan,
        considered=tuple(rivals),
        estimates={node.relations: node.estimated_rows for node in walk(plan)},
        distinct_output=estimator.distinct_rows(everything, output),
        search=outcome.kind,
        pairs=len(outcome.pairs),
        notes=plan_notes(plan, outcome.kind, len(outcome.pairs), candidates, budget),
    )


def search(
    estimator: RowEstimator,
    costs: JoinCosts,
    candidates: tuple[PrejoinCandidate, ...],
    budget: int,
    bushy: bool,
) -> SearchResult:
    """Search each connected component, exactly while the budget lasts, then pair them up."""
    if budget < 0:
        raise SearchError(f"the budget must be at least 0 pairs, not {budget}")
    allowed = {c.mask: c for c in candidates if c.refusal is None}
    alternatives = Alternatives(estimator, costs, allowed, bushy)
    components = alternatives.graph.components()
    table: Table = {}
    all_pairs: list[tuple[int, int]] = []
    exact = True
    for component in components:
        pairs = pairs_up_to(alternatives.graph, component, budget - len(all_pairs))
        if pairs is None:
            exact = False
            table.update(search_greedy(alternatives, component))
        else:
            all_pairs += pairs
            table.update(search_exact(alternatives, pairs, component))
    join_components(alternatives, table, components)
    return SearchResult(table, alternatives, "exact" if exact else "greedy", all_pairs)


def _rivals(outcome: SearchResult, everything: int) -> list[Considered]:
    """The cheapest other ways to make the last join, over the best plans for its inputs."""
    chosen = outcome.table[everything]
    steps = [
        step
        for one, other in outcome.pairs
        if one | other == everything
        for step in outcome.alternatives.joins(one, other, outcome.table)
        if step[1:] != chosen[1:]
    ]
    steps.sort(key=lambda step: step.cost)
    rivals = []
    for step in steps[:_SHOWN_ALTERNATIVES]:
        plan = outcome.alternatives.plan(everything, outcome.table, step)
        assert isinstance(plan, Join)
        rivals.append(Considered(plan, step.cost, f"last: {describe(plan.right)}, {plan.method}"))
    return rivals


def plan_notes(
    plan: PlanNode,
    search_kind: SearchKind,
    pairs: int,
    candidates: tuple[PrejoinCandidate, ...],
    budget: int,
) -> tuple[str, ...]:
    """Why the plan is what it is, one sentence each."""
    notes = []
    if search_kind == "exact":
        notes.append(f"all {pairs:,} pairs of connected parts were compared")
    else:
        notes.append(f"more than {budget:,} pairs of connected parts: searched greedily")
    leaf = plan
    while isinstance(leaf, Join):
        leaf = leaf.left
    notes.append(f"{describe(leaf)} is streamed: {leaf.estimated_rows:,.0f} rows")
    by_name = {candidate.name: candidate for candidate in candidates}
    for node in walk(plan):
        if isinstance(node, Prejoined):
            known = by_name.get(node.name)
            inputs = "" if known is None else f" from {known.input_rows:,.0f}"
            notes.append(
                f"{node.name} is joined once and kept: {node.estimated_rows:,.0f} rows{inputs}"
            )
        elif isinstance(node, Join) and node.method == "cross":
            notes.append(f"{describe(node)} is a cross product: nothing links its sides")
        elif isinstance(node, Join) and node.method == "hash":
            notes.append(
                f"{describe(node.right)} is built for each evaluation: "
                f"{node.right.estimated_rows:,.0f} rows"
            )
    refused = [candidate for candidate in candidates if candidate.refusal is not None]
    for candidate in refused[:_SHOWN_REFUSALS]:
        notes.append(
            f"{candidate.name} is not pre-joined: {candidate.rows:,.0f} rows, {candidate.refusal}"
        )
    return tuple(notes)
