"""The cheapest plan that does without some joins, from the table of all parts as it stands."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.alternatives import Step, Table, read_off
from adaptive.enumerate import first_cheapest
from adaptive.operator_prices import OperatorPrices
from adaptive.sub_plans import SubPlans

Barred: TypeAlias = NDArray[np.bool_]
"""Which of all alternatives a plan may not have."""


def joined_before(sub_plans: SubPlans, early: int, late: int) -> Barred:
    """The joins that make a part that holds all of `early` and not all of `late`; sets of relations are masks."""
    everything = sub_plans.everything
    masks = sub_plans.masks[everything.union]
    joined = everything.left != sub_plans.nothing
    barred: Barred = joined & ((masks & early) == early) & ((masks & late) != late)
    return barred


def not_streamed(sub_plans: SubPlans, relation: int) -> Barred:
    """The joins that have a relation (a mask) on the right, where it is not streamed but built or probed."""
    everything = sub_plans.everything
    slots = np.array([*sub_plans.parts, 0, *sub_plans.indexes, *sub_plans.kept], dtype=np.int64)
    joined = everything.left != sub_plans.nothing
    barred: Barred = joined & ((slots[everything.right] & relation) != 0)
    return barred


def other_way(prices: OperatorPrices, sub_plans: SubPlans, barred: Barred) -> Table | None:
    """The steps of the cheapest plan that has no barred join.

    All relations must be linked, and `prices` those of now. What is kept pre-joined may be read and probed as it is,
    unless that is barred. None where there is no such plan. The values of all parts are found anew beside those of the
    table, which stay: an update of everything, where a search would meet each pair of parts by itself.
    """
    everything = sub_plans.everything
    own = prices.own_costs(everything.alternatives)
    own[barred] = np.inf
    value, held = prices.value.copy(), prices.held.copy()
    for level in everything.levels:
        span = slice(level.first, level.last)
        cost = own[span]  # with its inputs from now on
        cost += value[everything.left[span]]
        cost += held[everything.right[span]]
        best = np.minimum.reduceat(cost, level.starts)
        value[level.parts] = best
        held[level.parts] = best + prices.building(level.parts)
    whole = sub_plans.parts[-1]
    if value[sub_plans.number[whole]] == np.inf:
        return None

    def chosen(part: int) -> Step:
        number = sub_plans.number[part]
        if part & (part - 1) == 0:
            return Step(float(value[number]), part, 0, "read")
        first, last = sub_plans.first[number : number + 2].tolist()
        place = first_cheapest(own[first:last])
        step: Step = sub_plans.steps[first + place]._replace(cost=float(own[first + place]))
        return step

    return read_off((whole,), chosen)
