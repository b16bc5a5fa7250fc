"""Where the expensive filters and binds of a given join tree go: early, late, or by cost.

By cost, few items are placed exactly: for every node of the tree and every set of items that may be
behind its rows, the cheapest way to have them there, out of those for its inputs. This covers all
places on the way from the node that binds an item's variables to the root, on either side of a
join, and all orders within a node. Many items are moved one at a time, in order of rank, from the
better of early and late, for as long as that helps. Either way the result is never more expensive than both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from adaptive.graph.plan import Join, PlanNode, Prejoined, walk
from adaptive.graph.query_graph import bits
from adaptive.heuristics.h3_early_filters import apply_filters_early
from adaptive.heuristics.h4_late_uncertain_filters import (
    apply_uncertain_filters_last,
    without_filters,
)
from adaptive.search.placement_costs import Applied, Part, PlacementCosts

Placement: TypeAlias = Literal["early", "late", "cost"]

PLACEMENTS: tuple[Placement, ...] = ("early", "late", "cost")

# A placement must be cheaper by more than rounding to replace one that was found before.
_CHEAPER = 1.0 - 1e-11

# Rounds in which each of many items is moved once at most.
_ROUNDS = 2


def place(plan: PlanNode, costs: PlacementCosts, placement: Placement) -> PlanNode:
    """The same joins with all items placed, and the rows and costs of now at every node.

    "early" is H3, "late" is H4 (items that call no uncertainty function stay early), and "cost" the
    cheapest. Cheap filters stay where they are. Several items at a node are ordered by rank.
    """
    if placement == "early":
        return costs.repriced(_placed_early(plan, costs))
    if placement == "late":
        return costs.repriced(_placed_late(plan, costs))
    if costs.items.few():
        return costs.repriced(placed_exactly(plan, costs))
    return costs.repriced(_placed_by_moves(plan, costs))


def _placed_early(plan: PlanNode, costs: PlacementCosts) -> PlanNode:
    """Every item where H3 puts it; on both sides of a join that bind its variables both."""
    bare = _bare(plan, costs)
    early = apply_filters_early(bare, costs.items.graph)
    return _ordered(_merged(bare, early, costs), costs)[0]


def _placed_late(plan: PlanNode, costs: PlacementCosts) -> PlanNode:
    """As `_placed_early`, but what calls uncertainty functions comes after all joins."""
    late = apply_uncertain_filters_last(_placed_early(plan, costs), costs.items.graph)
    return _ordered(late, costs)[0]


def _bare(plan: PlanNode, costs: PlacementCosts) -> PlanNode:
    return without_filters(plan, frozenset(costs.items.number))


def _merged(bare: PlanNode, early: PlanNode, costs: PlacementCosts) -> PlanNode:
    """The cheap filters of one plan with the items of another over the same joins."""
    if isinstance(bare, Prejoined):
        return bare
    items = tuple(name for name in early.filters if name in costs.items.number)
    filters = (*bare.filters, *items)
    if not isinstance(bare, Join) or not isinstance(early, Join):
        return replace(bare, filters=filters)
    left = _merged(bare.left, early.left, costs)
    right = _merged(bare.right, early.right, costs) if bare.method != "index" else bare.right
    return replace(bare, left=left, right=right, filters=filters)


# -- order within a node ----------------------------------------------------------------------------


def rank(selectivity: float, row_cost: float) -> float:
    """(selectivity - 1) / cost per row, lowest first (Hellerstein and Stonebraker, SIGMOD 1993).

    >>> rank(0.1, 10.0) < rank(0.5, 10.0) < rank(0.5, 100.0) < rank(1.0, 1.0)
    True
    """
    dropped = selectivity - 1.0
    return dropped / row_cost if row_cost > 0.0 else (-math.inf if dropped < 0.0 else 0.0)


def _ordered(plan: PlanNode, costs: PlacementCosts) -> tuple[PlanNode, Part]:
    """The plan with the items of each node ordered by rank."""
    if isinstance(plan, Prejoined):
        return plan, costs.leaf(plan)
    if isinstance(plan, Join):
        left_plan, left = _ordered(plan.left, costs)
        if plan.method == "index":
            right_plan, right = plan.right, costs.leaf(plan.right, probed=True)
        else:
            right_plan, right = _ordered(plan.right, costs)
        plan = replace(plan, left=left_plan, right=right_plan)
        part = costs.join(plan, left, right)
    else:
        part = costs.leaf(plan)
    order = _by_rank(costs, part.applied, costs.placed(plan))
    return _with(plan, order, costs), costs.after(part, order)


def _by_rank(costs: PlacementCosts, applied: Applied, items: int) -> tuple[int, ...]:
    """Filters by rank, each with the binds that it still needs just before it; other binds last."""
    if items & (items - 1) == 0:
        return tuple(bits(items))
    known = costs.items.items
    order: list[int] = []
    filters = [number for number in bits(items) if known[number].filter is not None]
    waiting = items
    while filters:
        best: tuple[float, int, list[int]] | None = None
        for number in filters:
            group = [*bits(known[number].needs & waiting), number]
            rows, row_cost = costs.rows(applied), 0.0
            if rows > 0.0:
                row_cost = sum(costs.use(each, applied).cost for each in group) / rows
            found = (rank(costs.selectivities[number], row_cost), number, group)
            if best is None or found < best:
                best = found
        assert best is not None
        for number in best[2]:
            order.append(number)
            waiting &= ~(1 << number)
            applied = applied._replace(items=applied.items | 1 << number)
        filters.remove(best[1])
    return (*order, *bits(waiting))


def _with(plan: PlanNode, order: tuple[int, ...], costs: PlacementCosts) -> PlanNode:
    """A node with its cheap filters, and then some items."""
    number = costs.items.number
    cheap = tuple(name for name in plan.filters if name not in number)
    return replace(plan, filters=(*cheap, *(costs.items.items[each].name for each in order)))


# -- few items: exactly -----------------------------------------------------------------------------


@dataclass
class _Solved:
    """A node: for each set of items behind its rows the cost, and how it came to be.

    `joined` has the sets of items (left, right) that the inputs bring, `last` the item that was
    applied last at this node, if one was.
    """

    plan: PlanNode
    mask: int
    cheap: int
    cost: dict[int, float]
    joined: dict[int, tuple[int, int]]
    last: dict[int, int]
    left: _Solved | None = None
    right: _Solved | None = None


def placed_exactly(plan: PlanNode, costs: PlacementCosts) -> PlanNode:
    """The cheapest placement of all items for these joins, of equal ones an early one.

    The time grows with the number of sets of items: 2 ** n for n that do not depend on each other.
    """
    top = _solve(_bare(plan, costs), costs)
    return _read_off(top, costs.items.all, costs)


def _solve(plan: PlanNode, costs: PlacementCosts, probed: bool = False) -> _Solved:
    if isinstance(plan, Join):
        node = _solve_join(plan, costs)
    else:
        part = costs.leaf(plan, probed)
        mask, cheap, items = part.applied
        node = _Solved(plan, mask, cheap, {items: part.cost}, {items: (0, 0)}, {})
    if not probed and not isinstance(plan, Prejoined):
        _apply_here(node, costs)
    return node


def _solve_join(plan: Join, costs: PlacementCosts) -> _Solved:
    left = _solve(plan.left, costs)
    right = _solve(plan.right, costs, probed=plan.method == "index")
    binds = costs.items.binds
    cost: dict[int, float] = {}
    joined: dict[int, tuple[int, int]] = {}
    cheap = 0
    right_rows = {items: _rows(right, items, costs, plan) for items in right.cost}
    for left_items, left_cost in left.cost.items():
        applied = Applied(left.mask, left.cheap, left_items)
        one = Part(applied, costs.rows(applied), left_cost)
        for right_items, right_cost in right.cost.items():
            if left_items & right_items & binds:
                continue  # bound on both sides, its variable would become one to join on
            other = Part(
                Applied(right.mask, right.cheap, right_items), right_rows[right_items], right_cost
            )
            part = costs.join(plan, one, other)
            items, cheap = part.applied.items, part.applied.cheap
            if items not in cost or part.cost < cost[items] * _CHEAPER:
                cost[items] = part.cost
                joined[items] = (left_items, right_items)
    return _Solved(plan, left.mask | right.mask, cheap, cost, joined, {}, left, right)


def _rows(node: _Solved, items: int, costs: PlacementCosts, above: Join) -> float:
    if above.method == "index":
        return costs.leaf(node.plan, probed=True).rows
    return costs.rows(Applied(node.mask, node.cheap, items))


def _apply_here(node: _Solved, costs: PlacementCosts) -> None:
    """Add to each set the items that can be applied at this node, one after the other."""
    known, addable = costs.items.items, costs.items.addable(node.mask)
    sizes: list[list[int]] = [[] for _ in range(len(known) + 1)]
    for items in node.cost:
        sizes[items.bit_count()].append(items)
    for size in sizes:  # a set has its final cost before larger ones are made of it
        for items in size:
            applied = Applied(node.mask, node.cheap, items)
            for number in bits(addable & ~items):
                if known[number].needs & ~items:
                    continue
                more = items | 1 << number
                cost = node.cost[items] + costs.use(number, applied).cost
                if more not in node.cost:
                    sizes[more.bit_count()].append(more)
                elif cost >= node.cost[more] * _CHEAPER:
                    continue
                node.cost[more] = cost
                node.last[more] = number


def _read_off(node: _Solved, items: int, costs: PlacementCosts) -> PlanNode:
    """The plan behind one entry, read from the top."""
    order: list[int] = []
    while items in node.last:
        order.append(node.last[items])
        items &= ~(1 << node.last[items])
    plan = node.plan
    if isinstance(plan, Join):
        assert node.left is not None and node.right is not None
        left, right = node.joined[items]
        plan = replace(
            plan,
            left=_read_off(node.left, left, costs),
            right=_read_off(node.right, right, costs),
        )
    if isinstance(plan, Prejoined):
        return plan
    return _with(plan, tuple(reversed(order)), costs)


# -- many items: by rank, one at a time -------------------------------------------------------------


def _placed_by_moves(plan: PlanNode, costs: PlacementCosts) -> PlanNode:
    starts = [_placed_early(plan, costs), _placed_late(plan, costs)]
    best = min(starts, key=lambda start: costs.price(start).cost)
    cost = costs.price(best).cost
    for _ in range(_ROUNDS):
        before = cost
        for number in _ranked_items(best, costs):
            for _, moved in moves(best, number, costs):
                found = costs.price(moved).cost
                if found < cost * _CHEAPER:
                    best, cost = moved, found
        if cost >= before * _CHEAPER:
            break
    return best


def _ranked_items(plan: PlanNode, costs: PlacementCosts) -> list[int]:
    ranks: dict[int, float] = {}
    for _, use in costs.uses(plan):
        number = costs.items.number[use.item.name]
        row_cost = use.cost / use.rows if use.rows > 0.0 else 0.0
        ranks[number] = rank(costs.selectivities[number], row_cost)
    return sorted(ranks, key=lambda number: (ranks[number], number))


def moves(
    plan: PlanNode, number: int, costs: PlacementCosts
) -> Iterator[tuple[frozenset[str], PlanNode]]:
    """The plan with one item at each other node where it can be, alone and with what it needs.

    Each with the relations of that node. Left out is where a bind would come after what reads it,
    or a filter before a bind it needs.
    """
    items = costs.items
    inside = {name for node in walk(plan) if isinstance(node, Prejoined) for name in node.filters}
    if items.items[number].name in inside:
        return
    for group in {1 << number, items.items[number].needs | 1 << number}:
        names = items.names(group)
        bare = without_filters(plan, frozenset(names))
        for target in _places(bare, group, costs):
            moved = _ordered(_at(bare, target, names), costs)[0]
            if moved != plan and _fits(moved, costs)[1]:
                yield target, moved


def _places(plan: PlanNode, group: int, costs: PlacementCosts) -> Iterator[frozenset[str]]:
    """The nodes (by their relations) that bind the variables of items and can apply them."""
    if isinstance(plan, Join):
        yield from _places(plan.left, group, costs)
        if plan.method != "index":
            yield from _places(plan.right, group, costs)
    if isinstance(plan, Prejoined):
        return
    if group & ~costs.items.addable(costs.graph.mask(plan.relations)) == 0:
        yield plan.relations


def _at(plan: PlanNode, target: frozenset[str], names: tuple[str, ...]) -> PlanNode:
    if plan.relations == target:
        return replace(plan, filters=(*plan.filters, *names))
    assert isinstance(plan, Join)
    if target <= plan.left.relations:
        return replace(plan, left=_at(plan.left, target, names))
    return replace(plan, right=_at(plan.right, target, names))


def _fits(plan: PlanNode, costs: PlacementCosts) -> tuple[int, bool]:
    """The items applied in a plan, and whether each comes after what it needs, binds once."""
    items, fits = 0, True
    for child in plan.children:
        more, well = _fits(child, costs)
        fits = fits and well and not items & more & costs.items.binds
        items |= more
    if isinstance(plan, Prejoined):
        return items | costs.placed(plan), fits
    for number in costs.order(plan):
        if costs.items.items[number].needs & ~items:
            fits = False
        items |= 1 << number
    return items, fits
