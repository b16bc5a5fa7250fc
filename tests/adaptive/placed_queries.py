"""Random query graphs with expensive filters and binds, and all placements over one tree."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import strategies as st

from adaptive.graph.expensive_calls import CallCost
from adaptive.graph.plan import Join, Prejoined, walk
from adaptive.graph.query_graph import Extend, FilterKind, JoinFilter, QueryGraph
from tests.adaptive.query_graphs import queries

PRICES = st.builds(
    CallCost,
    st.sampled_from([0.0, 0.3, 5.0, 100.0]),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
)


@st.composite
def placed_queries(draw, max_relations=4, most=3):
    """A connected query with 1 to `most` expensive filters, some of which read a bind."""
    graph, catalogue = draw(queries(max_relations))
    bound = sorted(graph.members)
    filters, extends = list(graph.filters), []
    for number in range(draw(st.integers(1, most))):
        variables = frozenset(draw(st.lists(st.sampled_from(bound), min_size=1, max_size=2)))
        selectivity = draw(st.sampled_from([None, 0.0, 0.1, 0.5, 0.9, 1.0]))
        uncertain = draw(st.sampled_from([True, True, False]))
        call_cost = draw(PRICES)
        if len(extends) + len(filters) - len(graph.filters) < most - 1 and draw(st.booleans()):
            bind = Extend(f"b{number}", f"p{number}", variables, call_cost, uncertain)
            extends.append(bind)
            if draw(st.booleans()):
                continue
            variables, call_cost = frozenset({bind.variable, draw(st.sampled_from(bound))}), None
        kind = draw(st.sampled_from(list(FilterKind)))
        filters.append(JoinFilter(f"e{number}", variables, selectivity, kind, call_cost, uncertain))
    if graph.output is None:
        return replace(graph, filters=tuple(filters), extends=tuple(extends)), catalogue
    output = graph.output | {extend.variable for extend in extends}
    return QueryGraph(graph.relations, tuple(filters), output, tuple(extends)), catalogue


def placements(plan, names, most_nodes):
    """Every plan with each of the items at 1 to `most_nodes` nodes, in every order; valid or not."""
    probed = {id(n.right) for n in walk(plan) if isinstance(n, Join) and n.method == "index"}
    nodes = [
        node.relations
        for node in walk(plan)
        if id(node) not in probed and not isinstance(node, Prejoined)
    ]
    sets = [
        frozenset(chosen)
        for size in range(1, most_nodes + 1)
        for chosen in itertools.combinations(nodes, size)
    ]
    for chosen in itertools.product(sets, repeat=len(names)):
        at = {
            node: [name for name, where in zip(names, chosen, strict=True) if node in where]
            for node in nodes
        }
        orders = [list(itertools.permutations(at[node])) for node in nodes]
        for order in itertools.product(*orders):
            yield _with(plan, dict(zip(nodes, order, strict=True)))


def _with(plan, order):
    if isinstance(plan, Prejoined):
        return plan
    own = (*plan.filters, *order.get(plan.relations, ()))
    if not isinstance(plan, Join):
        return replace(plan, filters=own)
    right = plan.right if plan.method == "index" else _with(plan.right, order)
    return replace(plan, left=_with(plan.left, order), right=right, filters=own)
