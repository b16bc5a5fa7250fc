"""The operators of one given plan, found in the table of sub-plans, so that it is priced quickly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adaptive.heuristics.h3_early_filters import apply_filters_early
from adaptive.plan import Join, PlanNode, Scan, walk
from adaptive.query_graph import QueryGraph
from adaptive.sub_plans import IntArray, SubPlans


class PlanOperators(NamedTuple):
    """Where the costs of a plan stand: slots that are read, and joins as their inputs and results.

    The plan costs the values of `read`, and for each join its fixed part (at `right`), what each row on the left
    costs (at `term`), and what comes out.
    """

    read: IntArray
    left: IntArray
    right: IntArray
    term: IntArray
    union: IntArray
    shares: IntArray
    parts: tuple[tuple[frozenset[str], int], ...]
    """What the plan reads and joins, but for probed indexes: names, and number in the table."""


def operators_of(plan: PlanNode, graph: QueryGraph, sub_plans: SubPlans) -> PlanOperators | None:
    """The operators of a plan; None when one of them, or a filter's place, is not in the table."""
    if apply_filters_early(plan, graph) != plan:
        return None
    read: list[int] = []
    joins: list[tuple[int, int, int, int, int]] = []
    near = {key: sub_plans.slots + number for number, key in enumerate(sub_plans.near)}
    shares = {filters: number for number, filters in enumerate(sub_plans.decisions)}
    probed: set[int] = set()
    for node in walk(plan):
        if isinstance(node, Join) and node.method == "index":
            probed.add(id(node.right))
    for node in walk(plan):
        mask = graph.mask(node.relations)
        number = sub_plans.number.get(mask)
        if number is None:
            return None
        if isinstance(node, Join):
            left, right = graph.mask(node.left.relations), graph.mask(node.right.relations)
            decided = sub_plans.decided(left)
            if node.method == "index":
                if not isinstance(node.right, Scan):
                    decided |= sub_plans.decided(right)
                slot = sub_plans.index_slot.get(right)
            else:
                decided |= sub_plans.decided(right)
                slot = sub_plans.number[right] if node.method == "hash" else None
            share = shares.get(decided)
            if slot is None or share is None:
                return None
            term = slot
            if node.method == "index" and isinstance(node.right, Scan):
                term = near.get((right.bit_length() - 1, node.on), slot)
            joins.append((sub_plans.number[left], slot, term, number, share))
        elif id(node) in probed:
            read.append(sub_plans.index_slot.get(mask, -1))
        else:
            read.append(number if isinstance(node, Scan) else sub_plans.kept_slot.get(mask, -1))
    if min(read) < 0:
        return None
    inputs_left, inputs_right, terms, unions, decisions = (
        np.array(joins, dtype=np.intp).reshape(len(joins), 5).T
    )
    parts = tuple(
        (node.relations, sub_plans.number[graph.mask(node.relations)])
        for node in walk(plan)
        if id(node) not in probed
    )
    slots = np.array(read, dtype=np.intp)
    return PlanOperators(slots, inputs_left, inputs_right, terms, unions, decisions, parts)
