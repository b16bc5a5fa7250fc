"""The order that the join operator took in an evaluation, as a plan that fixes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adaptive import Join, PlanNode, Prejoined, QueryGraph, Scan
from adaptive.graph.plan import leaf_name, walk
from bench.report import BenchError
from sparkext.runtime.registered_query import RegisteredQuery

Leaf = Scan | Prejoined


def graph_of(query: RegisteredQuery) -> QueryGraph:
    """The query graph of a query's only join cluster."""
    (choice,) = query.plans.choices
    if choice.search is None:
        raise BenchError(f"{query.name}: one join cluster with an order is expected")
    return choice.search.graph


def order_taken(query: RegisteredQuery) -> PlanNode:
    """The order of the last evaluation."""
    (choice,) = query.plans.choices
    leaves = [replace(n, filters=()) for n in walk(choice.plan) if isinstance(n, Scan | Prejoined)]
    graph = graph_of(query)
    filters = [item.name for item in graph.filters]
    names = sequence(choice.order.report(), [leaf_name(leaf) for leaf in leaves], filters)
    return one_after_the_other(names, {leaf_name(leaf): leaf for leaf in leaves}, graph)


def sequence(report: str, relations: Sequence[str], filters: Sequence[str]) -> list[str]:
    """Relations and filters as an operator's report has them, what no row came to standing last.

    Where rows went several ways, each stands where it was met first.

    >>> steps = [["x from a", 1, 2, 2, 0, 2.0], ["y from b and c", 2, 2, 2, 0, 2.0], ["?x > 1", 2, 2, 2, 0, 2.0]]
    >>> sequence(json.dumps({"driver": 2, "rivals": [], "steps": steps}), ["a", "b", "d", "c"], ["?x > 1"])
    ['d', 'a', 'b', 'c', '?x > 1']
    """
    told = json.loads(report)
    met = [relations[told["driver"]]] if told["driver"] >= 0 else []
    for name, *_ in told["steps"]:
        if name in filters:
            met.append(name)
        else:
            _, _, read = name.partition(" from ")
            met += read.split(" and ") if read else [name.removeprefix("there is ")]
    found = list(dict.fromkeys([*met, *relations, *filters]))
    if len(found) != len(relations) + len(filters):
        raise BenchError(f"steps of unknown relations: {report}")
    return found


def one_after_the_other(
    names: Sequence[str], leaves: Mapping[str, Leaf], graph: QueryGraph
) -> PlanNode:
    """A left-deep plan of relations, each looked up, and of filters, in the order of `names`.

    What shares no variable with those before it waits until it does, if there is anything else, and a filter until its
    variables are bound.
    """
    columns = {r.name: set(r.variables) for r in graph.relations}
    needs = {item.name: set(item.variables) for item in graph.filters}
    waiting, bound = list(names), set[str]()
    plan: PlanNode | None = None

    def variables(leaf: Leaf) -> set[str]:
        return set(leaf.variables) if isinstance(leaf, Prejoined) else columns[leaf.relation]

    def ready(name: str) -> bool:
        if name in leaves:
            return plan is None or bool(bound & variables(leaves[name]))
        return plan is not None and needs[name] <= bound

    while waiting:
        name = next((n for n in waiting if ready(n)), waiting[0])
        waiting.remove(name)
        leaf = leaves.get(name)
        if leaf is None:
            assert plan is not None
            plan = replace(plan, filters=(*plan.filters, name))
            continue
        shared = tuple(sorted(bound & variables(leaf)))
        plan = leaf if plan is None else Join(plan, leaf, shared, "index" if shared else "cross")
        bound |= variables(leaf)
    assert plan is not None
    return plan
